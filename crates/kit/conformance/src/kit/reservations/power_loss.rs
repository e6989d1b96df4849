use super::super::prelude::*;

check! {
    /// With APTPL registrations and reservation outlast a restart.
    140, "SPC-4 §5.13.5", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.send_data(A, pr::out_cdb(0x00, 0), pr::out_list(0, 0xA, true))?.good()?;
    pr::out(bench, A, 0x01, 7, 0xA, 0)?.good()?;
    bench.hook(&["restart"])?;
    bench.cut_all();
    pr::read_in(bench, A, 0x00)?.good()?.bytes(4, &[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0xA])?;
    pr::read_in(bench, A, 0x01)?.good()?.bytes(21, &[0x07])?;
    pr::out(bench, A, 0x03, 0, 0xA, 0)?.good()?;
    Ok(())
}
