use super::super::prelude::*;

check! {
    /// INQUIRY with a short allocation length is truncated, keeps its ADDITIONAL LENGTH and reports
    /// the residual.
    2, "SPC-4 §4.2.5.6; RFC 7143 §11.4.5", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::inquiry(None, 5), 96)?.good()?;
    answer.length(5)?.bytes(4, &[0x5B])?.residual(91)?;
    Ok(())
}
