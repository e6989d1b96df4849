use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// OPEN of a new client before RECLAIM_COMPLETE is GRACE.
    743, "RFC 8881 §18.51.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (_, directory) = bench.place()?;
    let owner = bench.owner();
    let mut client = Client::begin(bench.outside()?, &owner)?;
    let open = op::open("f", share_access::BOTH, share_deny::NONE, op::unchecked(0o644));
    client.call([op::put(&directory), open])?.fails(Status::GRACE)?.done()
}
