use super::super::prelude::*;

check! {
    /// MODE SENSE (6): caching, control and informational exceptions have the lengths of the
    /// standard.
    21, "SPC-4 §7.5; SBC-3 §6.5", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    for (page, length) in [(0x08, 0x12), (0x0A, 0x0A), (0x1C, 0x0A)] {
        let answer = bench.fetch(A, cdb::mode_sense6(page), 255)?.good()?;
        answer.masked(4, 0x3F, page)?.bytes(5, &[length])?;
    }
    Ok(())
}
