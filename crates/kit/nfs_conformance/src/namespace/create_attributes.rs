use crate::prelude::*;
use nfs::v4::names::CreateType;

check! {
    /// CREATE with a read-only attribute is INVAL, with an unsupported one ATTRNOTSUPP; nothing is created.
    371, "RFC 8881 §18.4"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let fileid = Fattr::new([Attribute::Fileid(7)]);
    let unknown = Fattr { mask: Bitmap::new([100]), values: vec![0; 4].into() };
    for (attributes, status) in [(fileid, Status::INVAL), (unknown, Status::ATTRNOTSUPP)] {
        client.call([op::put(&directory), op::create(CreateType::Directory, "d", attributes)])?.fails(status)?;
    }
    expect_equal("names", client.names(&directory)?.len(), 0)
}
