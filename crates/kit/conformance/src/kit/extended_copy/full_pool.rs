use super::super::prelude::*;

check! {
    /// A copy without enough space ends with 07/27/07, direct or forwarded; one that needs no space
    /// succeeds.
    91, "SPC-4 §6.3.3; SBC-3 §4.7.3.6", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.rewind();
    let (lba, _) = source(bench, 64)?;
    with_full_pool(bench, |bench, unmapped| {
        let list = within(bench, lba, unmapped, 8)?;
        let answer = copy(bench, A, list)?;
        if answer.status() == GOOD { Ok(()) } else { answer.one_of(&[(0x07, 0x27, 0x07), (0x0A, 0x0D, 0x01)])?.done() }
    })?;
    Ok(())
}
