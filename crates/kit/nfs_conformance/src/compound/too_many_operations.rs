use crate::prelude::*;

check! {
    /// More operations than the session allows are TOO_MANY_OPS at SEQUENCE.
    210, "RFC 8881 §2.10.6.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let client = Client::begin_with(bench.outside()?, &owner, |arguments| arguments.fore_channel.max_operations = 8)?;
    let limit = client.created.fore_channel.max_operations;
    if limit > 256 {
        return skipped(format!("the server grants {limit} operations"));
    }
    let roots = |count: u32| (0..count).map(|_| op::put_root());
    let sequence = client.sequence(0, 1, false);
    client.send(sequence.clone(), roots(limit))?.fails_at(0, &[Status::TOO_MANY_OPS])?;
    // The slot is as it was.
    client.send(sequence, roots(limit - 1))?.ok()?.done()
}
