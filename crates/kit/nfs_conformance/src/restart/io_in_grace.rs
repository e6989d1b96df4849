use super::{hold, reclaim};
use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// I/O without an open goes on in the grace period, unless an open that can be reclaimed may deny it.
    751, "RFC 8881 §8.4.2.1"; choice, needs: [Restart]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    for denied in [false, true] {
        bench.restart(Remembered::Nobody)?;
        let (mut client, directory) = bench.place()?;
        let file = client.create(&directory, "f")?;
        client.write(&file, 0, b"before")?;
        let deny = if denied { share_deny::BOTH } else { share_deny::NONE };
        hold(&mut client, &file, share_access::BOTH, deny)?;
        bench.restart(Remembered::Recorded)?;
        let mut other = bench.client()?;
        let read = || [op::put(&file.handle), op::read(&Stateid::ANONYMOUS, 0, 6)];
        let write = || [op::put(&file.handle), op::write(&Stateid::ANONYMOUS, 0, Stable::FileSync, b"during")];
        if !denied {
            other.call(read())?.ok()?;
            other.call(write())?.ok()?;
            continue;
        }
        other.call(read())?.fails(Status::GRACE)?;
        other.call(write())?.fails(Status::GRACE)?;
        let mut client = bench.come_back(&client)?;
        let reply = client.call([op::put(&file.handle), reclaim(share_access::BOTH, deny)])?.ok()?;
        let stateid = take!(reply.last()?, Outcome::Open).stateid;
        client.call([op::reclaim_complete(false)])?.ok()?;
        let reply = client.call([op::put(&file.handle), op::read(&stateid, 0, 6)])?.ok()?;
        expect_bytes("content", &take!(reply.last()?, Outcome::Read).data, b"before")?;
        other.call(read())?.fails(Status::LOCKED)?;
    }
    Ok(())
}
