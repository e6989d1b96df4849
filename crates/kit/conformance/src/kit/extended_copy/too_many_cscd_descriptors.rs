use super::super::prelude::*;

check! {
    /// More CSCD descriptors than announced are refused.
    69, "SPC-4 §6.3.1, §7.7", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let most = parameters(bench)?.number(8, 2)?;
    if most >= 2047 {
        return skipped("more CSCD descriptors than announced do not fit into a list");
    }
    let naa = naa(bench, A)?;
    let list = cdb::extended_copy_list(&vec![naa; usize::try_from(most + 1).unwrap_or(0)], &[]);
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x06)?;
    Ok(())
}
