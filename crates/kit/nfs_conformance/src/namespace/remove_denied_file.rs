use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// REMOVE of a file that another client opened with deny both is FILE_OPEN.
    378, "RFC 8881 §18.25.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.open(&directory, op::open("f", share_access::BOTH, share_deny::BOTH, op::unchecked(0o644)))?;
    let mut other = bench.client()?;
    let reply = other.call([op::put(&directory), op::remove("f")])?;
    if reply.status().is_ok() {
        return differs("REMOVE: expected FILE_OPEN, found NFS4_OK");
    }
    reply.fails(Status::FILE_OPEN)?.done()
}
