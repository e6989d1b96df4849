use super::super::prelude::*;

check! {
    /// Of CHAP_A=7,5 the target picks SHA-256 when it has it, and MD5 otherwise.
    159, "RFC 7143 §12.1.3", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (_, challenge) = challenged(bench, "7,5")?;
    let found = challenge.value("CHAP_A").unwrap_or("no answer");
    expect(["7", "5"].contains(&found), || format!("CHAP_A: expected 7 or 5, found {found}"))?;
    Ok(())
}
