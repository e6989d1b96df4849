use super::super::prelude::*;

check! {
    /// LOGICAL UNIT RESET of a LUN without a logical unit: the LUN does not exist.
    146, "RFC 7143 §11.6.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let response = bench.manage(A.lun(NO_UNIT), TaskManagementFunction::LOGICAL_UNIT_RESET, None)?;
    expect_equal("response", response.0, 2)?;
    Ok(())
}
