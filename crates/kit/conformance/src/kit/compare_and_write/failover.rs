use super::super::prelude::*;

check! {
    /// A COMPARE AND WRITE in flight at a failover has happened once or not at all, and the block
    /// is stable.
    56, "SBC-3 §5.2", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    submit(bench, A, lba, &old, &new)?;
    bench.hook(&["failover"])?;
    bench.cut_all();
    let first = bench.read(A, lba, 1)?;
    expect(first == old || first == new, || format!("expected the old or the new image, found {}", hex(&first)))?;
    std::thread::sleep(Duration::from_millis(200));
    bench.expect_content(A, lba, &first)?;
    Ok(())
}
