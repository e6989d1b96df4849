use crate::prelude::*;

check! {
    /// ALLOCATE makes a file grow, and its range reads as zeros.
    680, "RFC 7862 §15.1", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.call([op::put(&file.handle), op::allocate(&file.stateid, 0, 1 << 20)])?.optional()?.ok()?;
    let facts = client.facts(&file.handle)?;
    expect_equal("size", facts.size_bytes, 1 << 20)?;
    expect(facts.used_bytes >= 1 << 20, || format!("space_used: expected at least 1 MiB, found {}", facts.used_bytes))?;
    client.expect_content(&file.handle, &vec![0; 1 << 20])
}
