use crate::prelude::*;
use nfs::v4::session::exchange_id as flag;

check! {
    /// EXCHANGE_ID of a new owner: one role, not confirmed, and a server owner with a scope.
    240, "RFC 8881 §18.35"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let found = bench.outside()?.exchange(&owner, [1; 8], 0)?;
    let roles = found.flags & (flag::USE_NON_PNFS | flag::USE_PNFS_MDS | flag::USE_PNFS_DS);
    expect(roles != 0, || format!("flags: expected a role, found {:#x}", found.flags))?;
    expect_equal("CONFIRMED_R", found.flags & flag::CONFIRMED, 0)?;
    expect(!found.owner.major.is_empty() && !found.scope.is_empty(), || "no server owner or no scope".into())
}
