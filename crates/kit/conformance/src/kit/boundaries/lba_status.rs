use super::super::prelude::*;

check! {
    /// GET LBA STATUS returns no more than its allocation length, and a shorter response is the
    /// beginning of a longer one.
    228, "SBC-3 §5.4, SPC-4 §4.2.5.6", needs: [Writes]
}

/// Number of runs, each different from its neighbours.
const RUNS: u64 = 16;
/// Number of blocks of a run.
const RUN: u64 = 128;

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(RUNS * RUN)?;
    let data = bench.pattern(usize::try_from(RUNS * RUN).unwrap_or(0));
    bench.write(A, lba, &data)?;
    let every_other: Vec<_> = (0..RUNS).step_by(2).map(|run| (lba + run * RUN, RUN as u32)).collect();
    unmap(bench, A, &every_other)?.good()?;
    // Skips the check if the command is not supported.
    provisioning(bench, A, lba)?;
    let whole = bench.fetch(A, cdb::get_lba_status(lba, 4096), 4096)?.good()?;
    let descriptors = whole.number(0, 4)?;
    let mut lengths: Vec<u32> = vec![0, 1, 3, 4, 7, 8, 9, 23, 24, 25, 39, 40, 41, 4095, 4096, 65_535];
    if bench.options().thorough {
        lengths.extend(0..=512);
    }
    for length in lengths {
        bench.check_stopped()?;
        let answer = bench.fetch(A, cdb::get_lba_status(lba, length), length)?.good()?;
        let found = answer.data();
        let what = format!("GET LBA STATUS with allocation length {length}");
        expect(found.len() <= length as usize, || format!("{what}: found {} bytes", found.len()))?;
        // A target may return fewer descriptors than exist, and reports the length of those; but no
        // fewer than fit, and at least one.
        let length_field = if length >= 4 { answer.number(0, 4)? } else { descriptors };
        let fits = u64::from(length).saturating_sub(8) / 16 * 16 + 4;
        expect(length_field >= fits.min(descriptors).min(20), || {
            format!("{what}: expected a descriptor, found length {length_field}")
        })?;
        expect((length_field + 12).is_multiple_of(16), || {
            format!("{what}: PARAMETER DATA LENGTH {length_field} is not of whole descriptors")
        })?;
        let expected = usize::try_from(length_field + 4).unwrap_or(usize::MAX).min(length as usize);
        let returned = expected.min(whole.data().len());
        expect(found.len() >= returned.min(length as usize), || {
            format!("{what}: {} bytes of {expected}", found.len())
        })?;
        let known = found.len().min(whole.data().len());
        expect_bytes(
            &what,
            found.get(4.min(known)..known).unwrap_or_default(),
            whole.data().get(4.min(known)..known).unwrap_or_default(),
        )?;
    }
    Ok(())
}
