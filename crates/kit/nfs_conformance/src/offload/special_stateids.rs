use crate::prelude::*;

check! {
    /// ALLOCATE accepts the special stateids of WRITE.
    688, "RFC 7862 §15.1", needs: [MinorTwo]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (mut client, directory) = bench.place()?;
    let file = client.create(&directory, "f")?;
    client.close(&file)?;
    for (stateid, size) in [(Stateid::ANONYMOUS, 4096), (Stateid::READ_BYPASS, 8192)] {
        client.call([op::put(&file.handle), op::allocate(&stateid, 0, size)])?.optional()?.ok()?;
        expect_equal("size", client.facts(&file.handle)?.size_bytes, size)?;
    }
    Ok(())
}
