use crate::prelude::*;

check! {
    /// The first SEQUENCE of a slot has sequence id 1: 0 and 2 are SEQ_MISORDERED.
    279, "RFC 8881 §2.10.6.1"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    for sequence in [0, 2] {
        client.send(client.sequence(1, sequence, false), [])?.fails_at(0, &[Status::SEQ_MISORDERED])?;
    }
    let reply = client.send(client.sequence(1, 1, false), [])?.ok()?;
    let found = take!(reply.last()?, Outcome::Sequence);
    expect_equal("session, slot and sequence id", (found.session, found.slot, found.sequence), (client.session(), 1, 1))
}
