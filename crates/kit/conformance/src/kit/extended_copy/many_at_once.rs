use super::super::prelude::*;

check! {
    /// 256 copies of 4 MiB from four nexuses at once all succeed, and every nexus makes progress.
    99, "SPC-4 §6.3; SAM-5 §5.3", needs: [Writes, SecondPortal]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 8192)?;
    let target = bench.scratch(32_768)?;
    let naa = naa(bench, A)?;
    let mut tasks = Vec::new();
    for round in 0..64_u64 {
        for path in [A, A2, B, C] {
            let destination_lba = target + (round % 4) * 8192;
            let segment = CopySegment { source: 0, destination: 0, source_lba: lba, destination_lba, blocks: 8192 };
            let list = cdb::extended_copy_list(&[naa], &[segment]);
            let cdb = cdb::extended_copy(u32::try_from(list.len()).unwrap_or(u32::MAX));
            tasks.push(bench.submit(path, cdb, TransferRequest::Out(list.into()))?);
        }
    }
    for task in tasks {
        bench.wait(task)?.good()?;
    }
    for round in 0..4 {
        bench.expect_content(A, target + round * 8192, &data)?;
    }
    Ok(())
}
