//! `Debug` of types with secrets.

/// Implements `Debug` so that it shows whether a secret is present, and never the secret.
macro_rules! redacted_debug {
    ($type:ident { $($plain:ident),* } hides { $($secret:ident),* }) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.debug_struct(stringify!($type))
                    $(.field(stringify!($plain), &self.$plain))*
                    $(.field(stringify!($secret), &$crate::redacted::Secret::shown(&self.$secret)))*
                    .finish()
            }
        }
    };
}
pub(crate) use redacted_debug;

/// Field with a secret.
pub(crate) trait Secret {
    /// Text in its place.
    fn shown(&self) -> Option<&'static str>;
}

impl Secret for String {
    fn shown(&self) -> Option<&'static str> {
        Some("(secret)")
    }
}

impl Secret for Option<String> {
    fn shown(&self) -> Option<&'static str> {
        self.as_ref().map(|_| "(secret)")
    }
}
