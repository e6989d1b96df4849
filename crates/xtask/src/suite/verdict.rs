//! What a test's output means, and which skips are expected.

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every assertion held and nothing was skipped.
    Passed,
    /// The test skipped itself, wholly or in part; its words.
    Skipped(String),
    /// An assertion did not hold.
    Failed,
    /// It did not end in time.
    TimedOut,
    /// It ended without a summary: it could not log in, or crashed.
    NoResult,
    /// The array's process was gone afterwards.
    ArrayDied,
}

impl Verdict {
    /// One or two words for a table.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped(_) => "skipped",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::NoResult => "no result",
            Self::ArrayDied => "array died",
        }
    }
}

/// A skip that is expected: tests whose name starts with `tests`, when the reason given contains `words`.
struct Expected {
    tests: &'static str,
    words: &'static str,
    because: &'static str,
}

/// Every skip that is expected, with the reason. A skip that matches no row fails the run.
const EXPECTED_SKIPS: &[Expected] = &[
    Expected { tests: "Sanitize.", words: "SANITIZE", because: "SANITIZE is not implemented yet" },
    Expected { tests: "Sanitize.", words: "--allow-sanitize", because: "SANITIZE is not implemented yet" },
    Expected { tests: "WriteAtomic16.", words: "WRITEATOMIC16", because: "WRITE ATOMIC (16) is not implemented yet" },
    Expected { tests: "OrWrite.", words: "ORWRITE", because: "ORWRITE (16) is not implemented yet" },
    Expected {
        tests: "ReadDefectData10.",
        words: "READDEFECTDATA10",
        because: "READ DEFECT DATA is not implemented yet",
    },
    Expected {
        tests: "ReadDefectData12.",
        words: "READDEFECTDATA12",
        because: "READ DEFECT DATA is not implemented yet",
    },
    Expected {
        tests: "PrinReadKeys.",
        words: "PERSISTENT RESERVE IN",
        because: "PERSISTENT RESERVE is not implemented yet",
    },
    Expected {
        tests: "PrinServiceactionRange.",
        words: "PERSISTENT RESERVE IN",
        because: "PERSISTENT RESERVE is not implemented yet",
    },
    Expected {
        tests: "PrinReportCapabilities.",
        words: "PERSISTENT RESERVE IN",
        because: "PERSISTENT RESERVE is not implemented yet",
    },
    Expected { tests: "Prin", words: "PROUT Not Supported", because: "PERSISTENT RESERVE is not implemented yet" },
    Expected { tests: "Prout", words: "PERSISTENT RESERVE", because: "PERSISTENT RESERVE is not implemented yet" },
    Expected { tests: "Prout", words: "PROUT Not Supported", because: "PERSISTENT RESERVE is not implemented yet" },
    Expected { tests: "MultipathIO.", words: "ultipath", because: "several paths to one logical unit come next" },
    Expected { tests: "NoMedia.", words: "not removable", because: "the medium cannot be removed" },
    Expected { tests: "StartStopUnit.", words: "not removable", because: "the medium cannot be removed" },
    Expected { tests: "PreventAllow.", words: "not removable", because: "the medium cannot be removed" },
    Expected { tests: "ReadOnly.", words: "not write-protected", because: "the logical unit under test is writable" },
    Expected { tests: "TestUnitReady.", words: "not removable", because: "the medium cannot be removed" },
];

/// Why a skip is expected; `None` when it is not.
pub(super) fn excuse(test: &str, reason: &str) -> Option<&'static str> {
    let row = EXPECTED_SKIPS.iter().find(|row| test.starts_with(row.tests) && reason.contains(row.words));
    row.map(|row| row.because)
}

/// Reads the output of `iscsi-test-cu`: CUnit's summary, and the word `[SKIPPED]` after the start of the suite.
pub(super) fn judge(ended: bool, output: &str) -> Verdict {
    if !ended {
        return Verdict::TimedOut;
    }
    // "     tests      1      1      1      0        0": total, ran, passed, failed, inactive.
    let summary = output.lines().filter_map(|line| line.trim().strip_prefix("tests ")).next_back();
    let numbers: Vec<u64> =
        summary.unwrap_or_default().split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [_, ran, _, failed, ..] = numbers.as_slice() else { return Verdict::NoResult };
    match (*ran, *failed) {
        (0, _) => Verdict::NoResult,
        (_, 1..) => Verdict::Failed,
        _ => {
            let run = output.find("Suite:").map_or(output, |start| output.get(start..).unwrap_or(output));
            let skipped = run.lines().find_map(|line| line.split_once("[SKIPPED]"));
            skipped.map_or(Verdict::Passed, |(_, reason)| Verdict::Skipped(reason.trim().to_owned()))
        }
    }
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
        assert_eq!(judge(true, &output("passed", 0)), Verdict::Passed);
        assert_eq!(judge(true, &output("FAILED", 1)), Verdict::Failed);
        assert_eq!(
            judge(true, &output("    [SKIPPED] SANITIZE is not implemented.\npassed", 0)),
            Verdict::Skipped("SANITIZE is not implemented.".into())
        );
        assert_eq!(judge(true, "error: failed to log in"), Verdict::NoResult);
        assert_eq!(judge(false, &output("passed", 0)), Verdict::TimedOut);
    }

    #[test]
    fn only_known_skips_are_excused() {
        assert!(excuse("Sanitize.Simple", "SANITIZE is not implemented.").is_some());
        assert!(excuse("CompareAndWrite.Simple", "COMPAREANDWRITE is not implemented.").is_none());
        assert!(excuse("ReadOnly.ReadOnlySBC", "UNMAP is not implemented.").is_none());
    }
}
