use crate::prelude::*;

check! {
    /// RECLAIM_COMPLETE of one file system needs a handle and does not end the global reclaim.
    741, "RFC 8881 §18.51"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let owner = bench.owner();
    let mut client = Client::begin(bench.outside()?, &owner)?;
    client.call([op::reclaim_complete(true)])?.fails(Status::NOFILEHANDLE)?;
    let mut operations = bench.path();
    operations.push(op::reclaim_complete(true));
    client.call(operations)?.ok()?;
    client.call([op::reclaim_complete(false)])?.ok()?.done()
}
