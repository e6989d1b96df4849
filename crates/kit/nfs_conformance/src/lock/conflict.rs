use crate::prelude::*;
use nfs::v4::locks::{LockFailure, LockType};

check! {
    /// A lock against another client's is DENIED with range, kind and owner of that one; shared locks go together.
    491, "RFC 8881 §18.10"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut one, directory) = bench.place()?;
    let mut two = bench.client()?;
    let first = one.create(&directory, "f")?;
    let second = two.create(&directory, "f")?;
    let reply = one.call([op::put(&first.handle), op::lock(&first.stateid, "one", LockType::Write, 0, 100)])?.ok()?;
    let held = take!(reply.last()?, Outcome::Lock);
    expect_equal("sequence id", held.seqid, 1)?;
    for kind in [LockType::Write, LockType::WriteWaiting, LockType::Read] {
        let reply = two.call([op::put(&second.handle), op::lock(&second.stateid, "two", kind, 50, 10)])?;
        match reply.fails(Status::DENIED)?.last()? {
            Outcome::Lock(Err(LockFailure::Denied(lock))) => {
                let found = (lock.offset_bytes, lock.length_bytes, lock.kind, lock.owner.owner.to_vec());
                expect_equal("lock", found, (0, 100, LockType::Write, b"one".to_vec()))?;
            }
            found => return failed(format!("expected a lock, found {found:?}")),
        }
    }
    one.call([op::put(&first.handle), op::unlock(&held, 0, 100)])?.ok()?;
    let read = |file: &Opened, name| [op::put(&file.handle), op::lock(&file.stateid, name, LockType::Read, 0, 9)];
    one.call(read(&first, "three"))?.ok()?;
    two.call(read(&second, "two"))?.ok()?.done()
}
