use crate::prelude::*;

check! {
    /// CLONE of a range that is not aligned to clone_blksize is INVAL and changes nothing.
    622, "RFC 7862 §15.13.3", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let content = bench.content(41_060);
    let source = client.create_with(&directory, "f", &content)?;
    let target = client.create_with(&directory, "g", b"old")?;
    for (from, to, count) in [(1, 0, 4096), (0, 1, 4096), (0, 0, 5000), (0, 0, 1 << 20)] {
        let clone = op::clone(&source.stateid, &target.stateid, from, to, count);
        let call = [op::put(&source.handle), op::save(), op::put(&target.handle), clone];
        client.call(call)?.optional()?.fails(Status::INVAL)?;
    }
    client.expect_content(&target.handle, b"old")
}
