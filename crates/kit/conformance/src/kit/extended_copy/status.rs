use super::super::prelude::*;

check! {
    /// COPY STATUS after a copy with LIST ID USAGE 00b reports one processed segment.
    96, "SPC-4 §6.24", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let mut list = within(bench, lba, lba + 2048, 8)?;
    (list[0], list[1]) = (0x21, 0x00);
    copy(bench, A, list)?.good()?;
    let answer = bench.fetch(A, cdb::receive_copy_results(0, 0x21, 255), 255)?.good()?;
    answer.bytes(0, &[0, 0, 0, 8])?.masked(4, 0x7F, 0x01)?.bytes(5, &[0, 1])?;
    Ok(())
}
