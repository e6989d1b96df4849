use super::super::prelude::*;

check! {
    /// UNMAP with more descriptors than are announced is refused and unmaps nothing.
    114, "SBC-3 §5.28, §6.6.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let most = bench.fetch(A, cdb::inquiry(Some(0xB0), 64), 64)?.good()?.number(24, 4)?;
    if most >= 4095 {
        return skipped("more descriptors than announced do not fit into a parameter list");
    }
    let lba = bench.scratch(most + 1)?;
    let old = bench.pattern(usize::try_from(most + 1).unwrap_or(0));
    bench.write(A, lba, &old)?;
    let ranges: Vec<_> = (lba..=lba + most).map(|at| (at, 1)).collect();
    unmap(bench, A, &ranges)?.check_condition(0x05, 0x26, 0x00)?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
