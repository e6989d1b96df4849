//! VPD page 86h: head of queue, ordered and simple task attributes.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 13,
    name: "discovery/extended_inquiry",
    section: "SPC-4 §7.8.7",
    asks: "VPD page 86h: head of queue, ordered and simple task attributes.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::inquiry(Some(0x86), 255), 255)?.good()?.bytes(1, &[0x86, 0x00, 0x3C])?.masked(5, 0x07, 0x07)?;
    Ok(())
}
