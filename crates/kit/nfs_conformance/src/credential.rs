//! Credentials of callers.

use onc_rpc::auth::{AuthSys, OpaqueAuth};

/// Credential of a user with one group of the same number.
pub fn user(uid: u32) -> OpaqueAuth {
    user_with_groups(uid, uid, &[])
}

/// Credential of a user.
pub fn user_with_groups(uid: u32, gid: u32, groups: &[u32]) -> OpaqueAuth {
    let machine_name = "windlass-conformance".into();
    OpaqueAuth::sys(&AuthSys { stamp: 0, machine_name, uid, gid, gids: groups.to_vec().into() })
}
