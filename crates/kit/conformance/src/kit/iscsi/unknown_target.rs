use super::super::prelude::*;

check! {
    /// A login to an unknown target ends with 0203h.
    156, "RFC 7143 §11.13.5", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut url = bench.url(A)?;
    url.target.push_str(".nowhere");
    expect_refused(Session::connect(&url, &bench.session_options(A)), 0x0203)?;
    Ok(())
}
