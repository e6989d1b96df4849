use super::asynchronous::{LENGTH, begin};
use crate::prelude::*;

/// Time for the copy to end.
const PATIENCE: Duration = Duration::from_secs(20);

check! {
    /// A copy that has ended keeps its outcome until its callback was answered; to cancel it is COMPLETE_ALREADY.
    664, "RFC 7862 §15.8, §15.9", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    // Without a back channel there is no callback.
    let mut client = Client::begin_with(bench.outside()?, &owner, |arguments| arguments.flags = 0)?;
    client.call([op::reclaim_complete(false)])?.ok()?;
    let directory = bench.directory(&mut client)?;
    let copy = begin(bench, &mut client, &directory)?;
    let until = Instant::now() + PATIENCE;
    let status = loop {
        let reply = copy.status(&mut client)?.optional()?.ok()?;
        let status = take!(reply.last()?, Outcome::OffloadStatus);
        if status.complete.is_some() {
            break status;
        }
        expect(Instant::now() < until, || format!("expected an end, found {} bytes", status.count_bytes))?;
        bench.pause(Duration::from_millis(10))?;
    };
    expect_equal("outcome", status.complete, Some(Ok(())))?;
    expect_equal("count", status.count_bytes, LENGTH as u64)?;
    copy.cancel(&mut client)?.fails_with(&[Status::COMPLETE_ALREADY, Status::BAD_STATEID])?.done()
}
