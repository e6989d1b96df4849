//! EXTENDED COPY to a logical unit that another nexus has reserved is a reservation conflict.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 90,
    name: "extended_copy/receiver_reserved",
    section: "SPC-2 §5.5.1",
    asks: "EXTENDED COPY to a logical unit that another nexus has reserved is a reservation conflict.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let list = within(bench, lba, lba + 2048, 8)?;
    bench.ask(B, cdb::padded(&[0x16]))?.good()?;
    copy(bench, A, list)?.conflict()?;
    bench.ask(B, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
