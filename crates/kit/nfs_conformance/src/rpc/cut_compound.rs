use crate::prelude::*;
use crate::wire::RpcCall;

check! {
    /// A COMPOUND that ends in its tag, its minor version or its count is GARBAGE_ARGS.
    17, "RFC 5531 §9, RFC 8881 §16.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let whole = RpcCall::compound(7, |writer| {
        writer.opaque(b"tag.");
        writer.u32(1);
        writer.u32(0);
    });
    let mut wire = bench.wire()?;
    for length in [0, 2, 6, 8, 10, 12, 15] {
        let arguments = whole.arguments.get(..length).unwrap_or_default().to_vec();
        let call = RpcCall { xid: length as u32, arguments, ..whole.clone() };
        if let Err(reason) = wire.call(&call)?.garbage() {
            return failed(format!("{length} bytes of arguments: {reason}"));
        }
    }
    wire.expect_alive(99)
}
