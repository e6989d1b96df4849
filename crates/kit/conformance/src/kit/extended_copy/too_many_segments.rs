//! More segment descriptors than announced are refused.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 70,
    name: "extended_copy/too_many_segments",
    section: "SPC-4 §6.3.1",
    asks: "More segment descriptors than announced are refused.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let most = parameters(bench)?.number(10, 2)?;
    if most >= 4096 {
        return skipped("more segments than announced make an excessive list");
    }
    let naa = naa(bench, A)?;
    let segment = CopySegment { source: 0, destination: 0, source_lba: 0, destination_lba: 0, blocks: 0 };
    let list = cdb::extended_copy_list(&[naa], &vec![segment; usize::try_from(most + 1).unwrap_or(0)]);
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x08)?;
    Ok(())
}
