use super::super::prelude::*;
use super::support::*;

check! {
    /// A token of a logical unit that is no longer mapped to the initiator is refused.
    223, "SPC-4 §5.16.6", needs: [Writes, SecondUnit, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let data = bench.pattern(8);
    bench.write(A.second(), lba, &data)?;
    let old = bench.pattern(8);
    bench.write(A, lba, &old)?;
    let created = populate(bench, A.second(), &[(lba, 8)])?;
    without_second(bench, |bench| {
        bench.clear_unit_attentions();
        let refused = [(0x05, 0x23, 0x04), (0x05, 0x23, 0x06), (0x05, 0x23, 0x08)];
        write_token(bench, A, &created, 0, &[(lba, 8)])?.one_of(&refused)?.done()
    })?;
    bench.clear_unit_attentions();
    bench.expect_content(A, lba, &old)
}
