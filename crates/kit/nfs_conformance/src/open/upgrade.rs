use crate::prelude::*;
use nfs::v4::open::share_access;

check! {
    /// A second OPEN by the same owner adds its access under the same stateid with the next sequence id.
    446, "RFC 8881 §9.10"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.close(&file)?;
    let first = client.open_existing(&directory, "f", share_access::READ)?;
    client
        .call([op::put(&first.handle), op::write(&first.stateid, 0, Stable::FileSync, b"x")])?
        .fails(Status::OPENMODE)?;
    let second = client.open_existing(&directory, "f", share_access::WRITE)?;
    let wanted = Stateid { seqid: first.stateid.seqid + 1, ..first.stateid };
    expect_equal("stateid", second.stateid, wanted)?;
    client.write(&second, 0, b"x")?;
    client.expect_content(&second.handle, b"x")
}
