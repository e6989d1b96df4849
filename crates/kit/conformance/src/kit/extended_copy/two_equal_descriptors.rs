use super::super::prelude::*;

check! {
    /// A copy within one logical unit with two equal CSCD descriptors.
    63, "SPC-4 §6.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 2048)?;
    let naa = naa(bench, A)?;
    let segment = CopySegment { source: 0, destination: 1, source_lba: lba, destination_lba: lba + 2048, blocks: 2048 };
    copy(bench, A, cdb::extended_copy_list(&[naa, naa], &[segment]))?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    Ok(())
}
