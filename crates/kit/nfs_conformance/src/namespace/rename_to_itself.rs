use crate::prelude::*;

check! {
    /// RENAME between two names of one file changes nothing.
    382, "RFC 8881 §18.26"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "a")?;
    client.call([op::put(&file.handle), op::save(), op::put(&directory), op::link("b")])?.ok()?;
    client.call([op::put(&directory), op::save(), op::rename("a", "b")])?.ok()?;
    expect_equal("names", client.names(&directory)?, vec![b"a".to_vec(), b"b".to_vec()])?;
    expect_equal("links", client.facts(&file.handle)?.links, 2)
}
