use super::{hold, open, reclaim};
use crate::prelude::*;
use nfs::v4::locks::{LockArguments, LockType, Locker, OpenToLockOwner};
use nfs::v4::open::{share_access, share_deny};
use nfs::v4::session::sequence_status;

check! {
    /// Recorded clients reclaim opens, denials and locks; others wait until all of them have completed, and no longer.
    748, "RFC 8881 §8.4.2", needs: [Restart]
}

/// Time within which the grace period ends once nothing is left to reclaim.
const AT_ONCE: Duration = Duration::from_secs(5);

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.restart(Remembered::Nobody)?;
    let (mut one, directory) = bench.place()?;
    let mut two = bench.client()?;
    let file = one.create(&directory, "f")?;
    hold(&mut one, &file, share_access::BOTH, share_deny::WRITE)?;
    let other = two.create(&directory, "g")?;
    hold(&mut two, &other, share_access::READ, share_deny::NONE)?;

    bench.restart(Remembered::Recorded)?;
    let (mut one, mut two) = (bench.come_back(&one)?, bench.come_back(&two)?);
    expect_flag(&mut one, true)?;
    let reply = one.call([op::put(&file.handle), reclaim(share_access::BOTH, share_deny::WRITE)])?.ok()?;
    let stateid = take!(reply.last()?, Outcome::Open).stateid;
    let owner = OpenToLockOwner { open_seqid: 0, open_stateid: stateid, lock_seqid: 0, owner: op::owner("lock") };
    let lock = LockArguments {
        kind: LockType::Write,
        reclaim: true,
        offset_bytes: 10,
        length_bytes: 10,
        locker: Locker::New(owner),
    };
    one.call([op::put(&file.handle), Operation::Lock(Box::new(lock))])?.ok()?;
    one.call([op::reclaim_complete(false)])?.ok()?;
    expect_flag(&mut one, false)?;
    one.call([op::put(&file.handle), reclaim(share_access::BOTH, share_deny::WRITE)])?.fails(Status::NO_GRACE)?;
    // The other client has not completed.
    one.call([op::put(&other.handle), open(share_access::READ, share_deny::NONE)])?.fails(Status::GRACE)?;
    two.call([op::put(&other.handle), reclaim(share_access::READ, share_deny::NONE)])?.ok()?;
    two.call([op::reclaim_complete(false)])?.ok()?;
    let started = Instant::now();
    loop {
        let reply = two.call([op::put(&other.handle), open(share_access::READ, share_deny::NONE)])?;
        if reply.status() != Err(Status::GRACE) || started.elapsed() > AT_ONCE {
            reply.ok()?;
            break;
        }
        bench.pause(Duration::from_millis(100))?;
    }
    two.call([op::put(&file.handle), open(share_access::WRITE, share_deny::NONE)])?.fails(Status::SHARE_DENIED)?;
    two.call([op::put(&file.handle), op::lock_test("lock", LockType::Read, 15, 1)])?.fails(Status::DENIED)?.done()
}

/// Whether SEQUENCE asks a client to reclaim.
fn expect_flag(client: &mut Client, expected: bool) -> Verdict {
    let flags = client.renew()?.status_flags;
    expect_equal("RESTART_RECLAIM_NEEDED", flags & sequence_status::RESTART_RECLAIM_NEEDED != 0, expected)
}
