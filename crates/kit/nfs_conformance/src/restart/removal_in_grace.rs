use super::hold;
use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// A file that may be open for a client keeps its names in the grace period.
    757, "RFC 8881 §8.4.2.1"; choice, needs: [Restart]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.restart(Remembered::Nobody)?;
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    hold(&mut client, &file, share_access::BOTH, share_deny::NONE)?;
    let other = client.create(&directory, "g")?;
    client.close(&other)?;
    client.make_directory(&directory, b"d")?;
    bench.restart(Remembered::Recorded)?;
    let mut other = bench.client()?;
    other.call([op::put(&directory), op::remove("f")])?.fails(Status::GRACE)?;
    let rename = [op::put(&directory), Operation::SaveFilehandle, op::rename("g", "f")];
    other.call(rename)?.fails(Status::GRACE)?;
    // What cannot be open can go.
    other.call([op::put(&directory), op::remove("d")])?.ok()?;
    let mut client = bench.come_back(&client)?;
    client.call([op::reclaim_complete(false)])?.ok()?;
    other.call([op::put(&directory), op::remove("f")])?.ok()?.done()
}
