use crate::prelude::*;
use crate::wire::{RpcCall, RpcReply};

check! {
    /// Versions 2 and 5 of NFS are PROG_MISMATCH with 4 as the highest version and 3 or 4 as the lowest.
    13, "RFC 5531 §9"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut wire = bench.wire()?;
    for version in [2, 5] {
        match wire.call(&RpcCall::null(version, version))? {
            RpcReply::Accepted(0, 2, versions) if versions == [3, 4] || versions == [4, 4] => {}
            found => return failed(format!("version {version}: expected PROG_MISMATCH 3 or 4 to 4, found {found:?}")),
        }
    }
    wire.expect_alive(8)
}
