use super::super::prelude::*;

check! {
    /// RESERVE (6) while there are registrations conflicts; with CRH the holder gets GOOD without
    /// effect.
    142, "SPC-4 §5.13.1, §6.15.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let compatible = pr::read_in(bench, A, 0x02)?.good()?.number(2, 1)? & 0x10 != 0;
    pr::reserve_for_all_registrants(bench)?;
    bench.ask(C, cdb::padded(&[0x16]))?.conflict()?;
    let answer = bench.ask(A, cdb::padded(&[0x16]))?;
    if compatible {
        answer.good()?;
        bench.ask(B, cdb::test_unit_ready())?.good()?;
    } else {
        answer.conflict()?;
    }
    pr::out(bench, A, 0x03, 0, 0xA, 0)?.good()?;
    Ok(())
}
