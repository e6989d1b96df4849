use super::super::prelude::*;

check! {
    /// Mode page 1Ch/02h exists, or is refused as an invalid field: any other answer stops ESXi.
    22, "SBC-3 §6.5.7", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut cdb = cdb::mode_sense6(0x1C);
    cdb[3] = 0x02;
    let answer = bench.fetch(A, cdb, 255)?;
    if answer.status() == GOOD {
        answer.masked(4, 0x7F, 0x5C)?.bytes(5, &[0x02])?;
    } else {
        answer.check_condition(0x05, 0x24, 0x00)?;
    }
    Ok(())
}
