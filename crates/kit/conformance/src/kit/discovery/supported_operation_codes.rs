use super::super::prelude::*;

check! {
    /// REPORT SUPPORTED OPERATION CODES lists the offload commands, their lengths and the bits that
    /// are evaluated.
    35, "SPC-4 §6.35", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let commands =
        [(0x89, None, 16), (0x83, Some(0x00), 16), (0x84, Some(0x03), 16), (0x93, None, 16), (0x42, None, 10)];
    for (opcode, service_action, length) in commands {
        let option = if service_action.is_some() { 2 } else { 1 };
        let action = service_action.unwrap_or(0);
        let cdb = cdb::padded(&[0xA3, 0x0C, option, opcode, 0, action, 0, 0, 1, 0]);
        let answer = bench.fetch(A, cdb, 256)?.good()?.masked(1, 0x07, 0x03)?.bytes(2, &[0, length, opcode])?;
        let map = answer.data().get(5..4 + usize::from(length)).unwrap_or_default();
        expect(map.iter().any(|byte| *byte != 0), || {
            format!("usage map of {opcode:02X}h: expected evaluated bits, found none")
        })?;
    }
    Ok(())
}
