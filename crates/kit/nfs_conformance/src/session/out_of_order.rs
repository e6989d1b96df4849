use crate::prelude::*;

check! {
    /// A sequence id behind or ahead is SEQ_MISORDERED, and the next one still works.
    290, "RFC 8881 §2.10.6.1"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    let send = |sequence| client.send(client.sequence(1, sequence, false), []);
    send(1)?.ok()?;
    send(2)?.ok()?;
    for sequence in [1, 4, 0, u32::MAX] {
        send(sequence)?.fails_at(0, &[Status::SEQ_MISORDERED])?;
    }
    send(3)?.ok()?.done()
}
