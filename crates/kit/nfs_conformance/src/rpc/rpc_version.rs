use crate::prelude::*;
use crate::wire::RpcCall;

check! {
    /// Version 3 of RPC is denied with RPC_MISMATCH, lowest and highest 2.
    11, "RFC 5531 §9"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let call = RpcCall { rpc_version: 3, ..RpcCall::null(7, 4) };
    let mut wire = bench.wire()?;
    wire.call(&call)?.denied(0, &[2, 2])?;
    wire.expect_alive(8)
}
