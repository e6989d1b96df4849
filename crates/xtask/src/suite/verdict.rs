//! Interpretation of a test's output, and the expected skips.

/// Result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every assertion held and nothing was skipped.
    Passed,
    /// The test skipped itself, completely or in part, for this reason.
    Skipped(String),
    /// An assertion did not hold.
    Failed,
    /// An assertion failed that fails on every target, for this reason.
    Defective(&'static str),
    /// The test did not end in time.
    TimedOut,
    /// The test ended without a summary: it could not log in, or crashed.
    NoResult,
    /// The array's process had ended afterwards.
    ArrayDied,
}

impl Verdict {
    /// Short form for a table.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped(_) => "skipped",
            Self::Failed => "failed",
            Self::Defective(_) => "defective",
            Self::TimedOut => "timed out",
            Self::NoResult => "no result",
            Self::ArrayDied => "array died",
        }
    }
}

/// Expected skip: of tests whose name starts with `tests`, when the printed reason contains
/// `words`.
struct Expected {
    tests: &'static str,
    words: &'static str,
    because: &'static str,
}

/// Expected skips, with reasons. A skip that matches no row fails the run. See also
/// `docs/compatibility.md`.
const EXPECTED_SKIPS: &[Expected] = &[Expected {
    tests: "Sanitize.",
    words: "CRYPTO_ERASE is not implemented",
    because: "content is not encrypted, so there is no key that CRYPTOGRAPHIC ERASE could forget",
}];

/// Reasons printed by tests that skip themselves on the default logical unit and can run with
/// another profile.
const WANT_ANOTHER_PROFILE: &[&str] = &["not removable", "LBPPB < 2", "does not support 0-blocks"];

/// Whether a test needs a logical unit that is removable, has large physical blocks, or accepts a
/// WRITE SAME of 0 blocks.
pub(crate) fn wants_another_profile(reason: &str) -> bool {
    WANT_ANOTHER_PROFILE.iter().any(|words| reason.contains(words))
}

/// Test that no target can pass, because of its own defect: its name, and the only assertion that
/// may fail.
struct Defect {
    test: &'static str,
    assertion: &'static str,
    because: &'static str,
}

/// Known defects of `iscsi-test-cu` (1.19).
const DEFECTS: &[Defect] = &[Defect {
    test: "iSCSITMF.LUNResetSimpleAsync",
    // The test sets its variable when the response to the reset arrives, and checks it before it
    // sends the reset. Then it frees the write and logs out: a response to the write goes to freed
    // memory, and the process may abort before its summary.
    assertion: "test_async_lu_reset_simple.c:157  - CU_ASSERT_EQUAL(reconnect_succeeded,1)",
    because: "the test asserts that the reset was answered before it sends it; `cargo xtask clients` tests what it means to",
}];

/// Reason why a skip is expected; `None` when it is not.
pub(crate) fn excuse(test: &str, reason: &str) -> Option<&'static str> {
    let row = EXPECTED_SKIPS.iter().find(|row| test.starts_with(row.tests) && reason.contains(row.words));
    row.map(|row| row.because)
}

/// Parses the output of `iscsi-test-cu`: CUnit's summary, and the word `[SKIPPED]` after the start
/// of the suite.
pub(crate) fn judge(test: &str, ended: bool, output: &str) -> Verdict {
    if !ended {
        return Verdict::TimedOut;
    }
    // "     tests      1      1      1      0        0": total, ran, passed, failed, inactive.
    let summary = output.lines().filter_map(|line| line.trim().strip_prefix("tests ")).next_back();
    let numbers: Vec<u64> =
        summary.unwrap_or_default().split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [_, ran, _, failed, ..] = numbers.as_slice() else {
        return defect(test, output).map_or(Verdict::NoResult, Verdict::Defective);
    };
    match (*ran, *failed) {
        (0, _) => Verdict::NoResult,
        (_, 1..) => defect(test, output).map_or(Verdict::Failed, Verdict::Defective),
        _ => {
            let run = output.find("Suite:").map_or(output, |start| output.get(start..).unwrap_or(output));
            let skips = run.lines().filter_map(|line| line.split_once("[SKIPPED]")).map(|(_, reason)| reason.trim());
            // An unexpected reason is more important than an expected one.
            let told = skips.clone().find(|reason| excuse(test, reason).is_none()).or(skips.clone().next());
            told.map_or(Verdict::Passed, |reason| Verdict::Skipped(reason.to_owned()))
        }
    }
}

/// Reason why the failure is the test's own defect; `None` when it is not, or when another
/// assertion failed too.
fn defect(test: &str, output: &str) -> Option<&'static str> {
    let row = DEFECTS.iter().find(|row| row.test == test)?;
    let mut failures = output.lines().filter(|line| line.contains("CU_") && line.contains("  - "));
    let only = failures.next()?;
    (only.contains(row.assertion) && failures.next().is_none()).then_some(row.because)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(words: &str, failed: u32) -> String {
        format!(
            "[SKIPPED] said while looking at the device\n\nSuite: Read10\n  Test: Simple ...{words}\n\n\
             Run Summary:    Type  Total    Ran Passed Failed Inactive\n              suites      1      1    n/a      0        0\n               \
             tests      1      1      {}      {failed}        0\n             asserts     19     19     19      0      n/a\n",
            1 - failed
        )
    }

    #[test]
    fn cunit_summaries_are_read() {
        assert_eq!(judge("Read10.Simple", true, &output("passed", 0)), Verdict::Passed);
        assert_eq!(judge("Read10.Simple", true, &output("FAILED", 1)), Verdict::Failed);
        assert_eq!(
            judge("Read10.Simple", true, &output("    [SKIPPED] SANITIZE is not implemented.\npassed", 0)),
            Verdict::Skipped("SANITIZE is not implemented.".into())
        );
        assert_eq!(judge("Read10.Simple", true, "error: failed to log in"), Verdict::NoResult);
        assert_eq!(judge("Read10.Simple", false, &output("passed", 0)), Verdict::TimedOut);
    }

    #[test]
    fn only_the_known_assertion_of_a_defective_test_is_excused() {
        let known = "FAILED\n    1. test_async_lu_reset_simple.c:157  - CU_ASSERT_EQUAL(reconnect_succeeded,1)";
        let test = "iSCSITMF.LUNResetSimpleAsync";
        assert!(matches!(judge(test, true, &output(known, 1)), Verdict::Defective(_)));
        assert_eq!(judge("iSCSITMF.AbortTaskSimpleAsync", true, &output(known, 1)), Verdict::Failed);
        let more = format!("{known}\n    2. test_async_lu_reset_simple.c:190  - CU_FAIL(\"unexpected\")");
        assert_eq!(judge(test, true, &output(&more, 1)), Verdict::Failed);
        assert_eq!(judge(test, true, &output("passed", 0)), Verdict::Passed);
        let aborted = format!("Suite: iSCSITMF\n  Test: LUNResetSimpleAsync ...{known}malloc(): corrupted top size\n");
        assert!(matches!(judge(test, true, &aborted), Verdict::Defective(_)));
        assert_eq!(judge("iSCSITMF.AbortTaskSimpleAsync", true, &aborted), Verdict::NoResult);
        assert_eq!(judge(test, true, "error: failed to log in"), Verdict::NoResult);
    }

    #[test]
    fn only_known_skips_are_excused() {
        assert!(excuse("Sanitize.CryptoErase", "SANITIZE CRYPTO_ERASE is not implemented according to").is_some());
        assert!(excuse("Sanitize.Reset", "[SKIPPED] needs --allow-sanitize").is_none());
        assert!(excuse("CompareAndWrite.Simple", "COMPAREANDWRITE is not implemented.").is_none());
        assert!(excuse("ReadOnly.ReadOnlySBC", "UNMAP is not implemented.").is_none());
    }
}
