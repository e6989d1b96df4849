use super::super::prelude::*;

check! {
    /// An unknown mode page is refused.
    23, "SPC-4 §6.13", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::mode_sense6(0x2B), 255)?.check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
