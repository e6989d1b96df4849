use super::super::prelude::*;

check! {
    /// Mutual CHAP with the challenge of the target sent back to it fails.
    161, "RFC 7143 §12.1.3, §9.2.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let url = with_chap(bench)?;
    let (mut wire, challenge) = challenged(bench, "5")?;
    let response = format!("0x{}", hex(&response_to(&url, &challenge)?).replace(' ', ""));
    let name = url.chap.map(|chap| chap.user).unwrap_or_default();
    let back = |key: &str| challenge.value(key).unwrap_or_default().to_owned();
    let (identifier, reflected) = (back("CHAP_I"), back("CHAP_C"));
    let keys = [
        ("CHAP_N", name.as_str()),
        ("CHAP_R", response.as_str()),
        ("CHAP_I", identifier.as_str()),
        ("CHAP_C", reflected.as_str()),
    ];
    // Closing the connection is a refusal too.
    if let Ok(answer) = wire.login_request(0x81, WIRE_QUALIFIER, &keys) {
        expect(answer.status >> 8 == 2, || format!("login status: expected 02xxh, found {:04x}h", answer.status))?;
    }
    Ok(())
}
