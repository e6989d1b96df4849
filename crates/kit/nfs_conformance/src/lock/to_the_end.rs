use crate::prelude::*;
use nfs::v4::locks::LockType;

check! {
    /// A length of 2^64 - 1 locks up to the end of all files.
    495, "RFC 8881 §18.10.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.call([op::put(&file.handle), op::lock(&file.stateid, "a", LockType::Write, 100, u64::MAX)])?.ok()?;
    let mut other = bench.client()?;
    for (offset, free) in [(99, true), (100, false), (1 << 62, false)] {
        let reply = other.call([op::put(&file.handle), op::lock_test("b", LockType::Write, offset, 1)])?;
        expect_equal(&format!("byte {offset} is free"), reply.status().is_ok(), free)?;
    }
    Ok(())
}
