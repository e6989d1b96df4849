use crate::prelude::*;
use nfs::v4::open::{DelegationType, OpenClaim, OpenHow, share_access, share_deny};

check! {
    /// A reclaim outside the grace period is NO_GRACE.
    744, "RFC 8881 §8.4.2.1"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let claim = OpenClaim::Previous(DelegationType::None);
    let open = op::open_as("owner", share_access::BOTH, share_deny::NONE, OpenHow::NoCreate, claim);
    client.call([op::put(&file.handle), open])?.fails(Status::NO_GRACE)?.done()
}
