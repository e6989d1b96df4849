use crate::prelude::*;

check! {
    /// RENAME of a directory to another parent moves its link from one to the other.
    387, "RFC 8881 §18.26"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let [a, b] = [client.make_directory(&directory, b"a")?, client.make_directory(&directory, b"b")?];
    let moved = client.make_directory(&a, b"d")?;
    client.call([op::put(&a), op::save(), op::put(&b), op::rename("d", "d")])?.ok()?;
    let reply = client.call([op::put(&moved), op::lookup_parent(), op::get_filehandle()])?.ok()?;
    expect_equal("parent", take!(reply.last()?, Outcome::GetFilehandle), b.clone())?;
    expect_equal("links", [client.facts(&a)?.links, client.facts(&b)?.links], [2, 3])
}
