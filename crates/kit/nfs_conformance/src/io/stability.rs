use crate::prelude::*;

check! {
    /// WRITE is at least as durable as asked, and all verifiers of a run are equal, that of COMMIT too.
    527, "RFC 8881 §18.3, §18.32"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let mut verifiers = Vec::new();
    for stable in [Stable::Unstable, Stable::DataSync, Stable::FileSync] {
        let reply = client.call([op::put(&file.handle), op::write(&file.stateid, 0, stable, b"data")])?.ok()?;
        let written = take!(reply.last()?, Outcome::Write);
        expect_equal("count", written.count_bytes, 4)?;
        expect(written.committed >= stable, || format!("expected {stable:?}, found {:?}", written.committed))?;
        verifiers.push(written.verifier);
    }
    let reply = client.call([op::put(&file.handle), op::commit(0, 0)])?.ok()?;
    verifiers.push(take!(reply.last()?, Outcome::Commit));
    verifiers.dedup();
    expect_equal("number of verifiers", verifiers.len(), 1)?;
    client.expect_content(&file.handle, b"data")
}
