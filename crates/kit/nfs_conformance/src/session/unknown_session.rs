use crate::prelude::*;

check! {
    /// SEQUENCE of an unknown session is BADSESSION.
    281, "RFC 8881 §18.46.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let client = bench.client()?;
    let mut sequence = client.sequence(0, 2, false);
    sequence.session = [0xa5; 16];
    client.send(sequence, [])?.fails_at(0, &[Status::BADSESSION])?.done()
}
