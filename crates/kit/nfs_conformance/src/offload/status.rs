use super::asynchronous::begin;
use crate::prelude::*;

check! {
    /// OFFLOAD_STATUS of a copy that goes on does not fall, has no outcome, and counts bytes that are there.
    663, "RFC 7862 §15.9", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let copy = begin(bench, &mut client, &directory)?;
    let length = copy.content.len() as u64;
    // What the server counts before a cancel is there after it.
    let (status, cancel) = (op::offload_status(&copy.stateid), op::offload_cancel(&copy.stateid));
    let reply = client.call([op::put(&copy.target.handle), status.clone(), status, cancel])?.optional()?;
    if reply.status().is_err() {
        reply.fails_somewhere(&[Status::BAD_STATEID, Status::COMPLETE_ALREADY])?;
        return expect_equal("copied", copy.start(&mut client)? as u64, length);
    }
    let first = take!(reply.result(1)?, Outcome::OffloadStatus);
    let second = take!(reply.result(2)?, Outcome::OffloadStatus);
    let there = copy.start(&mut client)? as u64;
    let counts = [first.count_bytes, second.count_bytes, there];
    expect(counts.is_sorted(), || format!("expected two counts and what is there in order, found {counts:?}"))?;
    let complete = (first.complete, second.complete);
    expect(complete == (None, None), || format!("expected no outcome of a copy that is cancelled, found {complete:?}"))
}
