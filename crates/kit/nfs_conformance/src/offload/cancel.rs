use super::asynchronous::{begin, listen};
use crate::prelude::*;

/// Time in which a cancel has to return.
const LIMIT: Duration = Duration::from_secs(1);
/// Time in which nothing more may be copied.
const AFTERWARDS: Duration = Duration::from_millis(300);

check! {
    /// A cancelled copy has ended: the destination has the start of the source, and no callback comes.
    667, "RFC 7862 §15.8", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let called = listen(&client);
    let copy = begin(bench, &mut client, &directory)?;
    let begun = Instant::now();
    let reply = copy.cancel(&mut client)?.optional()?;
    if reply.status().is_err() {
        return reply.fails_with(&[Status::COMPLETE_ALREADY, Status::BAD_STATEID])?.done();
    }
    expect(begun.elapsed() <= LIMIT, || format!("expected an end within {LIMIT:?}, found {:?}", begun.elapsed()))?;
    copy.status(&mut client)?.fails(Status::BAD_STATEID)?;
    let before = copy.start(&mut client)?;
    bench.pause(AFTERWARDS)?;
    expect_equal("copied", copy.start(&mut client)?, before)?;
    expect(called.borrow().is_empty(), || "expected no callback, found one".into())?;
    copy.cancel(&mut client)?.fails(Status::BAD_STATEID)?.done()
}
