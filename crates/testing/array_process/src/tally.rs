//! Count of checks that passed and that failed.

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;

/// Count of checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Checks that held.
    pub passed: usize,
    /// Checks that did not hold.
    pub failed: usize,
}

/// Parts of the line in which cargo says that a signal ended a program.
const ENDED_BY_SIGNAL: (&str, &str) = ("process didn't exit successfully: ", "(signal: ");

impl Tally {
    /// Tally of one check.
    pub fn one(held: bool) -> Self {
        Self { passed: usize::from(held), failed: usize::from(!held) }
    }

    /// Parses a line in the format in which [`Tally`] is printed: `15 passed, 2 failed`.
    pub fn of_line(line: &str) -> Option<Self> {
        let (passed, failed) = line.strip_suffix(" failed")?.split_once(" passed, ")?;
        Some(Self { passed: passed.parse().ok()?, failed: failed.parse().ok()? })
    }

    /// Adds up the lines `test result: … N passed; N failed; …` of `cargo test`; `None` when there is none. A program
    /// of tests that a signal ended has no such line, and is a failure.
    pub fn of_cargo_test(output: &str) -> Option<Self> {
        let mut sum = None;
        let ended = output.lines().filter(|line| line.contains(ENDED_BY_SIGNAL.0) && line.contains(ENDED_BY_SIGNAL.1));
        let failed = ended.count();
        if failed > 0 {
            sum = Some(Self { passed: 0, failed });
        }
        for line in output.lines().filter_map(|line| line.trim().strip_prefix("test result: ")) {
            let number = |word: &str| {
                let (before, _) = line.split_once(word)?;
                before.trim_end().rsplit(' ').next()?.parse().ok()
            };
            if let (Some(passed), Some(failed)) = (number(" passed;"), number(" failed;")) {
                *sum.get_or_insert_with(Self::default) += Self { passed, failed };
            }
        }
        sum
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |mut sum, tally| {
            sum += tally;
            sum
        })
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_test_results_add_up() {
        let output = "test a ... ok\ntest result: ok. 12 passed; 0 failed; 0 ignored; 0 measured\n\n\
                      test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(Tally::of_cargo_test(output), Some(Tally { passed: 15, failed: 2 }));
        assert_eq!(Tally::of_cargo_test("error: could not compile"), None);
        let aborted = "error: test failed, to rerun pass `-p x --test y`\n\nCaused by:\n  process didn't exit successfully: \
                       `target/debug/deps/y-1` (signal: 6, SIGABRT: process abort signal)\n";
        let both = Tally::of_cargo_test(&format!("{output}{aborted}"));
        assert_eq!(both, Some(Tally { passed: 15, failed: 3 }), "an aborted program");
        let tally = Tally { passed: 15, failed: 2 };
        assert_eq!(tally.to_string(), "15 passed, 2 failed");
        assert_eq!(Tally::of_line(&tally.to_string()), Some(tally));
        assert_eq!(Tally::of_line("all in 3 s"), None);
    }
}
