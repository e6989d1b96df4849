use super::super::prelude::*;

check! {
    /// CHAP with MD5: the right secret logs in, a wrong one ends with 0201h.
    158, "RFC 7143 §12.1.3", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let url = with_chap(bench)?;
    let options = bench.session_options(A);
    let mut config = Session::config(&url, &options);
    if let Some(chap) = &mut config.chap {
        chap.algorithms = vec![Algorithm::Md5];
    }
    Session::connect_with(&url, &options, config)?.logout()?;
    let mut wrong = url;
    if let Some(chap) = &mut wrong.chap {
        chap.secret.push_str("-wrong");
    }
    expect_refused(Session::connect(&wrong, &options), 0x0201)?;
    Ok(())
}
