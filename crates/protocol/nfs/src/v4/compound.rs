//! COMPOUND and CB_COMPOUND, RFC 8881 §16.2 and §20.2, one operation after the other.
//!
//! The arguments are decoded as they are executed, because the operations before one that cannot be
//! decoded take effect (§15.1.1.1). So the number of operations that a peer announces takes no
//! memory either; a server compares it with its limit before the first one.

use std::marker::PhantomData;

use bytes::Bytes;
use thiserror::Error;
use xdr::{Mark, Opaque, Reader, Slot, Writer, Xdr, XdrError};

use super::Status;

/// Longest tag that is decoded.
pub const MAX_TAG_BYTES: u32 = 1024;
/// Most operations that our servers take in a compound; a session may grant fewer.
pub const MAX_OPERATIONS: u32 = 64;
/// Longest request and longest reply of our servers: 1 MiB of data and what stands around it. A session may grant less.
pub const MAX_MESSAGE_BYTES: u32 = (1 << 20) + (4 << 10);

/// Number that stands for all operations that there are not (OP_ILLEGAL and OP_CB_ILLEGAL, §16.2.3).
pub const ILLEGAL: u32 = 10044;

/// Tag of a compound: text that its sender chose.
pub type Tag = Opaque<MAX_TAG_BYTES>;

/// Operation that cannot be decoded. The result is `BADXDR` under its number.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("operation {code}: {error}")]
pub struct OperationError {
    /// Number of the operation; [`ILLEGAL`] if not even that is there.
    pub code: u32,
    /// What is wrong with its arguments.
    pub error: XdrError,
}

/// Operation of a compound with its arguments.
pub trait CompoundOperation: Sized {
    /// Whether the compound is one of callbacks, which have an identifier that NFSv4.1 does not use.
    const CALLBACK: bool;
    /// Results of an operation.
    type Outcome: CompoundOutcome;

    /// Number on the wire.
    fn code(&self) -> u32;

    /// Appends the number and the arguments.
    fn encode(&self, writer: &mut Writer);

    /// Takes the next operation of a compound of that minor version. One that the version does not
    /// have is illegal, and no error.
    fn decode(minor: u32, reader: &mut Reader) -> Result<Self, OperationError>;

    /// Whether arguments of which nothing is known follow, so that no operation can be found behind
    /// this one.
    fn ends_the_compound(&self) -> bool;
}

/// Results of an operation.
pub trait CompoundOutcome: Sized {
    /// Number on the wire.
    fn code(&self) -> u32;

    /// Status of the operation.
    fn status(&self) -> Result<(), Status>;

    /// Failure of the operation with that number, with a status that has no details: not `DENIED`
    /// of LOCK and LOCKT, and not `OFFLOAD_NO_REQS` of COPY.
    fn failed(code: u32, status: Status) -> Self;

    /// Appends the number and the results.
    fn encode(&self, writer: &mut Writer);

    /// Takes the results of the next operation.
    fn decode(reader: &mut Reader) -> Result<Self, XdrError>;
}

/// Whether a minor version has what came with `first`.
pub(super) const fn has(minor: u32, first: u32) -> bool {
    minor >= first
}

/// Declares the operations of a compound: tables of them, and an enum for their arguments and one
/// for their results.
///
/// A row is `number => Variant "NAME" first-minor-version needs class (arguments: Type) -> Results,`
/// where void arguments are absent. Behind them stand the operations without types.
macro_rules! operations {
    (
        $(#[$operation_doc:meta])* $operation:ident,
        $(#[$outcome_doc:meta])* $outcome:ident,
        $(#[$table_doc:meta])* $table:ident,
        $(#[$unserved_doc:meta])* $unserved:ident,
        $(#[$callback_doc:meta])* callback: $callback:literal;
        $(
            $(#[$doc:meta])*
            $code:literal => $variant:ident $name:literal $minor:literal $needs:ident $class:ident
                $(($argument:ident: $arguments:ty))? -> $results:ty,
        )*
        ;
        $($unserved_code:literal $unserved_name:literal $unserved_minor:literal,)*
    ) => {
        $(#[$table_doc])*
        pub const $table: &[OperationRow] = &[$(
            OperationRow {
                code: $code,
                name: $name,
                first_minor: $minor,
                needs: Needs::$needs,
                class: Class::$class,
            },
        )*];

        $(#[$unserved_doc])*
        pub const $unserved: &[UnservedRow] =
            &[$(UnservedRow { code: $unserved_code, name: $unserved_name, first_minor: $unserved_minor },)*];

        $(#[$operation_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $operation {
            $($(#[$doc])* $variant $(($arguments))?,)*
            /// Operation that is known by its number only.
            Unserved {
                /// Number.
                code: u32,
                /// Its arguments, and all that follows them.
                arguments: bytes::Bytes,
            },
            /// Operation that there is not, or not in this minor version.
            Illegal {
                /// Number that the peer sent.
                code: u32,
            },
        }

        $(#[$outcome_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $outcome {
            $($(#[$doc])* $variant($results),)*
            /// Failure of an operation that is known by its number only.
            Unserved {
                /// Number.
                code: u32,
                /// Why.
                status: Status,
            },
            /// Failure of an operation that there is not.
            Illegal(Status),
        }

        impl $crate::v4::compound::CompoundOperation for $operation {
            const CALLBACK: bool = $callback;
            type Outcome = $outcome;

            fn code(&self) -> u32 {
                match self {
                    $(Self::$variant { .. } => $code,)*
                    Self::Unserved { code, .. } | Self::Illegal { code } => *code,
                }
            }

            fn encode(&self, writer: &mut xdr::Writer) {
                writer.u32(self.code());
                match self {
                    $(Self::$variant $(($argument))? => { $(xdr::Xdr::encode($argument, writer);)? })*
                    Self::Unserved { arguments, .. } => writer.fixed(arguments),
                    Self::Illegal { .. } => {}
                }
            }

            fn decode(
                minor: u32,
                reader: &mut xdr::Reader,
            ) -> Result<Self, $crate::v4::compound::OperationError> {
                use $crate::v4::compound::OperationError;
                let code = reader.u32().map_err(|error| OperationError { code: ILLEGAL, error })?;
                match code {
                    $($code if $crate::v4::compound::has(minor, $minor) => {
                        Ok(Self::$variant $((<$arguments as xdr::Xdr>::decode(reader)
                            .map_err(|error| OperationError { code, error: error.within($name) })?))?)
                    })*
                    $($unserved_code if $crate::v4::compound::has(minor, $unserved_minor) => {
                        Ok(Self::Unserved { code, arguments: reader.rest() })
                    })*
                    code => Ok(Self::Illegal { code }),
                }
            }

            fn ends_the_compound(&self) -> bool {
                matches!(self, Self::Unserved { .. } | Self::Illegal { .. })
            }
        }

        impl $operation {
            /// Facts of the operation; `None` for one without types.
            pub fn row(&self) -> Option<&'static OperationRow> {
                let code = $crate::v4::compound::CompoundOperation::code(self);
                $table.binary_search_by_key(&code, |row| row.code).ok().and_then(|index| $table.get(index))
            }
        }

        impl $crate::v4::compound::CompoundOutcome for $outcome {
            fn code(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => $code,)*
                    Self::Unserved { code, .. } => *code,
                    Self::Illegal(_) => ILLEGAL,
                }
            }

            fn status(&self) -> Result<(), Status> {
                match self {
                    $(Self::$variant(results) => $crate::v4::HasStatus::status(results),)*
                    Self::Unserved { status, .. } | Self::Illegal(status) => Err(*status),
                }
            }

            fn failed(code: u32, status: Status) -> Self {
                match code {
                    $($code => Self::$variant($crate::v4::HasStatus::failed(status)),)*
                    $($unserved_code => Self::Unserved { code, status },)*
                    _ => Self::Illegal(status),
                }
            }

            fn encode(&self, writer: &mut xdr::Writer) {
                writer.u32(self.code());
                match self {
                    $(Self::$variant(results) => xdr::Xdr::encode(results, writer),)*
                    Self::Unserved { status, .. } | Self::Illegal(status) => writer.u32(status.number()),
                }
            }

            fn decode(reader: &mut xdr::Reader) -> Result<Self, xdr::XdrError> {
                let at = reader.position_bytes();
                let code = reader.u32()?;
                let failure = |reader: &mut xdr::Reader| {
                    let at = reader.position_bytes();
                    let no_status = xdr::XdrError::new(at, xdr::Problem::NoSuchValue { found: 0 });
                    reader.u32().and_then(|number| Status::new(number).ok_or(no_status))
                };
                match code {
                    $($code => <$results as xdr::Xdr>::decode(reader)
                        .map(Self::$variant)
                        .map_err(|error| error.within($name)),)*
                    $($unserved_code => Ok(Self::Unserved { code, status: failure(reader)? }),)*
                    ILLEGAL => Ok(Self::Illegal(failure(reader)?)),
                    found => Err(xdr::XdrError::new(at, xdr::Problem::NoSuchValue { found })),
                }
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl xdr::Sample for $operation {
            fn sample(random: &xdr::Random) -> Self {
                let all: &[fn(&xdr::Random) -> Self] =
                    &[$(|_random| Self::$variant $((<$arguments as xdr::Sample>::sample(_random)))?,)*];
                all[random.index(all.len())](random)
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl xdr::Sample for $outcome {
            fn sample(random: &xdr::Random) -> Self {
                let all: &[fn(&xdr::Random) -> Self] = &[
                    $(|random| Self::$variant(<$results as xdr::Sample>::sample(random)),)*
                    |_| Self::Illegal(Status::OP_ILLEGAL),
                ];
                all[random.index(all.len())](random)
            }
        }
    };
}

pub(super) use operations;

/// Compound whose operations are taken one by one.
#[derive(Clone, Debug)]
pub struct Arguments<O> {
    /// Tag, to be returned bit for bit.
    pub tag: Tag,
    /// Minor version.
    pub minor: u32,
    /// Number of operations that the peer announces.
    pub count: u32,
    left: u32,
    reader: Reader,
    operations: PhantomData<O>,
}

impl<O: CompoundOperation> Arguments<O> {
    /// Takes tag, minor version and count. An error is `GARBAGE_ARGS` of the call.
    pub fn decode(arguments: Bytes) -> Result<Self, XdrError> {
        let mut reader = Reader::new(arguments);
        let tag = Tag::decode(&mut reader).map_err(|error| error.within("COMPOUND4args.tag"))?;
        let minor = reader.u32().map_err(|error| error.within("COMPOUND4args.minorversion"))?;
        if O::CALLBACK {
            reader.u32().map_err(|error| error.within("CB_COMPOUND4args.callback_ident"))?;
        }
        let count = reader.u32().map_err(|error| error.within("COMPOUND4args.argarray"))?;
        Ok(Self { tag, minor, count, left: count, reader, operations: PhantomData })
    }

    /// Takes the next operation; `None` after the last one, after an error, and after an operation
    /// whose arguments are not known.
    pub fn next_operation(&mut self) -> Option<Result<O, OperationError>> {
        self.left = self.left.checked_sub(1)?;
        let operation = O::decode(self.minor, &mut self.reader);
        if operation.as_ref().map_or(true, O::ends_the_compound) {
            self.left = 0;
        }
        Some(operation)
    }
}

/// Compound that is being written.
#[derive(Debug)]
#[must_use = "a compound has to be finished"]
pub struct Call<O> {
    count: u32,
    slot: Slot,
    operations: PhantomData<O>,
}

impl<O: CompoundOperation> Call<O> {
    /// Starts a compound.
    pub fn start(writer: &mut Writer, tag: &Tag, minor: u32) -> Self {
        tag.encode(writer);
        writer.u32(minor);
        if O::CALLBACK {
            writer.u32(0);
        }
        Self { count: 0, slot: writer.reserve(), operations: PhantomData }
    }

    /// Appends an operation.
    pub fn push(&mut self, writer: &mut Writer, operation: &O) {
        self.count += 1;
        operation.encode(writer);
    }

    /// Ends the compound.
    pub fn finish(self, writer: &mut Writer) {
        writer.fill(self.slot, self.count);
    }
}

/// Results of a compound that are being written.
#[derive(Debug)]
#[must_use = "results have to be finished"]
pub struct Reply<O> {
    status: u32,
    count: u32,
    status_slot: Slot,
    count_slot: Slot,
    last: Mark,
    operations: PhantomData<O>,
}

impl<O: CompoundOperation> Reply<O> {
    /// Starts the results of a compound with that tag.
    pub fn start(writer: &mut Writer, tag: &Tag) -> Self {
        let status_slot = writer.reserve();
        tag.encode(writer);
        let count_slot = writer.reserve();
        Self { status: 0, count: 0, status_slot, count_slot, last: writer.mark(), operations: PhantomData }
    }

    /// Appends the results of the next operation. Their status is that of the compound (§16.2.3).
    pub fn push(&mut self, writer: &mut Writer, outcome: &O::Outcome) {
        self.last = writer.mark();
        self.count += 1;
        self.status = outcome.status().err().map_or(0, Status::number);
        outcome.encode(writer);
    }

    /// Replaces the results of the last operation, for example because they are too long. Without a
    /// last one it appends.
    pub fn replace(&mut self, writer: &mut Writer, outcome: &O::Outcome) {
        writer.truncate(self.last);
        self.count = self.count.saturating_sub(1);
        self.push(writer, outcome);
    }

    /// Ends the results. Without any, `status` is that of the compound, for example
    /// `MINOR_VERS_MISMATCH`.
    pub fn finish(self, writer: &mut Writer, status: Result<(), Status>) {
        let own = if self.count == 0 { status.err().map_or(0, Status::number) } else { self.status };
        writer.fill(self.status_slot, own);
        writer.fill(self.count_slot, self.count);
    }
}

/// Results of a compound that are taken one by one.
#[derive(Clone, Debug)]
pub struct Results<O> {
    /// Status of the last operation.
    pub status: Result<(), Status>,
    /// Tag of the compound.
    pub tag: Tag,
    /// Number of results that the peer announces.
    pub count: u32,
    left: u32,
    reader: Reader,
    operations: PhantomData<O>,
}

impl<O: CompoundOperation> Results<O> {
    /// Takes status, tag and count.
    pub fn decode(mut reader: Reader) -> Result<Self, XdrError> {
        let status = Xdr::decode(&mut reader).map_err(|error| error.within("COMPOUND4res.status"))?;
        let tag = Tag::decode(&mut reader).map_err(|error| error.within("COMPOUND4res.tag"))?;
        let count = reader.u32().map_err(|error| error.within("COMPOUND4res.resarray"))?;
        Ok(Self { status, tag, count, left: count, reader, operations: PhantomData })
    }

    /// Takes the next results; `None` after the last ones and after an error.
    pub fn next_outcome(&mut self) -> Option<Result<O::Outcome, XdrError>> {
        self.left = self.left.checked_sub(1)?;
        let outcome = O::Outcome::decode(&mut self.reader);
        if outcome.is_err() {
            self.left = 0;
        }
        Some(outcome)
    }

    /// Fails if something is left after the last results.
    pub fn finish(&self) -> Result<(), XdrError> {
        self.reader.finish()
    }
}
