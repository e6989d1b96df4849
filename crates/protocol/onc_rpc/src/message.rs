//! Headers of calls and replies, RFC 5531 §9.
//!
//! A server decides in this order, which is that of Linux: header ([`Message::decode`]), credential
//! ([`Call::authenticate`]), program and version ([`Programs::check`]), procedure
//! and arguments (the `decode` of the program's requests).

use thiserror::Error;
use xdr::{Reader, Writer, Xdr, XdrError, types};

use crate::auth::{self, AuthStat, Credential, OpaqueAuth};

/// Version of the protocol.
pub const RPC_VERSION: u32 = 2;

/// `msg_type` of a call.
const CALL: u32 = 0;
/// `msg_type` of a reply.
const REPLY: u32 = 1;

/// Header of a call; the arguments follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Transaction id, chosen by the client.
    pub xid: u32,
    /// Program.
    pub program: u32,
    /// Version of the program.
    pub version: u32,
    /// Procedure of that version.
    pub procedure: u32,
    /// Who calls.
    pub credential: OpaqueAuth,
    /// Proof of it.
    pub verifier: OpaqueAuth,
}

types! {
    /// Header of a reply after `msg_type`; the results follow it if the status is success.
    union ReplyBody {
        /// The call was accepted.
        0 => Accepted(reply: Accepted),
        /// The call was denied.
        1 => Denied(reason: Rejection),
    }

    /// `accepted_reply`, without results.
    struct Accepted {
        /// Verifier of the server.
        verifier: OpaqueAuth,
        /// Outcome.
        status: AcceptStatus,
    }

    /// `accept_stat` with its values.
    union AcceptStatus {
        /// Executed; results follow.
        0 => Success,
        /// The server does not have the program.
        1 => ProgramUnavailable,
        /// The server does not have this version of the program.
        2 => ProgramMismatch(versions: VersionRange),
        /// The program does not have the procedure.
        3 => ProcedureUnavailable,
        /// The arguments cannot be decoded.
        4 => GarbageArguments,
        /// The server failed, for example for lack of memory.
        5 => SystemError,
    }

    /// `rejected_reply`.
    union Rejection {
        /// Another version of RPC.
        0 => RpcMismatch(versions: VersionRange),
        /// Authentication failed.
        1 => AuthError(status: AuthStat),
    }

    /// Versions that the server has.
    struct VersionRange {
        /// Lowest.
        low: u32,
        /// Highest.
        high: u32,
    }
}

/// Header of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Transaction id of the call.
    pub xid: u32,
    /// Outcome.
    pub body: ReplyBody,
}

/// Header of a message. Both kinds arrive on a connection that is also an NFSv4.1 back channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Call.
    Call(Call),
    /// Reply.
    Reply(Reply),
}

/// Why a header was not accepted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HeaderError {
    /// The message cannot be answered. The stream of records is still in step.
    #[error("message header: {0}")]
    Malformed(#[from] XdrError),
    /// The call has to be answered with a denial.
    #[error("call {xid:#010x} denied: {reason:?}")]
    Denied {
        /// Transaction id of the call.
        xid: u32,
        /// Reason.
        reason: Rejection,
    },
}

impl Message {
    /// Takes the header of a message. After it `reader` is at the arguments or results.
    ///
    /// * [`Rejection::RpcMismatch`]: a call of another version of RPC than 2.
    /// * [`Rejection::AuthError`]: the credential (`AUTH_BADCRED`) or verifier (`AUTH_BADVERF`) is
    ///   longer than 400 bytes, or the message ends in it.
    pub fn decode(reader: &mut Reader) -> Result<Self, HeaderError> {
        let xid = reader.u32()?;
        let at = reader.position_bytes();
        match reader.u32()? {
            CALL => Call::decode_after_type(xid, reader).map(Self::Call),
            REPLY => Ok(Self::Reply(Reply { xid, body: ReplyBody::decode(reader)? })),
            found => Err(XdrError::new(at, xdr::Problem::NoSuchValue { found }).within("rpc_msg.mtype").into()),
        }
    }
}

impl Call {
    fn decode_after_type(xid: u32, reader: &mut Reader) -> Result<Self, HeaderError> {
        if reader.u32()? != RPC_VERSION {
            let versions = VersionRange { low: RPC_VERSION, high: RPC_VERSION };
            return Err(HeaderError::Denied { xid, reason: Rejection::RpcMismatch(versions) });
        }
        let program = reader.u32()?;
        let version = reader.u32()?;
        let procedure = reader.u32()?;
        let denied = |status| move |_| HeaderError::Denied { xid, reason: Rejection::AuthError(status) };
        let credential = OpaqueAuth::decode(reader).map_err(denied(AuthStat::BADCRED))?;
        let verifier = OpaqueAuth::decode(reader).map_err(denied(AuthStat::BADVERF))?;
        Ok(Self { xid, program, version, procedure, credential, verifier })
    }

    /// Checks credential and verifier ([`auth::authenticate`]).
    pub fn authenticate(&self) -> Result<Credential, AuthStat> {
        auth::authenticate(&self.credential, &self.verifier, self.procedure)
    }

    /// Appends the header; the arguments follow it.
    pub fn encode(&self, writer: &mut Writer) {
        for number in [self.xid, CALL, RPC_VERSION, self.program, self.version, self.procedure] {
            writer.u32(number);
        }
        self.credential.encode(writer);
        self.verifier.encode(writer);
    }
}

impl Reply {
    /// Reply to an accepted call, with an empty AUTH_NONE as verifier.
    pub fn accepted(xid: u32, status: AcceptStatus) -> Self {
        Self { xid, body: ReplyBody::Accepted(Accepted { verifier: OpaqueAuth::none(), status }) }
    }

    /// Reply to a denied call.
    pub fn denied(xid: u32, reason: Rejection) -> Self {
        Self { xid, body: ReplyBody::Denied(reason) }
    }

    /// Appends the header; the results follow it if the status is success.
    pub fn encode(&self, writer: &mut Writer) {
        writer.u32(self.xid);
        writer.u32(REPLY);
        self.body.encode(writer);
    }
}

/// Programs of a server, each with the range of its versions, all of which it has.
#[derive(Clone, Copy, Debug)]
pub struct Programs<'a>(pub &'a [(u32, VersionRange)]);

impl Programs<'_> {
    /// Whether the server has the program in this version; otherwise the status of the reply.
    pub fn check(&self, program: u32, version: u32) -> Result<(), AcceptStatus> {
        match self.0.iter().find(|(number, _)| *number == program) {
            None => Err(AcceptStatus::ProgramUnavailable),
            Some((_, range)) if (range.low..=range.high).contains(&version) => Ok(()),
            Some((_, range)) => Err(AcceptStatus::ProgramMismatch(range.clone())),
        }
    }
}
