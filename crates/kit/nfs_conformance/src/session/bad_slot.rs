use crate::prelude::*;

check! {
    /// A slot beyond the last one is BADSLOT.
    280, "RFC 8881 §18.46.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    let mut sequence = client.sequence(0, 1, false);
    sequence.slot = client.created.fore_channel.max_requests;
    client.send(sequence, [])?.fails_at(0, &[Status::BADSLOT])?.done()
}
