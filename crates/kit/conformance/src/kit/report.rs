//! The result for people (a table), for programs (JSON) and for continuous integration (JUnit's XML).

use std::fmt::Write;

use serde_json::json;

/// How one check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As the standard wants it.
    Passed,
    /// Otherwise; expected and found.
    Failed(String),
    /// Not made, and why.
    Skipped(String),
}

impl Outcome {
    /// One word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Skipped(_) => "skipped",
        }
    }

    /// Why it did not pass.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed(reason) | Self::Skipped(reason) => Some(reason),
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
    /// How it ended.
    pub outcome: Outcome,
}

/// All of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// In the order of the run.
    pub rows: Vec<Row>,
}

impl Report {
    /// How many ended so.
    pub fn count(&self, word: &str) -> usize {
        self.rows.iter().filter(|row| row.outcome.word() == word).count()
    }

    /// `N passed, N failed, N skipped`.
    pub fn summary(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.count("passed"), self.count("failed"), self.count("skipped"))
    }

    /// A line for each check, its reason below when it did not pass, and the summary.
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

    /// `{"results": [{"number", "name", "section", "outcome", "reason"}]}`.
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

    /// The XML that servers of continuous integration read: one suite, one case for each check.
    pub fn junit(&self) -> String {
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"conformance\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\">\n",
            self.rows.len(),
            self.count("failed"),
            self.count("skipped")
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
                Outcome::Skipped(reason) => writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(reason)),
            };
        }
        text.push_str("</testsuite>\n</testsuites>\n");
        text
    }
}

/// Text for an attribute. Characters that XML 1.0 has no place for are replaced.
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
    fn xml_is_escaped() {
        let xml = report().junit();
        assert!(xml.contains("message=\"a&lt;b &amp; &quot;c&quot;\u{FFFD}\""), "{xml}");
        assert!(xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{xml}");
    }
}
