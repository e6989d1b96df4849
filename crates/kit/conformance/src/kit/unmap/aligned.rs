use super::super::prelude::*;

check! {
    /// UNMAP of an aligned MiB reads as zeros on all paths and frees the space.
    112, "SBC-3 §5.28, §4.7.3.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let data = bench.pattern(2048);
    bench.write(A, lba, &data)?;
    unmap(bench, A, &[(lba, 2048)])?.good()?;
    bench.expect_content(A, lba, &vec![0; 2048 * BLOCK])?;
    bench.expect_content(other_path(bench), lba, &vec![0; 2048 * BLOCK])?;
    expect_equal("provisioning status after UNMAP", provisioning(bench, A, lba)?, DEALLOCATED)?;
    Ok(())
}
