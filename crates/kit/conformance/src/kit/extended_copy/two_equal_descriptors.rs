//! A copy within one logical unit with two equal CSCD descriptors.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 63,
    name: "extended_copy/two_equal_descriptors",
    section: "SPC-4 §6.3",
    asks: "A copy within one logical unit with two equal CSCD descriptors.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 2048)?;
    let naa = naa(bench, A)?;
    let segment = CopySegment { source: 0, destination: 1, source_lba: lba, destination_lba: lba + 2048, blocks: 2048 };
    copy(bench, A, cdb::extended_copy_list(&[naa, naa], &[segment]))?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    Ok(())
}
