use super::super::prelude::*;

check! {
    /// A reservation of another nexus on the destination stops a copy that is sent to the source:
    /// 0A/0D/01, and nothing is written.
    89, "SPC-4 §6.3.3; SPC-2 §5.5.1", needs: [Writes, SecondUnit]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let (data, old) = (bench.pattern(8), bench.pattern(8));
    bench.write(A, lba, &data)?;
    bench.write(A.second(), lba, &old)?;
    let list = between_units(bench, lba, lba, 8)?;
    bench.ask(B.second(), cdb::padded(&[0x16]))?.good()?;
    copy(bench, A, list)?.check_condition(0x0A, 0x0D, 0x01)?;
    bench.ask(B.second(), cdb::padded(&[0x17]))?.good()?;
    bench.expect_content(A.second(), lba, &old)?;
    Ok(())
}
