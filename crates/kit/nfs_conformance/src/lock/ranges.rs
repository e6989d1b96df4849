use crate::prelude::*;
use nfs::v4::locks::LockType;

check! {
    /// A length of 0 and a range beyond 2^64 are INVAL.
    494, "RFC 8881 §18.10.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    for (offset, length) in [(0, 0), (u64::MAX - 10, 100)] {
        let lock = op::lock(&file.stateid, "owner", LockType::Write, offset, length);
        client.call([op::put(&file.handle), lock])?.fails(Status::INVAL)?;
    }
    Ok(())
}
