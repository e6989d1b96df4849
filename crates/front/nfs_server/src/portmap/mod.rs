//! Portmap (version 2) and rpcbind (versions 3 and 4) of the server's own programs, RFC 1833. Programs of
//! other servers cannot be registered, and are not called.

mod registrations;
mod rpcbind;
mod version_2;

pub(crate) use registrations::registrations;

use crate::connection::{CallFacts, Transport};
use onc_rpc::CallError;
use onc_rpc::portmap::VERSION;
use registrations::Registration;
use xdr::{Reader, Writer};

/// DUMP, in all versions. Its results are ten times as long as the call, which in a datagram may have the address of a
/// victim.
const DUMP: u32 = 4;

/// Executes a procedure of version 2, 3 or 4, and appends its results. DUMP is for connections alone.
pub(crate) fn execute(
    call: &CallFacts<'_>,
    all: &[Registration],
    (version, procedure): (u32, u32),
    arguments: &mut Reader,
    results: &mut Writer,
) -> Result<(), CallError> {
    if procedure == DUMP && call.connection.transport == Transport::Udp {
        return Err(CallError::ProcedureUnavailable { procedure });
    }
    if version == VERSION {
        version_2::execute(all, procedure, arguments)?.encode(results);
    } else {
        rpcbind::execute(call, all, (version, procedure), arguments)?.encode(results);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
