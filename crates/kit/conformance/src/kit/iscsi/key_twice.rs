use super::super::prelude::*;

check! {
    /// A key that is sent twice ends the login with 0200h.
    155, "RFC 7143 §6.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let keys = [("MaxBurstLength", "262144"), ("MaxBurstLength", "131072")];
    let (url, options) = (bench.url(A)?, bench.session_options(A));
    let answer = Wire::connect(&url, options.timeout)?.login(&options, &url.target, &keys)?;
    expect_equal("login status", answer.status, 0x0200)?;
    Ok(())
}
