use crate::prelude::*;
use nfs::v4::names::CreateType;

check! {
    /// A failed operation ends the compound: its status is that of the compound.
    207, "RFC 8881 §16.2"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let create = |name| op::create(CreateType::Directory, name, Fattr::none());
    let operations =
        [op::put(&directory), create("before"), op::put(&directory), op::lookup("missing"), create("behind")];
    client.call(operations)?.fails_at(3, &[Status::NOENT])?;
    expect_equal("names", client.names(&directory)?, vec![b"before".to_vec()])
}
