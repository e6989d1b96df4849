use super::super::prelude::*;
use super::support::{block_limit, sizes};

check! {
    /// COMPARE AND WRITE of every length up to MAXIMUM COMPARE AND WRITE LENGTH compares and writes
    /// all of it; one block more is refused.
    224, "SBC-3 §5.2, §6.6.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let most = block_limit(bench, 5, 1)?;
    expect(most > 0, || "MAXIMUM COMPARE AND WRITE LENGTH: expected 1 or more, found 0".into())?;
    let lba = bench.scratch(512)?;
    for blocks in sizes(bench, most) {
        bench.check_stopped()?;
        let count = usize::try_from(blocks).unwrap_or(0);
        let (old, new) = (bench.pattern(count + 1), bench.pattern(count));
        bench.write(A, lba, &old)?;
        let (compared, behind) = old.split_at(count * BLOCK);
        // The last byte differs: the miscompare is found there, and nothing is written.
        let mut other = compared.to_vec();
        if let Some(last) = other.last_mut() {
            *last ^= 1;
        }
        let at = u32::try_from(compared.len() - 1).unwrap_or(u32::MAX);
        caw(bench, A, lba, &other, &new)?.check_condition(0x0E, 0x1D, 0x00)?.information(at)?;
        bench.expect_content(A, lba, &old)?;
        caw(bench, A, lba, compared, &new)?.good()?;
        bench.expect_content(A, lba, &[&new[..], behind].concat())?;
    }
    let Some(blocks) = u8::try_from(most).ok().and_then(|most| most.checked_add(1)) else { return Ok(()) };
    let count = usize::from(blocks);
    let (old, new) = (bench.pattern(count), bench.pattern(count));
    bench.write(A, lba, &old)?;
    let answer = bench.send_data(A, cdb::compare_and_write(lba, blocks), [old.clone(), new].concat())?;
    answer.check_condition(0x05, 0x24, 0x00)?;
    bench.expect_content(A, lba, &old)
}
