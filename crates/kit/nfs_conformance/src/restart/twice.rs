use super::{hold, open, reclaim};
use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// A restart in the grace period takes no client's right to reclaim, whether it had reclaimed or not.
    753, "RFC 8881 §8.4.3", needs: [Restart]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.restart(Remembered::Nobody)?;
    let (mut one, directory) = bench.place()?;
    let mut two = bench.client()?;
    let file = one.create(&directory, "f")?;
    hold(&mut one, &file, share_access::BOTH, share_deny::BOTH)?;
    let other = two.create(&directory, "g")?;
    hold(&mut two, &other, share_access::BOTH, share_deny::BOTH)?;
    bench.restart(Remembered::Recorded)?;
    let mut first = bench.come_back(&one)?;
    first.call([op::put(&file.handle), reclaim(share_access::BOTH, share_deny::BOTH)])?.ok()?;
    bench.restart(Remembered::Recorded)?;
    let (mut one, mut two) = (bench.come_back(&one)?, bench.come_back(&two)?);
    one.call([op::put(&file.handle), reclaim(share_access::BOTH, share_deny::BOTH)])?.ok()?;
    two.call([op::put(&other.handle), reclaim(share_access::BOTH, share_deny::BOTH)])?.ok()?;
    for client in [&mut one, &mut two] {
        client.call([op::reclaim_complete(false)])?.ok()?;
    }
    two.call([op::put(&file.handle), open(share_access::READ, share_deny::NONE)])?.fails(Status::SHARE_DENIED)?.done()
}
