use crate::prelude::*;
use nfs::v4::names::CreateType;

check! {
    /// An operation that cannot be decoded is BADXDR; those before it take effect, those behind it do not.
    206, "RFC 8881 §15.1.1.1"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let create = |name| op::create(CreateType::Directory, name, Fattr::none());
    let bad = op::raw(22, |writer| writer.u32(129));
    let reply = client.call([op::put(&directory), create("before"), op::put(&directory), bad])?;
    reply.fails(Status::BADXDR)?;
    // A word that belongs to no operation follows.
    let bad = op::raw(22, |writer| {
        writer.u32(129);
        writer.fixed(&[0; 132]);
    });
    let behind = [op::put(&directory), bad, op::put(&directory), create("behind")];
    client.call(behind)?.fails_at(1, &[Status::BADXDR])?;
    expect_equal("names", client.names(&directory)?, vec![b"before".to_vec()])
}
