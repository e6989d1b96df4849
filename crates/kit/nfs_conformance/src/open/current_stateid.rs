use crate::prelude::*;
use nfs::v4::open::{share_access, share_deny};

check! {
    /// OPEN, WRITE, READ and CLOSE in one compound use the current stateid; a new handle takes it away.
    463, "RFC 8881 §16.2.3.1.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let open = || op::open("f", share_access::BOTH, share_deny::NONE, op::unchecked(0o644));
    let now = Stateid::CURRENT;
    let write = op::write(&now, 0, Stable::FileSync, b"data");
    let operations = [op::put(&directory), open(), op::get_filehandle(), write, op::read(&now, 0, 4), op::close(&now)];
    let reply = client.call(operations)?.ok()?;
    let handle = take!(reply.result(2)?, Outcome::GetFilehandle);
    expect_bytes("data", &take!(reply.result(4)?, Outcome::Read).data, b"data")?;
    let reset = [op::put(&directory), open(), op::put(&handle), op::read(&now, 0, 4)];
    client.call(reset)?.fails(Status::BAD_STATEID)?.done()
}
