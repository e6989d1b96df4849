use crate::prelude::*;

check! {
    /// READ of a directory is ISDIR, of a symbolic link SYMLINK or INVAL.
    524, "RFC 8881 §18.22"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let link = client.make_link(&directory, b"l", b"target")?;
    let read = || op::read(&Stateid::ANONYMOUS, 0, 1);
    client.call([op::put(&directory), read()])?.fails(Status::ISDIR)?;
    client.call([op::put(&link), read()])?.fails_with(&[Status::SYMLINK, Status::INVAL, Status::WRONG_TYPE])?.done()
}
