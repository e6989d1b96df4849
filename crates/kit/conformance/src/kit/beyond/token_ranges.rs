use super::super::prelude::*;
use super::support::*;

check! {
    /// POPULATE TOKEN refuses a block in two ranges, a block beyond the end, no range, and more
    /// ranges than announced.
    219, "SBC-4 §5.10", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let capacity = bench.capacity(A)?;
    let good = populate_answer(bench, A, &[(0, 8)])?;
    if !is_there(&good) {
        return skipped("no POPULATE TOKEN");
    }
    good.good()?;
    populate_answer(bench, A, &[(0, 8), (7, 8)])?.check_condition(0x05, 0x26, 0x00)?;
    populate_answer(bench, A, &[(capacity - 1, 2)])?.check_condition(0x05, 0x21, 0x00)?;
    populate_answer(bench, A, &[])?.key(0x05)?;
    let descriptors = copy_descriptors(bench)?;
    let Some(limits) = descriptors.iter().find(|(kind, _)| *kind == 0x0000) else {
        return failed("VPD page 8Fh: expected a Block Device ROD Token Limits descriptor, found none");
    };
    let most = limits.1.get(6..8).map_or(0, |field| usize::from(field[0]) << 8 | usize::from(field[1]));
    let many: Vec<(u64, u32)> = (0..=most as u64).map(|index| (index * 2, 1)).collect();
    populate_answer(bench, A, &many[..most])?.good()?;
    populate_answer(bench, A, &many)?.one_of(&[(0x05, 0x26, 0x08), (0x05, 0x1A, 0x00)])?.done()
}
