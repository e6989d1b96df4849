use super::super::prelude::*;
use super::support::{block_limit, sizes, unit_with};

check! {
    /// WRITE SAME (16) of zeros of every length up to MAXIMUM WRITE SAME LENGTH writes all of it
    /// and nothing else; one block more is refused.
    225, "SBC-3 §5.46, §6.6.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let most = block_limit(bench, 36, 8)?;
    if most == 0 || u32::try_from(most).is_err() {
        return skipped("MAXIMUM WRITE SAME LENGTH is no limit for the command");
    }
    // One block before the range, one behind it, and one for the refused command.
    let Some(path) = unit_with(bench, most + 3)? else {
        return skipped("MAXIMUM WRITE SAME LENGTH is no limit within these logical units");
    };
    for blocks in sizes(bench, most) {
        bench.check_stopped()?;
        let marks = [0, 1, blocks, blocks + 1];
        for lba in marks {
            let data = bench.pattern(1);
            bench.write(path, lba, &data)?;
        }
        let (before, behind) = (bench.read(path, 0, 1)?, bench.read(path, blocks + 1, 1)?);
        let count = u32::try_from(blocks).unwrap_or(u32::MAX);
        bench.send_data(path, cdb::write_same16(1, count, true, false), vec![0; BLOCK])?.good()?;
        bench.expect_content(path, 0, &before)?;
        for lba in [1, 1 + blocks / 2, blocks] {
            bench.expect_content(path, lba, &[0; BLOCK])?;
        }
        bench.expect_content(path, blocks + 1, &behind)?;
    }
    let Ok(blocks) = u32::try_from(most + 1) else { return Ok(()) };
    let data = bench.pattern(1);
    bench.write(path, 1, &data)?;
    bench
        .send_data(path, cdb::write_same16(1, blocks, true, false), vec![0; BLOCK])?
        .check_condition(0x05, 0x24, 0x00)?;
    bench.expect_content(path, 1, &data)
}
