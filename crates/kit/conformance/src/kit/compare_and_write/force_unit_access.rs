use super::super::prelude::*;

check! {
    /// FUA is accepted where DPOFUA is announced, and refused otherwise.
    45, "SBC-3 §5.2, §6.5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let announced = bench.fetch(A, cdb::mode_sense6(0x3F), 255)?.good()?.number(2, 1)? & 0x10 != 0;
    let lba = bench.scratch(1)?;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    let mut cdb = cdb::compare_and_write(lba, 1);
    cdb[1] |= 0x08;
    let answer = bench.send_data(A, cdb, [old, new].concat())?;
    if announced {
        answer.good()?;
    } else {
        answer.check_condition(0x05, 0x24, 0x00)?;
    }
    Ok(())
}
