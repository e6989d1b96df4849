//! A READ beside COMPARE AND WRITE commands finds a whole image, never a mixture.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 47,
    name: "compare_and_write/concurrent_read",
    section: "SBC-3 §5.2",
    asks: "A READ beside COMPARE AND WRITE commands finds a whole image, never a mixture.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let mut old = bench.pattern(1);
    bench.write(A, lba, &old)?;
    for _ in 0..200 {
        bench.go_on()?;
        let new = bench.pattern(1);
        let task = submit(bench, A, lba, &old, &new)?;
        let read = bench.submit(B, cdb::read16(lba, 1), TransferRequest::In(512))?;
        let found = bench.wait(read)?.good()?;
        bench.wait(task)?.good()?;
        let whole = found.data()[..] == old[..] || found.data()[..] == new[..];
        expect(whole, || format!("expected the old or the new image, found a mixture: {}", hex(found.data())))?;
        old = new;
    }
    Ok(())
}
