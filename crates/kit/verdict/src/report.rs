//! Report of a run as a table, as JSON, and as JUnit's XML for continuous integration.

use std::fmt::Write;

use serde_json::json;

use crate::NotPassed;

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The answer was right.
    Passed,
    /// The answer was wrong; states the expected and the found value.
    Failed(String),
    /// The answer is one that the standard permits; states the one that was asked for.
    Differs(String),
    /// The check was not run, with the reason.
    Skipped(String),
}

impl Outcome {
    /// Result in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Differs(_) => "differs",
            Self::Skipped(_) => "skipped",
        }
    }

    /// Reason why the check did not pass.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed(reason) | Self::Differs(reason) | Self::Skipped(reason) => Some(reason),
        }
    }
}

impl From<NotPassed> for Outcome {
    fn from(reason: NotPassed) -> Self {
        match reason {
            NotPassed::Failed(reason) => Self::Failed(reason),
            NotPassed::Differs(reason) => Self::Differs(reason),
            NotPassed::Skipped(reason) => Self::Skipped(reason),
        }
    }
}

/// One check and its outcome.
#[derive(Clone, Debug)]
pub struct Row {
    /// Number of the check.
    pub number: u16,
    /// Name of the check.
    pub name: &'static str,
    /// Section of the standard.
    pub section: &'static str,
    /// Result of the check.
    pub outcome: Outcome,
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Rows in the order of the run.
    pub rows: Vec<Row>,
}

impl Report {
    /// Number of checks with this result.
    pub fn count(&self, word: &str) -> usize {
        self.rows.iter().filter(|row| row.outcome.word() == word).count()
    }

    /// `N passed, N failed, N skipped`, and the number of checks that differ, if there are any.
    pub fn summary(&self) -> String {
        let [passed, failed, differs, skipped] =
            ["passed", "failed", "differs", "skipped"].map(|word| self.count(word));
        let different = if differs > 0 { format!(", {differs} different") } else { String::new() };
        format!("{passed} passed, {failed} failed{different}, {skipped} skipped")
    }

    /// Formats a line for each check, with its reason below when it did not pass, and the summary.
    pub fn table(&self) -> String {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for Row { number, name, section, outcome } in &self.rows {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{number:3}  {name:width$}  {:7}  {section}", outcome.word());
            if let Some(reason) = outcome.reason() {
                let _ = writeln!(text, "     {}", reason.replace('\n', "\n     "));
            }
        }
        text.push_str(&self.summary());
        text.push('\n');
        text
    }

    /// Formats JSON: `{"results": [{"number", "name", "section", "outcome", "reason"}]}`.
    pub fn json(&self) -> String {
        let results = self.rows.iter().map(|row| {
            json!({
                "number": row.number,
                "name": row.name,
                "section": row.section,
                "outcome": row.outcome.word(),
                "reason": row.outcome.reason(),
            })
        });
        format!("{:#}\n", json!({ "results": results.collect::<Vec<_>>() }))
    }

    /// Formats XML for servers of continuous integration: one suite with one case for each check. A
    /// check that differs counts as skipped, for which JUnit has a word.
    pub fn junit(&self) -> String {
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"conformance\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\">\n",
            self.rows.len(),
            self.count("failed"),
            self.count("skipped") + self.count("differs")
        );
        for Row { number, name, section, outcome } in &self.rows {
            let (group, file) = name.split_once('/').unwrap_or(("", name));
            let _ = write!(
                text,
                "<testcase classname=\"{}\" name=\"{number} {} ({})\"",
                escaped(group),
                escaped(file),
                escaped(section)
            );
            let _ = match outcome {
                Outcome::Passed => writeln!(text, "/>"),
                Outcome::Failed(reason) => writeln!(text, "><failure message=\"{}\"/></testcase>", escaped(reason)),
                Outcome::Differs(reason) => {
                    writeln!(text, "><skipped message=\"differs: {}\"/></testcase>", escaped(reason))
                }
                Outcome::Skipped(reason) => writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(reason)),
            };
        }
        text.push_str("</testsuite>\n</testsuites>\n");
        text
    }
}

/// Escapes text for an attribute. Characters that XML 1.0 does not allow are replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\u{FFFE}' | '\u{FFFF}' => safe.push('\u{FFFD}'),
            other if other.is_control() => safe.push('\u{FFFD}'),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let row = |number, outcome| Row { number, name: "group/file", section: "SPC-4 §1", outcome };
        Report {
            rows: vec![
                row(1, Outcome::Passed),
                row(2, Outcome::Failed("a<b & \"c\"\u{1}".into())),
                row(3, Outcome::Skipped("no".into())),
            ],
        }
    }

    #[test]
    fn the_table_ends_with_the_counts() {
        let table = report().table();
        assert!(table.ends_with("1 passed, 1 failed, 1 skipped\n"), "{table}");
        assert!(table.contains("  2  group/file  failed   SPC-4 §1\n     a<b"), "{table}");
    }

    #[test]
    fn json_has_a_result_for_each_check() {
        let document: serde_json::Value = serde_json::from_str(&report().json()).unwrap_or_default();
        assert_eq!(document["results"][1]["outcome"], "failed");
        assert_eq!(document["results"][0]["reason"], serde_json::Value::Null);
        assert_eq!(document["results"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn a_difference_is_no_failure() {
        let differs =
            Row { number: 4, name: "group/file", section: "SPC-4 §1", outcome: Outcome::Differs("x".into()) };
        let report = Report { rows: vec![differs] };
        assert_eq!(report.summary(), "0 passed, 0 failed, 1 different, 0 skipped");
        let xml = report.junit();
        assert!(xml.contains("failures=\"0\" skipped=\"1\"") && xml.contains("\"differs: x\""), "{xml}");
    }

    #[test]
    fn xml_is_escaped() {
        let xml = report().junit();
        assert!(xml.contains("message=\"a&lt;b &amp; &quot;c&quot;\u{FFFD}\""), "{xml}");
        assert!(xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{xml}");
    }
}
