use crate::prelude::*;

check! {
    /// CREATE_SESSION echoes the sequence id, and promises neither persistence nor RDMA unasked.
    260, "RFC 8881 §18.36"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let outside = bench.outside()?;
    let exchanged = outside.exchange(&owner, [1; 8], 0)?;
    let created = outside.create(exchanged.client, exchanged.sequence)?;
    expect_equal("sequence id", created.sequence, exchanged.sequence)?;
    expect_equal("flags", created.flags, 2)
}
