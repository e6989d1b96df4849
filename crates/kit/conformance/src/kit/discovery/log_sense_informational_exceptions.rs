use super::super::prelude::*;

check! {
    /// LOG SENSE of page 2Fh answers with the page, or refuses the operation code or the field.
    25, "SPC-4 §6.8", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::padded(&[0x4D, 0, 0x6F, 0, 0, 0, 0, 0x01, 0x00]), 256)?;
    if answer.status() == GOOD {
        answer.masked(0, 0x3F, 0x2F)?;
    } else {
        answer.one_of(&[(0x05, 0x20, 0x00), (0x05, 0x24, 0x00)])?;
    }
    Ok(())
}
