use super::super::prelude::*;

check! {
    /// REPORT CAPABILITIES: persistence through power loss, and the type write exclusive, all
    /// registrants.
    141, "SPC-4 §6.15.4", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = pr::read_in(bench, A, 0x02)?.good()?;
    answer.bytes(0, &[0, 8])?.masked(2, 0x01, 0x01)?.masked(3, 0x80, 0x80)?.masked(4, 0x80, 0x80)?;
    Ok(())
}
