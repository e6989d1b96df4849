use super::super::prelude::*;

check! {
    /// GET LBA STATUS reports an unmapped range as unmapped, and the blocks around it as mapped.
    123, "SBC-3 §5.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(6144)?;
    let data = bench.pattern(6144);
    bench.write(A, lba, &data)?;
    unmap(bench, A, &[(lba + 2048, 2048)])?.good()?;
    for (at, expected) in [(lba, MAPPED), (lba + 2048, DEALLOCATED), (lba + 4096, MAPPED)] {
        expect_equal(&format!("provisioning status of LBA {at}"), provisioning(bench, A, at)?, expected)?;
    }
    Ok(())
}
