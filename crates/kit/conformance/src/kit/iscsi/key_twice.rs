//! A key that is sent twice ends the login with 0200h.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 155,
    name: "iscsi/key_twice",
    section: "RFC 7143 §6.1",
    asks: "A key that is sent twice ends the login with 0200h.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let keys = [("MaxBurstLength", "262144"), ("MaxBurstLength", "131072")];
    let (url, options) = (bench.url(A)?, bench.session_options(A));
    let answer = Wire::connect(&url, options.timeout)?.login(&options, &url.target, &keys)?;
    expect_equal("login status", answer.status, 0x0200)?;
    Ok(())
}
