use super::super::prelude::*;

check! {
    /// A logical unit that is not mapped to the initiator is not reachable for its copies, and is
    /// neither read nor written.
    76, "SPC-4 §6.3.3", needs: [Writes, SecondUnit, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let (data, old) = (bench.pattern(8), bench.pattern(8));
    bench.write(A, lba, &data)?;
    bench.write(A.second(), lba, &old)?;
    let list = between_units(bench, lba, lba, 8)?;
    without_second(bench, |bench| {
        bench.clear_unit_attentions();
        copy(bench, A, list)?.check_condition(0x0A, 0x0D, 0x02)?.done()
    })?;
    bench.clear_unit_attentions();
    bench.expect_content(A.second(), lba, &old)?;
    Ok(())
}
