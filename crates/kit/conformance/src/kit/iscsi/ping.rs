//! NOP-Out with 8192 bytes comes back with the same bytes.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 164,
    name: "iscsi/ping",
    section: "RFC 7143 §11.18, §11.19",
    asks: "NOP-Out with 8192 bytes comes back with the same bytes.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let data = bench.pattern(16);
    let answer = bench.session(A)?.ping(data.clone().into())?;
    expect_bytes("NOP-In", &answer, &data)?;
    Ok(())
}
