use super::super::prelude::*;

check! {
    /// The window has room for 128 commands, and as many at once all complete.
    166, "RFC 7143 §4.2.2.1; SAM-5 §5.3", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let machine = bench.session(A)?.machine();
    let window = machine.max_cmd_sn().wrapping_sub(machine.cmd_sn()).wrapping_add(1);
    expect(window >= 128, || format!("window: expected 128 commands or more, found {window}"))?;
    let mut tasks = Vec::new();
    for lba in 0..128 {
        tasks.push(bench.submit(A, cdb::read16(lba, 8), TransferRequest::In(4096))?);
    }
    for task in tasks {
        bench.wait(task)?.good()?;
    }
    Ok(())
}
