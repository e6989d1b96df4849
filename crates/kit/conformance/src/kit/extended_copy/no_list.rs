use super::super::prelude::*;

check! {
    /// PARAMETER LIST LENGTH 0 does nothing and succeeds.
    67, "SPC-4 §6.3.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::extended_copy(0))?.good()?;
    Ok(())
}
