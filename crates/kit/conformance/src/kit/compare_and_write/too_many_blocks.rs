use super::super::prelude::*;

check! {
    /// More blocks than MAXIMUM COMPARE AND WRITE LENGTH are refused with a pointer to byte 13.
    41, "SBC-3 §5.2, §6.6.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let most = bench.fetch(A, cdb::inquiry(Some(0xB0), 64), 64)?.good()?.number(5, 1)?;
    let Some(blocks) = u8::try_from(most).ok().and_then(|most| most.checked_add(1)) else {
        return skipped("MAXIMUM COMPARE AND WRITE LENGTH is 255: more cannot be requested");
    };
    let count = usize::from(blocks);
    let lba = bench.scratch(256)?;
    let (old, new) = (bench.pattern(count), bench.pattern(count));
    bench.write(A, lba, &old)?;
    let answer = bench.send_data(A, cdb::compare_and_write(lba, blocks), [old.clone(), new].concat())?;
    answer.check_condition(0x05, 0x24, 0x00)?.points_to_cdb(13)?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
