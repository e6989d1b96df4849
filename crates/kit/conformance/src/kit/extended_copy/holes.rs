use super::super::prelude::*;

check! {
    /// Unmapped blocks of the source read as zeros at the destination and take no space there.
    84, "SPC-4 §6.3; SBC-3 §4.7.3.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(4096)?;
    let data = bench.pattern(4096);
    bench.write(A, lba, &data)?;
    unmap(bench, A, &[(lba, 2048)])?.good()?;
    let list = within(bench, lba, lba + 2048, 2048)?;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A, lba + 2048, &vec![0; 2048 * BLOCK])?;
    expect_equal("provisioning status of the destination", provisioning(bench, A, lba + 2048)?, DEALLOCATED)?;
    Ok(())
}
