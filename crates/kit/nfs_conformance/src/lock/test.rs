use crate::prelude::*;
use nfs::v4::locks::LockType;

check! {
    /// LOCKT of a free range and of the owner's own lock succeeds and takes nothing; of another's it is DENIED.
    497, "RFC 8881 §18.11"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let test = |name| [op::put(&file.handle), op::lock_test(name, LockType::Write, 0, 10)];
    client.call(test("b"))?.ok()?;
    client.call([op::put(&file.handle), op::lock(&file.stateid, "a", LockType::Write, 0, 10)])?.ok()?;
    client.call(test("a"))?.ok()?;
    client.call(test("b"))?.fails(Status::DENIED)?.done()
}
