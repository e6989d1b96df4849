use crate::prelude::*;

check! {
    /// COPY of more than the source has is INVAL.
    646, "RFC 7862 §15.2.3", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let source = client.create_with(&directory, "f", b"content")?;
    let target = client.create(&directory, "g")?;
    for (from, count) in [(0, 8), (8, 0), (4, 100)] {
        let copy = op::copy(&source.stateid, &target.stateid, from, 0, count);
        let call = [op::put(&source.handle), op::save(), op::put(&target.handle), copy];
        client.call(call)?.optional()?.fails(Status::INVAL)?;
    }
    client.expect_content(&target.handle, b"")
}
