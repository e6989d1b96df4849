use super::super::prelude::*;

check! {
    /// COPY STATUS of an unknown list identifier is refused with a pointer to byte 2.
    95, "SPC-4 §6.24", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.fetch(A, cdb::receive_copy_results(0, 0xEE, 255), 255)?;
    answer.check_condition(0x05, 0x24, 0x00)?.points_to_cdb(2)?;
    Ok(())
}
