use crate::prelude::*;

check! {
    /// CLONE within a file is INVAL if the ranges overlap, and works if they do not.
    626, "RFC 7862 §15.13.3", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let mut content = bench.content(32_768);
    let file = client.create_with(&directory, "f", &content)?;
    let mut clone = |from, to, count| {
        let clone = op::clone(&file.stateid, &file.stateid, from, to, count);
        client.call([op::put(&file.handle), op::save(), op::put(&file.handle), clone])
    };
    clone(0, 4096, 8192)?.optional()?.fails(Status::INVAL)?;
    clone(0, 16_384, 8192)?.ok()?;
    content.copy_within(0..8192, 16_384);
    client.expect_content(&file.handle, &content)
}
