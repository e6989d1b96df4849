use crate::prelude::*;
use nfs::v4::open::{OpenHow, share_access, share_deny};

check! {
    /// OPEN_DOWNGRADE to a part that was opened is in force for others; to what was not opened it is INVAL.
    449, "RFC 8881 §18.18"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.close(&file)?;
    let open = |access| op::open("f", access, share_deny::NONE, OpenHow::NoCreate);
    client.open(&directory, open(share_access::READ))?;
    let both = client.open(&directory, open(share_access::BOTH))?;
    let more = op::downgrade(&both.stateid, share_access::READ, share_deny::BOTH);
    client.call([op::put(&both.handle), more])?.fails(Status::INVAL)?;
    let reply = client.call([op::put(&both.handle), op::downgrade(&both.stateid, share_access::READ, 0)])?.ok()?;
    let left = take!(reply.last()?, Outcome::Downgrade);
    expect_equal("sequence id", left.seqid, both.stateid.seqid + 1)?;
    client.call([op::put(&both.handle), op::write(&left, 0, Stable::FileSync, b"x")])?.fails(Status::OPENMODE)?;
    let deny = op::open("f", share_access::READ, share_deny::WRITE, OpenHow::NoCreate);
    bench.client()?.open(&directory, deny).map(drop)
}
