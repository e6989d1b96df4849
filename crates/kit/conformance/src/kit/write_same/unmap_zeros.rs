use super::super::prelude::*;

check! {
    /// WRITE SAME (16) with UNMAP of zeros reads as zeros and frees the space.
    106, "SBC-3 §5.46, §4.7.3.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let data = bench.pattern(2048);
    bench.write(A, lba, &data)?;
    expect_equal("provisioning status after a WRITE", provisioning(bench, A, lba)?, MAPPED)?;
    bench.send_data(A, cdb::write_same16(lba, 2048, true, false), vec![0; BLOCK])?.good()?;
    bench.expect_content(other_path(bench), lba, &vec![0; 2048 * BLOCK])?;
    expect_equal("provisioning status after WRITE SAME with UNMAP", provisioning(bench, A, lba)?, DEALLOCATED)?;
    Ok(())
}
