//! Sizes to try, and a unit that is large enough.

use super::super::prelude::*;

/// Sizes from 1 to `limit`: the ends, and with `--thorough` powers of two and their neighbours. The
/// check itself adds the one above the limit.
pub fn sizes(bench: &Bench<'_>, limit: u64) -> Vec<u64> {
    let mut sizes = vec![1, 2, limit.saturating_sub(1), limit];
    if bench.options().thorough {
        let powers = (1..64).map(|shift| 1_u64 << shift).take_while(|power| *power <= limit);
        sizes.extend(powers.flat_map(|power| [power - 1, power, power + 1]));
    }
    sizes.retain(|size| (1..=limit).contains(size));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// First logical unit that has more than `blocks` blocks.
pub fn unit_with(bench: &mut Bench<'_>, blocks: u64) -> Result<Option<Path>, NotPassed> {
    if bench.capacity(A)? > blocks {
        return Ok(Some(A));
    }
    if bench.options().second_lun.is_some() && bench.capacity(A.second())? > blocks {
        return Ok(Some(A.second()));
    }
    Ok(None)
}

/// Number in the Block Limits page.
pub fn block_limit(bench: &mut Bench<'_>, at: usize, bytes: usize) -> Result<u64, NotPassed> {
    bench.fetch(A, cdb::inquiry(Some(0xB0), 64), 64)?.good()?.number(at, bytes)
}
