use crate::prelude::*;
use crate::wire::RpcCall;

check! {
    /// Procedure 2 of NFSv4 is PROC_UNAVAIL.
    15, "RFC 5531 §9"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let call = RpcCall { procedure: (nfs::PROGRAM, 4, 2), ..RpcCall::compound(7, |_| {}) };
    let mut wire = bench.wire()?;
    wire.call(&call)?.accepted(3, &[])?;
    wire.expect_alive(8)
}
