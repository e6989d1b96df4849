use crate::prelude::*;

check! {
    /// A repeated call whose reply was not to be kept is RETRY_UNCACHED_REP behind SEQUENCE, or answered in
    /// full; a lone SEQUENCE has the same reply.
    285, "RFC 8881 §2.10.6.1.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    let sequence = client.sequence(1, 1, false);
    let first = client.send(sequence.clone(), [op::put_root(), op::get_filehandle()])?.ok()?;
    let again = client.send(sequence, [op::put_root(), op::get_filehandle()])?;
    if again.bytes != first.bytes {
        again.fails_at(1, &[Status::RETRY_UNCACHED_REP])?;
    }
    let first = client.send(client.sequence(2, 1, false), [])?.ok()?;
    expect_bytes("reply", &client.send(client.sequence(2, 1, false), [])?.bytes, &first.bytes)
}
