use super::super::prelude::*;

check! {
    /// RESERVE, READ, WRITE, TEST UNIT READY and MODE SENSE of another nexus conflict.
    131, "SPC-2 §5.5.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let data = bench.pattern(1);
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.ask(B, cdb::padded(&[0x16]))?.conflict()?;
    bench.fetch(B, cdb::read16(lba, 1), 512)?.conflict()?;
    bench.send_data(B, cdb::write16(lba, 1, false), data)?.conflict()?;
    bench.ask(B, cdb::test_unit_ready())?.conflict()?;
    bench.fetch(B, cdb::mode_sense6(0x3F), 255)?.conflict()?;
    bench.ask(A, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
