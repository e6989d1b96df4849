use super::super::prelude::*;

check! {
    /// ATA PASS-THROUGH (16), which the SMART daemon of ESXi sends, is an invalid operation code,
    /// and the connection stays.
    24, "SPC-4 §4.5", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::padded(&[0x85, 0x08, 0x0E, 0, 0, 0, 1]), 512)?.check_condition(0x05, 0x20, 0x00)?;
    bench.ask(A, cdb::test_unit_ready())?.good()?;
    Ok(())
}
