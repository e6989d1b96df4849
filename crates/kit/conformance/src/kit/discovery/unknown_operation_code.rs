use super::super::prelude::*;

check! {
    /// An unknown operation code is refused.
    36, "SPC-4 §4.5", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0xE7]))?.check_condition(0x05, 0x20, 0x00)?;
    Ok(())
}
