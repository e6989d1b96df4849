//! Excerpt of a failed step's output, short enough for the end of a long log.

/// Most lines of an excerpt, lines kept after a line about a failure, and most characters of a
/// line.
const LINES: usize = 40;
const AFTER: usize = 4;
const WIDTH: usize = 300;

/// Words that only a failed step or a panicked test prints, and words that programs under test also
/// print when all is well.
const FAILED: [&str; 4] = ["FAILED", "panicked at", "violation", "process didn't exit successfully"];
const ERRORS: [&str; 2] = ["error:", "error["];

/// Returns the lines of `output` about a failure, each with the lines after it; without any, its
/// last lines.
pub(super) fn of(output: &str) -> Vec<String> {
    let lines: Vec<_> = output
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.ends_with("... ok") && !is_backtrace(line))
        .collect();
    let mut kept = with(&lines, &FAILED);
    if kept.is_empty() {
        kept = with(&lines, &ERRORS);
    }
    if kept.is_empty() {
        kept = lines[lines.len().saturating_sub(LINES)..].to_vec();
    }
    kept.into_iter().take(LINES).map(|line| line.chars().take(WIDTH).collect()).collect()
}

/// Returns the lines with one of the words, each with the lines after it.
fn with<'a>(lines: &[&'a str], words: &[&str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut until = 0;
    for (at, line) in lines.iter().enumerate() {
        if words.iter().any(|words| line.contains(words)) && !line.starts_with("test result:") {
            until = at + 1 + AFTER;
        }
        if at < until {
            kept.push(*line);
        }
    }
    kept
}

/// Whether the line is the hint on backtraces that follows every panic.
fn is_backtrace(line: &str) -> bool {
    line.starts_with("note: run with `RUST_BACKTRACE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_test_is_named_with_its_output() {
        let output = "running 3 tests\ntest a ... ok\ntest b::c ... FAILED\ntest d ... ok\n\nfailures:\n\n---- b::c stdout ----\n\n\
                      thread 'b::c' (7) panicked at crates/x/src/y.rs:12:5:\nassertion failed: held\nleft: 1\nright: 2\n\
                      note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\nfailures:\n    b::c\n\n\
                      test result: FAILED. 2 passed; 1 failed; 0 ignored\n";
        let excerpt = of(output);
        for words in
            ["test b::c ... FAILED", "panicked at crates/x/src/y.rs:12:5:", "assertion failed: held", "right: 2"]
        {
            assert!(excerpt.iter().any(|line| line.contains(words)), "{words} is not in {excerpt:?}");
        }
        assert!(!excerpt.iter().any(|line| line.ends_with("ok") || line.contains("RUST_BACKTRACE")), "{excerpt:?}");
    }

    #[test]
    fn output_of_programs_under_test_does_not_hide_it() {
        let output = "error: interrupted (code: interrupted)\n".repeat(LINES) + "test a ... FAILED\n";
        assert_eq!(of(&output), ["test a ... FAILED"]);
        assert_eq!(of("error: could not compile\n"), ["error: could not compile"]);
    }

    #[test]
    fn a_step_without_a_failure_message_is_shown_by_its_last_lines() {
        let output: String = (0..100).map(|number| format!("line {number}\n")).collect();
        let excerpt = of(&output);
        assert_eq!(excerpt.len(), LINES);
        assert_eq!(excerpt.last().map(String::as_str), Some("line 99"));
        assert!(of("").is_empty());
    }
}
