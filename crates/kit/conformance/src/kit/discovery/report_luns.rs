use super::super::prelude::*;

check! {
    /// REPORT LUNS: the length is that of the list without its header, the LUNs are peripheral
    /// addresses.
    18, "SPC-4 §6.33", needs: [SecondUnit]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::report_luns(16_384), 16_384)?.good()?;
    let list = u64::try_from(answer.data().len()).unwrap_or(0).saturating_sub(8);
    expect_equal("LUN LIST LENGTH", answer.number(0, 4)?, list)?;
    answer.clone().residual(16_384 - 8 - i64::try_from(list).unwrap_or(0))?;
    for path in [A, A.second()] {
        let lun = bench.url(path)?.lun_bytes();
        let there = answer.data().get(8..).unwrap_or_default().chunks(8).any(|found| found == lun);
        expect(there, || format!("expected LUN {} in the list, found {}", hex(&lun), hex(answer.data())))?;
    }
    Ok(())
}
