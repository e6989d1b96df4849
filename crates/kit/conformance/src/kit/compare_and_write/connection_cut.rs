use super::super::prelude::*;

check! {
    /// After the connection was cut, the content that the first READ of a new nexus finds stays.
    55, "RFC 7143 §6.3.5; SAM-5 §4.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    for _ in 0..20 {
        bench.check_stopped()?;
        let (old, new) = (bench.pattern(1), bench.pattern(1));
        bench.write(A, lba, &old)?;
        submit(bench, A, lba, &old, &new)?;
        bench.cut(A);
        let first = bench.read(A, lba, 1)?;
        expect(first == old || first == new, || format!("expected the old or the new image, found {}", hex(&first)))?;
        std::thread::sleep(Duration::from_millis(20));
        bench.expect_content(A, lba, &first)?;
    }
    Ok(())
}
