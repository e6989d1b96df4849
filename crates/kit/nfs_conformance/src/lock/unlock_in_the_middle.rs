use crate::prelude::*;
use nfs::v4::locks::LockType;

check! {
    /// LOCKU in the middle of a lock leaves two.
    499, "RFC 8881 §18.12"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let reply = client.call([op::put(&file.handle), op::lock(&file.stateid, "a", LockType::Write, 0, 100)])?.ok()?;
    let held = take!(reply.last()?, Outcome::Lock);
    client.call([op::put(&file.handle), op::unlock(&held, 40, 20)])?.ok()?;
    let mut other = bench.client()?;
    for (offset, free) in [(0, false), (39, false), (40, true), (59, true), (60, false), (100, true)] {
        let reply = other.call([op::put(&file.handle), op::lock_test("b", LockType::Write, offset, 1)])?;
        expect_equal(&format!("byte {offset} is free"), reply.status().is_ok(), free)?;
    }
    Ok(())
}
