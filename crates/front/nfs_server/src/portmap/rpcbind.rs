//! rpcbind, RFC 1833 §2.

use super::registrations::Registration;
use crate::connection::CallFacts;
use onc_rpc::CallError;
use onc_rpc::rpcbind::{Binding, Request, Results, tcp_network_id, universal_address};
use xdr::Reader;

/// Owner of all registrations.
const OWNER: &str = "superuser";

/// Executes a procedure of version 3 or 4.
pub(super) fn execute(
    call: &CallFacts<'_>,
    all: &[Registration],
    (version, procedure): (u32, u32),
    arguments: &mut Reader,
) -> Result<Results, CallError> {
    Ok(match Request::decode_version(version, procedure, arguments)? {
        Request::Null => Results::Null,
        Request::Set(_) => Results::Set(false),
        Request::Unset(_) => Results::Unset(false),
        Request::GetAddress(wanted) => {
            Results::GetAddress(address(call, any_version(all, &wanted), &wanted).as_str().into())
        }
        Request::GetVersionAddress(wanted) => {
            Results::GetVersionAddress(address(call, exact_version(all, &wanted), &wanted).as_str().into())
        }
        Request::Dump => Results::Dump(all.iter().map(|one| binding(call, *one)).collect::<Vec<_>>().into()),
        Request::GetTime => Results::GetTime(u32::try_from(call.moment.now.seconds().max(0)).unwrap_or(u32::MAX)),
    })
}

fn exact_version(all: &[Registration], wanted: &Binding) -> Option<Registration> {
    all.iter().find(|one| (one.program, one.version) == (wanted.program, wanted.version)).copied()
}

fn any_version(all: &[Registration], wanted: &Binding) -> Option<Registration> {
    exact_version(all, wanted).or_else(|| all.iter().find(|one| one.program == wanted.program).copied())
}

/// Universal address of a program; empty if it is not served over the wanted network. A client that
/// names none means the one that it uses.
fn address(call: &CallFacts<'_>, found: Option<Registration>, wanted: &Binding) -> String {
    let Some(address) = found.map(|one| one.address(call.connection)) else { return String::new() };
    let network_id = tcp_network_id(address.ip());
    let served = wanted.network_id.is_empty() || *wanted.network_id == *network_id.as_bytes();
    if served { universal_address(address) } else { String::new() }
}

fn binding(call: &CallFacts<'_>, one: Registration) -> Binding {
    let address = one.address(call.connection);
    Binding {
        program: one.program,
        version: one.version,
        network_id: tcp_network_id(address.ip()).into(),
        address: universal_address(address).as_str().into(),
        owner: OWNER.into(),
    }
}
