use super::super::prelude::*;

check! {
    /// CHAP_R in base64 is accepted.
    160, "RFC 7143 §6.1, §12.1.3", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let url = with_chap(bench)?;
    let (mut wire, challenge) = challenged(bench, "5")?;
    let response = response_to(&url, &challenge)?;
    let name = url.chap.map(|chap| chap.user).unwrap_or_default();
    let response = format!("0b{}", base64(&response));
    let answer = wire.login_request(0x81, WIRE_QUALIFIER, &[("CHAP_N", &name), ("CHAP_R", &response)])?;
    expect_equal("login status", answer.status, 0)?;
    Ok(())
}
