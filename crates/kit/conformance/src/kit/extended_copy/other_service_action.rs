use super::super::prelude::*;

check! {
    /// EXTENDED COPY (LID4) works, or is refused: never a silent GOOD.
    97, "SPC-4 §4.5, §6.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.send_data(A, cdb::padded(&[0x83, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 48]), vec![0; 48])?;
    answer.key(0x05)?;
    Ok(())
}
