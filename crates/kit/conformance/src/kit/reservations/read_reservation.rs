use super::super::prelude::*;

check! {
    /// READ RESERVATION of an all registrants reservation has key 0, scope 0 and type 7.
    138, "SPC-4 §6.15.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    pr::reserve_for_all_registrants(bench)?;
    let answer = pr::read_in(bench, A, 0x01)?.good()?;
    answer.bytes(4, &[0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0])?.bytes(21, &[0x07])?;
    pr::out(bench, A, 0x03, 0, 0xA, 0)?.good()?;
    Ok(())
}
