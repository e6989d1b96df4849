use crate::prelude::*;

check! {
    /// RECLAIM_COMPLETE succeeds once; then it is COMPLETE_ALREADY.
    740, "RFC 8881 §18.51"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut client = bench.client()?;
    client.call([op::reclaim_complete(false)])?.fails(Status::COMPLETE_ALREADY)?.done()
}
