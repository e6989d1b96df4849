use crate::prelude::*;

check! {
    /// CLONE of a whole file shares its content; a write to either leaves the other as it was.
    620, "RFC 7862 §15.13", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let content = bench.content(41_060);
    let source = client.create_with(&directory, "f", &content)?;
    let target = client.create(&directory, "g")?;
    let clone = op::clone(&source.stateid, &target.stateid, 0, 0, 0);
    client.call([op::put(&source.handle), op::save(), op::put(&target.handle), clone])?.optional()?.ok()?;
    client.expect_content(&target.handle, &content)?;
    client.write(&target, 5, b"target")?;
    client.expect_content(&source.handle, &content)?;
    client.write(&source, 5000, b"source")?;
    let mut expected = content;
    expected[5..11].copy_from_slice(b"target");
    client.expect_content(&target.handle, &expected)
}
