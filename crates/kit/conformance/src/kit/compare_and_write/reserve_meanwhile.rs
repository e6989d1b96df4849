use super::super::prelude::*;

check! {
    /// RESERVE (6) while COMPARE AND WRITE commands of another nexus run: each of them completes or
    /// is refused, none in part, and the next is refused.
    51, "SPC-2 §5.5.1; SBC-3 §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    const COMMANDS: usize = 32;
    let lba = bench.scratch(COMMANDS as u64)?;
    for _ in 0..10 {
        let (old, new) = (bench.pattern(COMMANDS), bench.pattern(COMMANDS));
        bench.write(A, lba, &old)?;
        let mut tasks = Vec::new();
        for (at, (old, new)) in (lba..).zip(old.chunks(BLOCK).zip(new.chunks(BLOCK))) {
            tasks.push(submit(bench, A, at, old, new)?);
        }
        let reserve = bench.submit(B, cdb::padded(&[0x16]), TransferRequest::None)?;
        bench.wait(reserve)?.good()?;
        let mut expected = Vec::new();
        for (task, (old, new)) in tasks.into_iter().zip(old.chunks(BLOCK).zip(new.chunks(BLOCK))) {
            let answer = bench.wait(task)?;
            let image = if answer.status() == GOOD { new } else { answer.conflict().map(|_| old)? };
            expected.extend_from_slice(image);
        }
        caw(bench, A, lba, &old[..BLOCK], &new[..BLOCK])?.conflict()?;
        bench.ask(B, cdb::padded(&[0x17]))?.good()?;
        bench.expect_content(A, lba, &expected)?;
    }
    Ok(())
}
