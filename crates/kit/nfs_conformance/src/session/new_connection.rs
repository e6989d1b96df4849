use crate::prelude::*;

check! {
    /// SEQUENCE on a new connection works without binding it.
    294, "RFC 8881 §2.10.3.1"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    let sequence = Operation::Sequence(client.sequence(3, 1, false));
    client.outside.reconnect()?.call([sequence, op::put_root()])?.ok()?.done()
}
