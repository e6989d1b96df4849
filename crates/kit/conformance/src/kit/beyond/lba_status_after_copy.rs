use super::super::prelude::*;

check! {
    /// After a copy GET LBA STATUS of the destination shows the holes of the source.
    205, "SBC-3 §5.4; SPC-4 §6.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(4096)?;
    let data = bench.pattern(64);
    bench.clear(A, lba, 2048)?;
    bench.write(A, lba, &data)?;
    bench.write(A, lba + 128, &data)?;
    let filled = bench.pattern(192);
    bench.write(A, lba + 2048, &filled)?;
    let before = bench.fetch(A, cdb::get_lba_status(lba, 256), 256)?;
    if before.is(0x05, 0x20, 0x00) || before.is(0x05, 0x24, 0x00) {
        return skipped("no GET LBA STATUS");
    }
    let list = within(bench, lba, lba + 2048, 192)?;
    copy(bench, A, list)?.good()?;
    for (at, mapped) in [(0, true), (64, false), (128, true)] {
        let [source, destination] = [lba + at, lba + 2048 + at].map(|lba| provisioning(bench, A, lba));
        let (source, destination) = (source?, destination?);
        expect_equal(&format!("provisioning status {at} blocks into the source"), source == 0, mapped)?;
        expect_equal(&format!("provisioning status {at} blocks into the destination"), destination, source)?;
    }
    let zeros = vec![0; 64 * BLOCK];
    bench.expect_content(A, lba + 2048, &[&data[..], &zeros, &data].concat())
}
