use crate::prelude::*;
use nfs::v4::names::CreateType;

check! {
    /// CREATE of a regular file is BADTYPE, of an existing name EXIST, of a link without target INVAL.
    369, "RFC 8881 §18.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    client.make_directory(&directory, b"d")?;
    for (kind, name, status) in [
        (CreateType::Other(1), "f", Status::BADTYPE),
        (CreateType::Directory, "d", Status::EXIST),
        (CreateType::Link("".into()), "l", Status::INVAL),
    ] {
        client.call([op::put(&directory), op::create(kind, name, Fattr::none())])?.fails(status)?;
    }
    expect_equal("names", client.names(&directory)?, vec![b"d".to_vec()])
}
