use crate::prelude::*;

check! {
    /// READLINK returns the target as it was stored; of a file or directory it is INVAL or WRONG_TYPE.
    374, "RFC 8881 §18.24"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let link = client.make_link(&directory, b"l", b"../some/\xc3\xa4 target")?;
    let reply = client.call([op::put(&link), op::read_link()])?.ok()?;
    expect_bytes("target", &take!(reply.last()?, Outcome::ReadLink), b"../some/\xc3\xa4 target")?;
    client.call([op::put(&directory), op::read_link()])?.fails_with(&[Status::WRONG_TYPE, Status::INVAL])?.done()
}
