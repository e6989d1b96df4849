use super::super::prelude::*;

check! {
    /// With an EXTENDED COPY onto the block at the same time the result is that of one of the two
    /// orders.
    50, "SBC-3 §5.2; SPC-4 §6.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(4096)?;
    let naa = naa(bench, A)?;
    let source = bench.pattern(64);
    bench.write(A, lba + 2048, &source)?;
    let segment = CopySegment { source: 0, destination: 0, source_lba: lba + 2048, destination_lba: lba, blocks: 64 };
    for _ in 0..50 {
        let (old, new) = (bench.pattern(1), bench.pattern(1));
        bench.write(A, lba + 7, &old)?;
        let list = cdb::extended_copy_list(&[naa], &[segment]);
        let copy = bench.submit(B, cdb::extended_copy(list.len() as u32), TransferRequest::Out(list.into()))?;
        let task = submit(bench, A, lba + 7, &old, &new)?;
        bench.wait(copy)?.good()?;
        won(bench.wait(task)?)?;
        bench.expect_content(A, lba, &source)?;
    }
    Ok(())
}
