use super::{hold, lease_seconds, open};
use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// A recorded client that does not come back holds the grace period up for a lease, and no longer.
    760, "RFC 8881 §8.4.2", needs: [Restart, Thorough]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.restart(Remembered::Nobody)?;
    let (mut dead, directory) = bench.place()?;
    let seconds = lease_seconds(&mut dead, &directory)?;
    let file = dead.create(&directory, "f")?;
    hold(&mut dead, &file, share_access::BOTH, share_deny::BOTH)?;
    bench.restart(Remembered::Recorded)?;
    let mut other = bench.client()?;
    let ask = || [op::put(&file.handle), open(share_access::BOTH, share_deny::NONE)];
    other.call(ask())?.fails(Status::GRACE)?;
    for _ in 0..seconds.saturating_add(5) {
        bench.pause(Duration::from_secs(1))?;
        other.renew()?;
    }
    other.call(ask())?.ok()?.done()
}
