use crate::offload::asynchronous::begin;
use crate::prelude::*;

check! {
    /// A copy ends with a restart: its stateid is BAD_STATEID, and the destination has the start of the source.
    671, "RFC 7862 §4.8", needs: [MinorTwo, Restart]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let copy = begin(bench, &mut client, &directory)?;
    bench.restart(Remembered::Nobody)?;
    let mut again = bench.come_back(&client)?;
    again.call([op::reclaim_complete(false)])?.ok()?;
    copy.status(&mut again)?.fails(Status::BAD_STATEID)?;
    copy.start(&mut again).map(drop)
}
