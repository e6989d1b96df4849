use super::super::prelude::*;

check! {
    /// SET TARGET PORT GROUPS is refused where only implicit changes are announced, and changes
    /// nothing.
    28, "SPC-4 §6.45", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::inquiry(None, 96), 96)?.good()?.masked(5, 0x30, 0x10)?;
    let before = port_groups(bench, A)?;
    let list = vec![0, 0, 0, 0, 0x01, 0, 0, 1];
    let answer = bench.send_data(A, cdb::padded(&[0xA4, 0x0A, 0, 0, 0, 0, 0, 0, 0, 8]), list)?;
    answer.one_of(&[(0x05, 0x20, 0x00), (0x05, 0x24, 0x00)])?;
    expect_bytes("REPORT TARGET PORT GROUPS afterwards", &port_groups(bench, A)?, &before)?;
    Ok(())
}
