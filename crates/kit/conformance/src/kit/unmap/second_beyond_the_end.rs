use super::super::prelude::*;

check! {
    /// UNMAP with a second descriptor beyond the end is out of range and unmaps nothing.
    116, "SBC-3 §5.28", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(8)?;
    let old = bench.pattern(8);
    bench.write(A, lba, &old)?;
    let capacity = bench.capacity(A)?;
    unmap(bench, A, &[(lba, 8), (capacity - 1, 2)])?.check_condition(0x05, 0x21, 0x00)?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
