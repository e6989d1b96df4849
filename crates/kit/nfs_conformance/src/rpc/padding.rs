use crate::prelude::*;
use crate::wire::RpcCall;

check! {
    /// Padding bytes that are not zero are accepted.
    30, "RFC 4506 §3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let call = RpcCall::compound(7, |writer| {
        writer.u32(1);
        writer.fixed(&[b't', 1, 2, 3]);
        writer.u32(1);
        writer.u32(0);
    });
    let words = bench.wire()?.call(&call)?.success()?;
    expect_equal("status, tag and count", words, vec![0, 1, u32::from_be_bytes([b't', 0, 0, 0]), 0])
}
