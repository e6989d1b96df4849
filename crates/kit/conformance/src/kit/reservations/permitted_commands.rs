use super::super::prelude::*;

check! {
    /// INQUIRY, REQUEST SENSE and REPORT LUNS of another nexus do not conflict.
    132, "SPC-2 §5.5.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.fetch(B, cdb::inquiry(None, 96), 96)?.good()?;
    bench.fetch(B, cdb::padded(&[0x03, 0, 0, 0, 252]), 252)?.good()?;
    bench.fetch(B, cdb::report_luns(16_384), 16_384)?.good()?;
    bench.ask(A, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
