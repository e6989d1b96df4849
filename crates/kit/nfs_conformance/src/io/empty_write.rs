use crate::prelude::*;

check! {
    /// WRITE of no bytes succeeds and changes nothing.
    528, "RFC 8881 §18.32"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create_with(&directory, "f", b"content")?;
    let before = client.facts(&file.handle)?;
    let reply = client.call([op::put(&file.handle), op::write(&file.stateid, 0, Stable::FileSync, b"")])?.ok()?;
    expect_equal("count", take!(reply.last()?, Outcome::Write).count_bytes, 0)?;
    expect_equal("attributes", client.facts(&file.handle)?, before)
}
