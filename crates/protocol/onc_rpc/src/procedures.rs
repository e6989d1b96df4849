//! Procedures of a program as a table.

use thiserror::Error;
use xdr::XdrError;

use crate::message::AcceptStatus;

/// Why a call's procedure cannot be executed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum CallError {
    /// The program does not have the procedure.
    #[error("no procedure {procedure}")]
    ProcedureUnavailable {
        /// Number of the procedure.
        procedure: u32,
    },
    /// The arguments cannot be decoded.
    #[error("arguments: {0}")]
    GarbageArguments(#[from] XdrError),
}

impl CallError {
    /// Status of the reply.
    pub fn status(&self) -> AcceptStatus {
        match self {
            Self::ProcedureUnavailable { .. } => AcceptStatus::ProcedureUnavailable,
            Self::GarbageArguments(_) => AcceptStatus::GarbageArguments,
        }
    }
}

/// Declares the procedures of a program: an enum of requests and an enum of results, with a variant
/// for each procedure, and their encodings.
///
/// A row is `number => Variant "NAME" (arguments: Type) -> (results: Type),` where arguments and
/// results that are void are absent.
#[macro_export]
macro_rules! procedures {
    (
        $(#[$request_doc:meta])* $request:ident,
        $(#[$results_doc:meta])* $results:ident;
        $(
            $(#[$doc:meta])*
            $number:literal => $variant:ident $name:literal
                $(($argument:ident: $argument_type:ty))? $(-> ($result:ident: $result_type:ty))?,
        )*
    ) => {
        $crate::messages! {
            $(#[$request_doc])* $request;
            $($(#[$doc])* $number => $variant $(($argument: $argument_type))?,)*
        }

        $crate::messages! {
            $(#[$results_doc])* $results;
            $($(#[$doc])* $number => $variant $(($result: $result_type))?,)*
        }

        impl $request {
            /// Number and name of each procedure, ascending.
            pub const PROCEDURES: &[(u32, &str)] = &[$(($number, $name),)*];

            /// Name of the procedure in the standard, without prefix.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)*
                }
            }
        }
    };
}

/// Declares the requests, or the results, of the procedures of a program.
#[doc(hidden)]
#[macro_export]
macro_rules! messages {
    (
        $(#[$message_doc:meta])* $message:ident;
        $($(#[$doc:meta])* $number:literal => $variant:ident $(($value:ident: $type:ty))?,)*
    ) => {
        $(#[$message_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $message {
            $($(#[$doc])* $variant $(($type))?,)*
        }

        impl $message {
            /// Number of the procedure.
            pub fn procedure(&self) -> u32 {
                match self {
                    $(Self::$variant { .. } => $number,)*
                }
            }

            /// Appends the arguments or results.
            #[allow(unused_variables, reason = "they may be void")]
            pub fn encode(&self, writer: &mut $crate::xdr::Writer) {
                match self {
                    $(Self::$variant $(($value))? => { $($crate::xdr::Xdr::encode($value, writer);)? })*
                }
            }

            /// Takes the arguments or results of a procedure. Bytes after them are left to the caller.
            #[allow(unused_variables, reason = "they may be void")]
            pub fn decode(
                procedure: u32,
                reader: &mut $crate::xdr::Reader,
            ) -> ::std::result::Result<Self, $crate::CallError> {
                match procedure {
                    $($number => Ok(Self::$variant $((<$type as $crate::xdr::Xdr>::decode(reader)?))?),)*
                    procedure => Err($crate::CallError::ProcedureUnavailable { procedure }),
                }
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl $crate::xdr::Sample for $message {
            fn sample(random: &$crate::xdr::Random) -> Self {
                let all: &[fn(&$crate::xdr::Random) -> Self] = &[
                    $(|_random| Self::$variant $((<$type as $crate::xdr::Sample>::sample(_random)))?,)*
                ];
                all[random.index(all.len())](random)
            }
        }
    };
}
