use crate::prelude::*;
use nfs::v4::locks::LockType;

check! {
    /// An owner replaces its own lock by one of the other kind, in whole or in part.
    493, "RFC 8881 §9.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let reply = client.call([op::put(&file.handle), op::lock(&file.stateid, "a", LockType::Write, 0, 100)])?.ok()?;
    let held = take!(reply.last()?, Outcome::Lock);
    client.call([op::put(&file.handle), op::lock_more(&held, LockType::Read, 20, 10)])?.ok()?;
    let mut other = bench.client()?;
    for (offset, free) in [(19, false), (20, true), (29, true), (30, false)] {
        let reply = other.call([op::put(&file.handle), op::lock_test("b", LockType::Read, offset, 1)])?;
        expect_equal(&format!("byte {offset} is free to read"), reply.status().is_ok(), free)?;
    }
    Ok(())
}
