use super::super::prelude::*;

check! {
    /// UNMAP of blocks that a snapshot or clone shares does not change its content.
    121, "SBC-3 §4.7.3.4", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let old = bench.pattern(2048);
    bench.write(A, lba, &old)?;
    let lun = bench.url(A)?.lun.to_string();
    let copy = bench.hook(&["snapshot", &lun])?;
    let Ok(number) = copy.parse::<u16>() else {
        return failed(format!("the hook `snapshot {lun}`: expected a LUN, found {copy:?}"));
    };
    let verdict = (|| {
        // The copy is a new logical unit, which causes unit attentions.
        bench.clear_unit_attentions();
        unmap(bench, A, &[(lba, 2048)])?.good()?;
        bench.expect_content(A, lba, &vec![0; 2048 * BLOCK])?;
        // The new logical unit has its own unit attentions.
        bench.ask(B.lun(number), cdb::test_unit_ready())?;
        bench.ask(B.lun(number), cdb::test_unit_ready())?;
        bench.expect_content(B.lun(number), lba, &old)
    })();
    bench.hook(&["drop-snapshot", &copy])?;
    verdict?;
    Ok(())
}
