use super::super::prelude::*;

check! {
    /// The reservation ends when the holder logs out, and when its connection is cut.
    135, "SPC-2 §5.5.1; SAM-5 §6.3.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    for cut in [false, true] {
        bench.ask(A, cdb::padded(&[0x16]))?.good()?;
        bench.ask(B, cdb::test_unit_ready())?.conflict()?;
        if cut {
            bench.cut(A)
        } else {
            bench.log_out(A)?
        }
        // A target may need some time to notice a lost connection.
        let started = Instant::now();
        while bench.ask(B, cdb::test_unit_ready())?.status() == 0x18 && started.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(20));
        }
        bench.ask(B, cdb::test_unit_ready())?.good()?;
    }
    Ok(())
}
