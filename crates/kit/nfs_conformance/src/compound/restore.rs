use crate::prelude::*;
use nfs::v4::open::{OpenHow, share_access, share_deny};

check! {
    /// RESTOREFH brings back the saved handle and its current stateid.
    220, "RFC 8881 §16.2.3.1.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"content")?;
    let open = op::open("f", share_access::READ, share_deny::NONE, OpenHow::NoCreate);
    let operations = [
        op::put(&directory),
        open,
        op::save(),
        op::put_root(),
        op::restore(),
        op::get_filehandle(),
        op::read(&Stateid::CURRENT, 0, 7),
    ];
    let reply = client.call(operations)?.ok()?;
    expect_equal("handle", take!(reply.result(5)?, Outcome::GetFilehandle), file.handle)?;
    expect_bytes("data", &take!(reply.last()?, Outcome::Read).data, b"content")
}
