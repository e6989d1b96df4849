use crate::prelude::*;
use crate::wire::RpcCall;

check! {
    /// A length of 2^32 - 1 is GARBAGE_ARGS for a tag, and BADXDR for a handle.
    29, "RFC 4506 §4.10, RFC 8881 §15.1.1.1"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut wire = bench.wire()?;
    wire.call(&RpcCall::compound(7, |writer| writer.u32(u32::MAX)))?.garbage()?;
    wire.expect_alive(8)?;
    let mut client = bench.client()?;
    client.call([op::raw(22, |writer| writer.u32(u32::MAX))])?.fails(Status::BADXDR)?.done()
}
