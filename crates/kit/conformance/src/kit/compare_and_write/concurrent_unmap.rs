use super::super::prelude::*;

check! {
    /// With an UNMAP of the block at the same time the result is that of one of the two orders.
    49, "SBC-3 §5.2, §5.28", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    for _ in 0..100 {
        let (old, new) = (bench.pattern(1), bench.pattern(1));
        bench.write(A, lba, &old)?;
        let list = TransferRequest::Out(cdb::unmap_list(&[(lba, 1)]).into());
        let unmap = bench.submit(B, cdb::unmap(24), list)?;
        let task = submit(bench, A, lba, &old, &new)?;
        bench.wait(unmap)?.good()?;
        won(bench.wait(task)?)?;
        bench.expect_content(A, lba, &[0; BLOCK])?;
    }
    Ok(())
}
