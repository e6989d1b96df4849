use super::super::prelude::*;

check! {
    /// More segment descriptors than announced are refused.
    70, "SPC-4 §6.3.1", needs: [Writes]
}

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
