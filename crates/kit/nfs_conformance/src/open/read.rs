use crate::prelude::*;
use nfs::v4::open::share_access;

check! {
    /// OPEN of a file gives a stateid with sequence id 1, locks as POSIX has them, and nothing to confirm.
    430, "RFC 8881 §18.16"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.close(&file)?;
    let file = client.open_existing(&directory, "f", share_access::READ)?;
    expect_equal("sequence id", file.stateid.seqid, 1)?;
    expect(file.ok.flags & 4 != 0, || "flags: expected OPEN4_RESULT_LOCKTYPE_POSIX".into())?;
    expect_equal("OPEN4_RESULT_CONFIRM", file.ok.flags & 2, 0)
}
