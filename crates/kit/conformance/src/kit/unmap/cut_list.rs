use super::super::prelude::*;

check! {
    /// UNMAP with a parameter list of four bytes is refused with PARAMETER LIST LENGTH ERROR.
    117, "SBC-3 §5.28", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.send_data(A, cdb::unmap(4), vec![0, 6, 0, 0])?.check_condition(0x05, 0x1A, 0x00)?;
    Ok(())
}
