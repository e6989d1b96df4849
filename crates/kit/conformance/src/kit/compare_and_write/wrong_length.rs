use super::super::prelude::*;

check! {
    /// Data-Out that is not two blocks long is refused, and nothing is written.
    44, "SBC-3 §5.2; RFC 7143 §11.4.5", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let old = bench.pattern(1);
    bench.write(A, lba, &old)?;
    for blocks in [1, 4] {
        let mut data = old.clone();
        data.resize(blocks * BLOCK, 0x55);
        bench.send_data(A, cdb::compare_and_write(lba, 1), data)?.key(0x05)?;
        bench.expect_content(A, lba, &old)?;
    }
    Ok(())
}
