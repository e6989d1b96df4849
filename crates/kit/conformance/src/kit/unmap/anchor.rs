use super::super::prelude::*;

check! {
    /// UNMAP with ANCHOR is refused where anchored blocks are not announced.
    119, "SBC-3 §5.28, §6.6.6", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let page = bench.fetch(A, cdb::inquiry(Some(0xB2), 64), 64)?.good()?;
    if page.number(5, 1)? & 0x02 != 0 {
        return skipped("ANC_SUP is 1: blocks can be anchored");
    }
    let lba = bench.scratch(8)?;
    let mut cdb = cdb::unmap(24);
    cdb[1] |= 0x01;
    bench.send_data(A, cdb, cdb::unmap_list(&[(lba, 8)]))?.check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
