use crate::prelude::*;
use nfs::v4::locks::LockType;
use nfs::v4::open::share_access;

check! {
    /// A write lock by an open for reading is OPENMODE.
    496, "RFC 8881 §18.10.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.close(&file)?;
    let file = client.open_existing(&directory, "f", share_access::READ)?;
    let lock = |kind| [op::put(&file.handle), op::lock(&file.stateid, "owner", kind, 0, 10)];
    client.call(lock(LockType::Write))?.fails(Status::OPENMODE)?;
    client.call(lock(LockType::Read))?.ok()?.done()
}
