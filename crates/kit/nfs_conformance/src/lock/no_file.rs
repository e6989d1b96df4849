use crate::prelude::*;
use nfs::v4::locks::LockType;

check! {
    /// LOCKT in a directory is ISDIR.
    502, "RFC 8881 §18.11"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let test = op::lock_test("a", LockType::Write, 0, 10);
    client.call([op::put(&directory), test])?.fails_with(&[Status::ISDIR, Status::WRONG_TYPE])?.done()
}
