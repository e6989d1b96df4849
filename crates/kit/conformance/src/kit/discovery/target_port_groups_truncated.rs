use super::super::prelude::*;

check! {
    /// REPORT TARGET PORT GROUPS with an allocation length of 4 gives the whole length.
    27, "SPC-4 §6.37", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let whole = port_groups(bench, A)?;
    let answer = bench.fetch(A, cdb::padded(&[0xA3, 0x0A, 0, 0, 0, 0, 0, 0, 0, 4]), 4)?.good()?.length(4)?;
    answer.bytes(0, whole.get(..4).unwrap_or_default())?;
    Ok(())
}
