//! Portmap, RFC 1833 §3.

use super::registrations::Registration;
use onc_rpc::CallError;
use onc_rpc::portmap::{Mapping, Protocol, Request, Results};
use xdr::Reader;

/// CALLIT, which amplifies attacks.
const INDIRECT_CALL: u32 = 5;

/// Executes a procedure.
pub(super) fn execute(all: &[Registration], procedure: u32, arguments: &mut Reader) -> Result<Results, CallError> {
    if procedure == INDIRECT_CALL {
        return Err(CallError::ProcedureUnavailable { procedure });
    }
    Ok(match Request::decode(procedure, arguments)? {
        Request::Null => Results::Null,
        Request::Set(_) => Results::Set(false),
        Request::Unset(_) => Results::Unset(false),
        Request::GetPort(mapping) => Results::GetPort(port(all, &mapping)),
        Request::Dump => Results::Dump(all.iter().map(|one| one.mapping()).collect::<Vec<_>>().into()),
        Request::CallIt(_) => return Err(CallError::ProcedureUnavailable { procedure }),
    })
}

/// Port of a program in exactly this version over this transport; 0 if it is not served.
fn port(all: &[Registration], wanted: &Mapping) -> u32 {
    let is = |one: &&Registration| (one.program, one.version) == (wanted.program, wanted.version);
    let found = all.iter().find(is).filter(|_| wanted.protocol == Protocol::TCP);
    found.map_or(0, |one| one.port.into())
}
