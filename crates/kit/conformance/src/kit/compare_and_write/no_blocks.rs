use super::super::prelude::*;

check! {
    /// COMPARE AND WRITE of no blocks does nothing and succeeds.
    40, "SBC-3 §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    bench.ask(A, cdb::compare_and_write(lba, 0))?.good()?;
    Ok(())
}
