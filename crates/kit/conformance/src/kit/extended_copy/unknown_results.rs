use super::super::prelude::*;

check! {
    /// RECEIVE COPY RESULTS with an unknown service action is refused.
    98, "SPC-4 §4.5", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::receive_copy_results(0x1F, 0, 255), 255)?.check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
