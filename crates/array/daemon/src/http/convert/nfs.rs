//! Clients of NFS, their locks, and the grace period.

use crate::http::problem::Fault;
use api::{NfsClient, NfsClientStanding, NfsGrace, NfsLock};
use axum::http::StatusCode;
use control::{NfsClientInfo, NfsLockView};

const fn standing(standing: control::NfsClientStanding) -> NfsClientStanding {
    match standing {
        control::NfsClientStanding::Unconfirmed => NfsClientStanding::Unconfirmed,
        control::NfsClientStanding::Active => NfsClientStanding::Active,
        control::NfsClientStanding::Courteous => NfsClientStanding::Courteous,
    }
}

/// Client id in hexadecimal digits.
fn id(client: u64) -> String {
    format!("{client:016x}")
}

pub(in crate::http) fn nfs_client_id(digits: &str) -> Result<u64, Fault> {
    let is_id = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_id.then(|| u64::from_str_radix(digits, 16).ok()).flatten().ok_or_else(|| Fault::InvalidRequest {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        detail: format!("{digits:?} is no client id: write its 16 hexadecimal digits"),
    })
}

pub(in crate::http) fn nfs_client(client: NfsClientInfo) -> NfsClient {
    NfsClient {
        id: id(client.id),
        owner: client.owner,
        implementation: client.implementation,
        standing: standing(client.standing),
        renewed: client.renewed,
        reclaim_complete: client.reclaim_complete,
        sessions: client.sessions,
        opens: client.opens,
        locks: client.locks,
        copies: client.copies,
        revoked: client.revoked,
    }
}

pub(in crate::http) fn nfs_lock(NfsLockView { share, lock }: NfsLockView) -> NfsLock {
    NfsLock {
        share,
        file: lock.file,
        client: id(lock.client),
        owner: lock.owner,
        offset_bytes: lock.offset_bytes,
        length_bytes: lock.length_bytes,
        exclusive: lock.exclusive,
    }
}

pub(in crate::http) fn nfs_grace(grace: control::NfsGrace) -> NfsGrace {
    NfsGrace { active: grace.seconds > 0, seconds: grace.seconds, reclaiming: grace.reclaiming }
}
