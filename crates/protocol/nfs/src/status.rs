//! Status codes other than success.

/// Declares a type of status codes: numbers other than zero, with names, of which an unknown one
/// survives. `Result<T, Status>` is the union of results over the status.
macro_rules! statuses {
    ($(#[$doc:meta])* $name:ident { $($(#[$code_doc:meta])* $code:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(std::num::NonZeroU32);

        impl $name {
            $($(#[$code_doc])* pub const $code: Self = match std::num::NonZeroU32::new($number) {
                Some(number) => Self(number),
                None => panic!("a status of zero is success"),
            };)*

            /// All statuses with a name, ascending.
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            /// Status of a number; `None` for zero, which is success.
            pub const fn new(number: u32) -> Option<Self> {
                match std::num::NonZeroU32::new(number) {
                    Some(number) => Some(Self(number)),
                    None => None,
                }
            }

            /// Number on the wire.
            pub const fn number(self) -> u32 {
                self.0.get()
            }

            /// Name in the standard, without prefix; `None` for an unknown number.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$code => Some(stringify!($code)),)*
                    _ => None,
                }
            }
        }

        /// The name, or the number of an unknown status.
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "status {}", self.0),
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl std::error::Error for $name {}

        impl xdr::Failure for $name {
            fn code(&self) -> std::num::NonZeroU32 {
                self.0
            }
            fn encode_details(&self, _: &mut xdr::Writer) {}
            fn decode_details(code: std::num::NonZeroU32, _: &mut xdr::Reader) -> Result<Self, xdr::XdrError> {
                Ok(Self(code))
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl xdr::Sample for $name {
            fn sample(random: &xdr::Random) -> Self {
                Self::ALL[random.index(Self::ALL.len())]
            }
        }
    };
}

pub(crate) use statuses;
