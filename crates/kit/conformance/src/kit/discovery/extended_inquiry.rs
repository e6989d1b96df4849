use super::super::prelude::*;

check! {
    /// VPD page 86h: head of queue, ordered and simple task attributes.
    13, "SPC-4 §7.8.7", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::inquiry(Some(0x86), 255), 255)?.good()?.bytes(1, &[0x86, 0x00, 0x3C])?.masked(5, 0x07, 0x07)?;
    Ok(())
}
