//! Limits of the channels of a session (RFC 8881 §18.36.3).

use nfs::v4::Status;
use nfs::v4::session::{CallbackSecurity, ChannelAttributes};
use onc_rpc::auth::AuthSys;
use xdr::Opaque;

use crate::limits::Limits;

/// Length of a call with AUTH_NONE that has only a SEQUENCE.
const MIN_REQUEST_BYTES: u32 = 88;
/// Length of the reply to it.
pub(super) const MIN_RESPONSE_BYTES: u32 = 80;
/// Room for a CB_OFFLOAD with a referring call.
const MIN_CALLBACK_REQUEST_BYTES: u32 = 256;
/// Room for the reply to it.
const MIN_CALLBACK_RESPONSE_BYTES: u32 = 88;
/// CB_SEQUENCE and CB_OFFLOAD.
const MIN_CALLBACK_OPERATIONS: u32 = 2;

/// What is granted of what a client asks for its requests. `TOOSMALL`: not even a SEQUENCE fits. `INVAL`: no slot or no
/// operation.
pub(super) fn fore(asked: &ChannelAttributes, limits: &Limits) -> Result<ChannelAttributes, Status> {
    if asked.max_request_bytes < MIN_REQUEST_BYTES || asked.max_response_bytes < MIN_RESPONSE_BYTES {
        return Err(Status::TOOSMALL);
    }
    if asked.max_operations == 0 || asked.max_requests == 0 {
        return Err(Status::INVAL);
    }
    Ok(granted(asked, limits))
}

/// The same for requests from the server.
pub(super) fn back(asked: &ChannelAttributes, limits: &Limits) -> Result<ChannelAttributes, Status> {
    let small = asked.max_request_bytes < MIN_CALLBACK_REQUEST_BYTES
        || asked.max_response_bytes < MIN_CALLBACK_RESPONSE_BYTES
        || asked.max_operations < MIN_CALLBACK_OPERATIONS;
    if small { Err(Status::TOOSMALL) } else { Ok(granted(asked, limits)) }
}

fn granted(asked: &ChannelAttributes, limits: &Limits) -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        max_request_bytes: asked.max_request_bytes.min(limits.message_bytes),
        max_response_bytes: asked.max_response_bytes.min(limits.message_bytes),
        max_cached_response_bytes: asked.max_cached_response_bytes.min(limits.cached_reply_bytes),
        max_operations: asked.max_operations.min(limits.operations),
        max_requests: asked.max_requests.min(limits.slots_per_session),
        rdma_reads: None,
    }
}

/// Credential of callbacks: the first that needs no GSS.
pub(super) fn security(offered: &[CallbackSecurity]) -> Option<CallbackSecurity> {
    offered.iter().find_map(|security| match security {
        CallbackSecurity::None => Some(CallbackSecurity::None),
        CallbackSecurity::Sys(credential) => Some(CallbackSecurity::Sys(AuthSys {
            // A slice of a message would keep all of it.
            machine_name: Opaque::from(&*credential.machine_name),
            ..credential.clone()
        })),
        CallbackSecurity::Gss(_) => None,
    })
}
