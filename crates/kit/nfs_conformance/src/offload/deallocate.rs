use crate::prelude::*;

check! {
    /// DEALLOCATE zeroes exactly its range and leaves the size.
    691, "RFC 7862 §15.4", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let mut content = bench.content(41_060);
    let file = client.create_with(&directory, "f", &content)?;
    for (from, length) in [(4096_usize, 8192_usize), (100, 5000), (41_000, 60)] {
        let free = op::deallocate(&file.stateid, from as u64, length as u64);
        client.call([op::put(&file.handle), free])?.optional()?.ok()?;
        content[from..from + length].fill(0);
        client.expect_content(&file.handle, &content)?;
    }
    Ok(())
}
