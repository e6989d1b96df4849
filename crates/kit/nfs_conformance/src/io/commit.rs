use crate::prelude::*;

check! {
    /// COMMIT of any range, also behind the end, succeeds with the verifier of WRITE; of a directory it fails.
    532, "RFC 8881 §18.3"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    let reply = client.call([op::put(&file.handle), op::write(&file.stateid, 0, Stable::Unstable, b"data")])?.ok()?;
    let written = take!(reply.last()?, Outcome::Write);
    for (offset, count) in [(0, 0), (2, 1), (1 << 30, 4096)] {
        let reply = client.call([op::put(&file.handle), op::commit(offset, count)])?.ok()?;
        expect_equal("verifier", take!(reply.last()?, Outcome::Commit), written.verifier)?;
    }
    client.call([op::put(&directory), op::commit(0, 0)])?.fails_with(&[Status::ISDIR, Status::WRONG_TYPE])?.done()
}
