use crate::prelude::*;

check! {
    /// READ says eof when it reaches the end, also exactly, and at or behind it without data.
    521, "RFC 8881 §18.22"
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let content = bench.content(41_060);
    let file = client.create_with(&directory, "f", &content)?;
    for (offset, count, length, eof) in [
        (0_u64, 4096, 4096_usize, false),
        (36_864, 8192, 4196, true),
        (41_000, 60, 60, true),
        (41_060, 10, 0, true),
        (1 << 40, 10, 0, true),
        (0, 0, 0, false),
    ] {
        let reply = client.call([op::put(&file.handle), op::read(&file.stateid, offset, count)])?.ok()?;
        let read = take!(reply.last()?, Outcome::Read);
        expect_equal(
            &format!("length and eof of {count} bytes at {offset}"),
            (read.data.len(), read.eof),
            (length, eof),
        )?;
        let start = (offset as usize).min(content.len());
        expect_bytes("data", &read.data, content.get(start..start + length).unwrap_or_default())?;
    }
    Ok(())
}
