//! Declarations of types.

/// Declares types, each once for both directions, in the manner of RFC 4506 §6. Every declaration
/// has its documentation, as have fields and variants.
///
/// * `struct Name { field: Type, }`: fields in wire order.
/// * `enum Name { Variant = 0, }`: numbers other than the given ones are refused.
/// * `codes Name { NAME = 0, }`: a number with names, of which an unknown one survives.
/// * `union Name { 0 => Variant, 1 => Variant(value: Type), }`: a number and what follows it; other
///   numbers are refused. As `union Name else Other`, other numbers are kept in the variant `Other`
///   and have nothing after them: the default arm of a union whose type is void.
///
/// The types implement [`Xdr`](crate::Xdr), and `Sample` in tests and with the
/// feature `testing` of the crate that declares them.
#[macro_export]
macro_rules! types {
    () => {};
    (
        $(#[$doc:meta])*
        struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $crate::Xdr for $name {
            const MIN_BYTES: usize = 0 $(+ <$type as $crate::Xdr>::MIN_BYTES)*;
            fn encode(&self, writer: &mut $crate::Writer) {
                $($crate::Xdr::encode(&self.$field, writer);)*
            }
            fn decode(reader: &mut $crate::Reader) -> ::std::result::Result<Self, $crate::XdrError> {
                Ok(Self {
                    $($field: <$type as $crate::Xdr>::decode(reader).map_err(|error| {
                        error.within(concat!(stringify!($name), ".", stringify!($field)))
                    })?,)*
                })
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl $crate::Sample for $name {
            fn sample(random: &$crate::Random) -> Self {
                Self { $($field: $crate::Sample::sample(random),)* }
            }
        }

        $crate::types! { $($rest)* }
    };
    (
        $(#[$doc:meta])*
        enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal,)* }
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $code,)*
        }

        impl $crate::Xdr for $name {
            const MIN_BYTES: usize = 4;
            fn encode(&self, writer: &mut $crate::Writer) {
                writer.u32(match self { $(Self::$variant => $code,)* });
            }
            fn decode(reader: &mut $crate::Reader) -> ::std::result::Result<Self, $crate::XdrError> {
                let at = reader.position_bytes();
                match reader.u32()? {
                    $($code => Ok(Self::$variant),)*
                    found => Err($crate::XdrError::new(at, $crate::Problem::NoSuchValue { found })),
                }
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl $crate::Sample for $name {
            fn sample(random: &$crate::Random) -> Self {
                let all = [$(Self::$variant,)*];
                all[random.index(all.len())]
            }
        }

        $crate::types! { $($rest)* }
    };
    (
        $(#[$doc:meta])*
        codes $name:ident { $($(#[$code_doc:meta])* $code:ident = $number:expr,)* }
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            $($(#[$code_doc])* pub const $code: Self = Self($number);)*

            /// Name of the number in the standard, without prefix; `None` for an unknown number.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$code => Some(stringify!($code)),)*
                    _ => None,
                }
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, concat!(stringify!($name), "({})"), self.0),
                }
            }
        }

        impl $crate::Xdr for $name {
            const MIN_BYTES: usize = 4;
            fn encode(&self, writer: &mut $crate::Writer) {
                writer.u32(self.0);
            }
            fn decode(reader: &mut $crate::Reader) -> ::std::result::Result<Self, $crate::XdrError> {
                reader.u32().map(Self)
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl $crate::Sample for $name {
            fn sample(random: &$crate::Random) -> Self {
                let all = [$(Self::$code,)* Self($crate::Sample::sample(random))];
                all[random.index(all.len())]
            }
        }

        $crate::types! { $($rest)* }
    };
    (
        $(#[$doc:meta])*
        union $name:ident $(else $other:ident)? {
            $($(#[$variant_doc:meta])* $code:literal => $variant:ident $(($value:ident: $type:ty))?,)*
        }
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant $(($type))?,)*
            $(#[doc = "Another number, which has nothing after it."] $other(u32),)?
        }

        impl $crate::Xdr for $name {
            const MIN_BYTES: usize = 4;
            fn encode(&self, writer: &mut $crate::Writer) {
                match self {
                    $(Self::$variant $(($value))? => {
                        writer.u32($code);
                        $($crate::Xdr::encode($value, writer);)?
                    })*
                    $(Self::$other(code) => writer.u32(*code),)?
                }
            }
            #[allow(unreachable_patterns, reason = "a union with a default arm has no other numbers")]
            fn decode(reader: &mut $crate::Reader) -> ::std::result::Result<Self, $crate::XdrError> {
                let at = reader.position_bytes();
                match reader.u32()? {
                    $($code => Ok(Self::$variant $((<$type as $crate::Xdr>::decode(reader).map_err(|error| {
                        error.within(concat!(stringify!($name), ".", stringify!($value)))
                    })?))?),)*
                    $(other => Ok(Self::$other(other)),)?
                    found => Err($crate::XdrError::new(at, $crate::Problem::NoSuchValue { found })),
                }
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl $crate::Sample for $name {
            fn sample(random: &$crate::Random) -> Self {
                let arms: &[fn(&$crate::Random) -> Self] = &[
                    $(|_random| Self::$variant $((<$type as $crate::Sample>::sample(_random)))?,)*
                    $(|_| Self::$other(u32::MAX - 1),)?
                ];
                arms[random.index(arms.len())](random)
            }
        }

        $crate::types! { $($rest)* }
    };
}
