use super::super::prelude::*;

check! {
    /// A block after the last one is out of range.
    43, "SBC-3 §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.capacity(A)?;
    caw(bench, A, lba, &[0; BLOCK], &[0; BLOCK])?.check_condition(0x05, 0x21, 0x00)?;
    Ok(())
}
