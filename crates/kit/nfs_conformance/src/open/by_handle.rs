use crate::prelude::*;
use nfs::v4::open::{OpenClaim, OpenHow, share_access, share_deny};

check! {
    /// OPEN with CLAIM_FH opens the current file.
    442, "RFC 8881 §18.16.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"content")?;
    let open = op::open_as("other", share_access::READ, share_deny::NONE, OpenHow::NoCreate, OpenClaim::Filehandle);
    let opened = client.open(&file.handle, open)?;
    let reply = client.call([op::put(&file.handle), op::read(&opened.stateid, 0, 7)])?.ok()?;
    expect_bytes("data", &take!(reply.last()?, Outcome::Read).data, b"content")
}
