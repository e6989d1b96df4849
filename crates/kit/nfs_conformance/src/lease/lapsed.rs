use crate::prelude::*;
use nfs::v4::open::{OpenHow, share_access, share_deny};

check! {
    /// A client whose lease has lapsed gives way to an OPEN that conflicts, and learns of it.
    315, "RFC 8881 §8.4.3", needs: [Thorough]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let held = client.open(&directory, op::open("f", share_access::BOTH, share_deny::BOTH, op::unchecked(0o666)))?;
    let found = client.attributes(&directory, &[10])?;
    let [Attribute::LeaseTime(seconds)] = found.as_slice() else {
        return failed(format!("GETATTR: expected lease_time, found {found:?}"));
    };
    let mut other = bench.client()?;
    let open = || op::open("f", share_access::BOTH, share_deny::NONE, OpenHow::NoCreate);
    other.call([op::put(&directory), open()])?.fails(Status::SHARE_DENIED)?;
    for _ in 0..seconds.saturating_add(5) {
        bench.pause(Duration::from_secs(1))?;
        other.renew()?;
    }
    other.open(&directory, open())?;
    let reply = client.call([op::put(&held.handle), op::read(&held.stateid, 0, 1)])?;
    reply.fails_somewhere(&[Status::EXPIRED, Status::BAD_STATEID, Status::BADSESSION, Status::ADMIN_REVOKED])?.done()
}
