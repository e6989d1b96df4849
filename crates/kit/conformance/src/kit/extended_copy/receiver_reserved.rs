use super::super::prelude::*;

check! {
    /// EXTENDED COPY to a logical unit that another nexus has reserved is a reservation conflict.
    90, "SPC-2 §5.5.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let list = within(bench, lba, lba + 2048, 8)?;
    bench.ask(B, cdb::padded(&[0x16]))?.good()?;
    copy(bench, A, list)?.conflict()?;
    bench.ask(B, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
