use crate::prelude::*;
use crate::wire::RpcCall;

check! {
    /// An unknown program is PROG_UNAVAIL.
    12, "RFC 5531 §9"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let call = RpcCall { procedure: (100_999, 1, 0), ..RpcCall::null(7, 4) };
    let mut wire = bench.wire()?;
    wire.call(&call)?.accepted(1, &[])?;
    wire.expect_alive(8)
}
