//! What clients find after a restart of the server, RFC 8881 §8.4.2: grace, reclaims and their edge conditions.

mod asynchronous_copy;
mod dead_client;
mod io_in_grace;
mod lost_to_another;
mod new_verifier;
mod no_record;
mod old_ids;
mod reclaim;
mod removal_in_grace;
mod twice;

use crate::check::Check;
use crate::prelude::*;
use nfs::v4::open::{DelegationType, OpenClaim, OpenHow};

pub(super) const CHECKS: &[&Check] = &[
    &asynchronous_copy::CHECK,
    &dead_client::CHECK,
    &io_in_grace::CHECK,
    &lost_to_another::CHECK,
    &new_verifier::CHECK,
    &no_record::CHECK,
    &old_ids::CHECK,
    &reclaim::CHECK,
    &removal_in_grace::CHECK,
    &twice::CHECK,
];

/// OPEN of the current file as before a restart.
fn reclaim(access: u32, deny: u32) -> Operation {
    op::open_as("owner", access, deny, OpenHow::NoCreate, OpenClaim::Previous(DelegationType::None))
}

/// OPEN of the current file.
fn open(access: u32, deny: u32) -> Operation {
    op::open_as("owner", access, deny, OpenHow::NoCreate, OpenClaim::Filehandle)
}

/// OPENs a file that was just created, and closes the open that created it.
fn hold(client: &mut Client, created: &Opened, access: u32, deny: u32) -> Verdict {
    client.close(created)?;
    client.call([op::put(&created.handle), open(access, deny)])?.ok().map(drop)
}

/// Lease of the server, in seconds.
fn lease_seconds(client: &mut Client, file: &nfs::v4::Filehandle) -> Result<u32, NotPassed> {
    match client.attributes(file, &[10])?[..] {
        [Attribute::LeaseTime(seconds)] => Ok(seconds),
        ref found => failed(format!("GETATTR: expected lease_time, found {found:?}")),
    }
}
