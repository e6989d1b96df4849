//! A login to a target that is not there ends with 0203h.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 156,
    name: "iscsi/unknown_target",
    section: "RFC 7143 §11.13.5",
    asks: "A login to a target that is not there ends with 0203h.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut url = bench.url(A)?;
    url.target.push_str(".nowhere");
    expect_refused(Session::connect(&url, &bench.session_options(A)), 0x0203)?;
    Ok(())
}
