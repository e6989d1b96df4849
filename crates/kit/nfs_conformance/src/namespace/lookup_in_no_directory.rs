use crate::prelude::*;

check! {
    /// LOOKUP in a symbolic link is SYMLINK, in a file NOTDIR.
    360, "RFC 8881 §18.13"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let link = client.make_link(&directory, b"l", b"target")?;
    let file = client.create(&directory, "f")?;
    client.call([op::put(&link), op::lookup("x")])?.fails(Status::SYMLINK)?;
    client.call([op::put(&file.handle), op::lookup("x")])?.fails(Status::NOTDIR)?.done()
}
