use super::super::prelude::*;

check! {
    /// OPERATING PARAMETERS with an allocation length of 8 keep their AVAILABLE DATA.
    94, "SPC-4 §6.26", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let whole = parameters(bench)?;
    let answer = bench.fetch(A, cdb::receive_copy_results(3, 0, 8), 8)?.good()?.length(8)?;
    answer.bytes(0, whole.data().get(..8).unwrap_or_default())?;
    Ok(())
}
