use crate::prelude::*;

check! {
    /// CLONE does not exist in minor version 1.
    205, "RFC 8881 §16.2, RFC 7862 §15.13"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let mut outside = bench.outside()?;
    outside.minor = 1;
    let mut client = Client::begin(outside, &owner)?;
    let clone = op::clone(&Stateid::ANONYMOUS, &Stateid::ANONYMOUS, 0, 0, 0);
    client.call([op::put_root(), op::save(), clone])?.fails(Status::OP_ILLEGAL)?.done()
}
