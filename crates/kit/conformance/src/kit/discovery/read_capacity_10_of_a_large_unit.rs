use super::super::prelude::*;

check! {
    /// READ CAPACITY (10) of a logical unit of more than 2^32 blocks returns FFFFFFFFh.
    17, "SBC-3 §5.15", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let path = if bench.capacity(A)? > 1 << 32 {
        A
    } else if bench.options().second_lun.is_some() && bench.capacity(A.second())? > 1 << 32 {
        A.second()
    } else {
        return skipped("no logical unit has more than 2^32 blocks");
    };
    bench.fetch(path, cdb::padded(&[0x25]), 8)?.good()?.length(8)?.bytes(0, &[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 2, 0])?;
    Ok(())
}
