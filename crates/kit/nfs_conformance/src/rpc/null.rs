use crate::prelude::*;
use crate::wire::RpcCall;

check! {
    /// NULL of NFSv4 with AUTH_NONE is answered with nothing, in one record.
    1, "RFC 5531 §9"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut wire = bench.wire()?;
    let words = wire.call(&RpcCall::null(0x1234_5678, 4))?.success()?;
    expect_equal("words of the results", words.len(), 0)
}
