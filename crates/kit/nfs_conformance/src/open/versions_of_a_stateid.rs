use crate::prelude::*;
use nfs::v4::open::share_access;

check! {
    /// A lower sequence id is OLD_STATEID, a higher one BAD_STATEID, and 0 stands for the current one.
    453, "RFC 8881 §8.2.2, §8.2.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"x")?;
    let again = client.open_existing(&directory, "f", share_access::BOTH)?;
    let mut read = |seqid| {
        let stateid = Stateid { seqid, ..again.stateid };
        client.call([op::put(&file.handle), op::read(&stateid, 0, 1)])
    };
    let seqid = again.stateid.seqid;
    expect(seqid > 1, || format!("sequence id: expected more than 1, found {seqid}"))?;
    read(seqid - 1)?.fails(Status::OLD_STATEID)?;
    read(seqid + 1)?.fails(Status::BAD_STATEID)?;
    read(0)?.ok()?;
    read(seqid)?.ok()?.done()
}
