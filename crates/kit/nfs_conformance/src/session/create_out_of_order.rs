use crate::client::create_session;
use crate::prelude::*;

check! {
    /// CREATE_SESSION with a sequence id ahead or behind is SEQ_MISORDERED, also the first one.
    263, "RFC 8881 §18.36.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let outside = bench.outside()?;
    let exchanged = outside.exchange(&owner, [1; 8], 0)?;
    for step in [2, u32::MAX, 77] {
        let sequence = exchanged.sequence.wrapping_add(step);
        outside.call([create_session(exchanged.client, sequence)])?.fails(Status::SEQ_MISORDERED)?;
    }
    outside.create(exchanged.client, exchanged.sequence).map(drop)
}
