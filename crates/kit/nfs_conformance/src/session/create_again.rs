use crate::client::create_session;
use crate::prelude::*;

check! {
    /// CREATE_SESSION with the same sequence id has the same reply, bit for bit.
    262, "RFC 8881 §18.36.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let outside = bench.outside()?;
    let exchanged = outside.exchange(&owner, [1; 8], 0)?;
    let first = outside.call([create_session(exchanged.client, exchanged.sequence)])?.ok()?;
    let again = outside.call([create_session(exchanged.client, exchanged.sequence)])?.ok()?;
    expect_bytes("reply", &again.bytes, &first.bytes)
}
