use crate::prelude::*;

check! {
    /// LOOKUPP goes to the parent; from the root it is NOENT, from a file NOTDIR.
    363, "RFC 8881 §18.14"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let inner = client.make_directory(&directory, b"d")?;
    let file = client.create(&inner, "f")?;
    let reply = client.call([op::put(&inner), op::lookup_parent(), op::get_filehandle()])?.ok()?;
    expect_equal("parent", take!(reply.last()?, Outcome::GetFilehandle), directory)?;
    client.call([op::put_root(), op::lookup_parent()])?.fails(Status::NOENT)?;
    client.call([op::put(&file.handle), op::lookup_parent()])?.fails(Status::NOTDIR)?.done()
}
