use super::super::prelude::*;

check! {
    /// Heartbeats of many hosts under load: nearly all within a second, none takes the eight
    /// seconds that end a heartbeat.
    59, "SBC-3 §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (hosts, duration, pause) = if bench.options().thorough {
        (64, Duration::from_secs(1800), Duration::from_secs(3))
    } else {
        (8, Duration::from_secs(3), Duration::from_millis(100))
    };
    let lba = bench.scratch(hosts)?;
    let load = bench.scratch(2048)?;
    let zeros = vec![0; BLOCK * usize::try_from(hosts).unwrap_or(0)];
    bench.write(A, lba, &zeros)?;
    let mut sessions = Vec::new();
    for host in 0..hosts {
        let mut session = bench.other_session(&format!("heartbeat-{host}"))?;
        session.clear_unit_attentions()?;
        sessions.push((session, vec![0; BLOCK]));
    }
    let (mut beats, mut slow) = (0_u64, 0_u64);
    let started = Instant::now();
    while started.elapsed() < duration {
        bench.check_stopped()?;
        let round = Instant::now();
        let data = bench.pattern(256);
        let mut tasks = Vec::new();
        for at in 0..8 {
            let cdb = cdb::write16(load + at * 256, 256, false);
            tasks.push(bench.submit(B, cdb, TransferRequest::Out(data.clone().into()))?);
        }
        for ((session, image), at) in sessions.iter_mut().zip(lba..) {
            let new = bench.pattern(1);
            let sent = Instant::now();
            let compared = session.compare_and_write(at, image, &new)?;
            expect_equal("heartbeat", compared, Compared::Written)?;
            *image = new;
            let elapsed = sent.elapsed();
            expect(elapsed < Duration::from_secs(8), || {
                format!("heartbeat: expected less than 8 s, found {elapsed:?}")
            })?;
            beats += 1;
            slow += u64::from(elapsed > Duration::from_secs(1));
        }
        for task in tasks {
            bench.wait(task)?.good()?;
        }
        std::thread::sleep(pause.saturating_sub(round.elapsed()));
    }
    expect(slow * 10_000 <= beats, || {
        format!("expected 99.99 % of {beats} heartbeats within 1 s, found {slow} slower")
    })?;
    Ok(())
}
