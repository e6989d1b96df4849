use super::{hold, lease_seconds, open, reclaim};
use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// A client whose open went to another one while it was silent cannot reclaim it after a restart.
    752, "RFC 8881 §8.4.3", needs: [Restart, Thorough]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.restart(Remembered::Nobody)?;
    let (mut silent, directory) = bench.place()?;
    let seconds = lease_seconds(&mut silent, &directory)?;
    let mut other = bench.client()?;
    let file = silent.create(&directory, "f")?;
    let free = silent.create(&directory, "g")?;
    silent.close(&free)?;
    hold(&mut silent, &file, share_access::BOTH, share_deny::BOTH)?;
    for _ in 0..seconds.saturating_add(3) {
        bench.pause(Duration::from_secs(1))?;
        other.renew()?;
    }
    let reply = other.call([op::put(&file.handle), open(share_access::BOTH, share_deny::NONE)])?.ok()?;
    let taken = take!(reply.last()?, Outcome::Open).stateid;
    other.call([op::put(&file.handle), op::close(&taken)])?.ok()?;
    // New state gives the silent client a record again, though it has not acknowledged its loss.
    silent.call([op::put(&free.handle), open(share_access::READ, share_deny::NONE)])?.ok()?;
    bench.restart(Remembered::Recorded)?;
    let mut silent = bench.come_back(&silent)?;
    let reply = silent.call([op::put(&file.handle), reclaim(share_access::BOTH, share_deny::BOTH)])?;
    reply.fails_with(&[Status::NO_GRACE, Status::RECLAIM_BAD, Status::RECLAIM_CONFLICT])?.done()
}
