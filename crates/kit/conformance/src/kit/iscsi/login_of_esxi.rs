use super::super::prelude::*;

check! {
    /// The keys that ESXi offers are answered with the values it works with.
    150, "RFC 7143 §13", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (url, options) = (bench.url(A)?, bench.session_options(A));
    let (_, answer) = Wire::full_feature(&url, &options, ESXI_KEYS)?;
    for (key, value) in [
        ("InitialR2T", "No"),
        ("ImmediateData", "Yes"),
        ("FirstBurstLength", "262144"),
        ("MaxBurstLength", "262144"),
        ("MaxOutstandingR2T", "1"),
        ("ErrorRecoveryLevel", "0"),
        ("DefaultTime2Wait", "2"),
        ("DefaultTime2Retain", "0"),
    ] {
        answer.expect(key, value)?;
    }
    expect(answer.value("TargetPortalGroupTag").is_some(), || "TargetPortalGroupTag: expected it, found none".into())?;
    Ok(())
}
