use super::super::prelude::*;

check! {
    /// TEST UNIT READY to a LUN without a logical unit ends with LOGICAL UNIT NOT SUPPORTED.
    5, "SAM-5 §4.7.3; SPC-4 §4.5", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A.lun(NO_UNIT), cdb::test_unit_ready())?.check_condition(0x05, 0x25, 0x00)?;
    Ok(())
}
