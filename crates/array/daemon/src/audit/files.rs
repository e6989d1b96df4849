//! Files of the audit: `YEAR-MONTH-NUMBER.jsonl`, where the number is that of the first line.

use anyhow::Context;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};

/// End of the names.
const EXTENSION: &str = ".jsonl";

/// File of the audit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    /// Number of its first line; files in this order are in that of their lines.
    pub(super) first: u64,
    /// `YEAR-MONTH`.
    pub(super) month: String,
}

impl Name {
    /// Name of a file.
    pub(super) fn text(&self) -> String {
        format!("{}-{:012}{EXTENSION}", self.month, self.first)
    }

    fn parse(text: &str) -> Option<Self> {
        let (month, first) = text.strip_suffix(EXTENSION)?.rsplit_once('-')?;
        let is_month = month.len() == 7 && month.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let name = Self { first: first.parse().ok()?, month: month.to_owned() };
        (is_month && name.text() == text).then_some(name)
    }
}

/// `YEAR-MONTH` of a time, in UTC.
pub(super) fn month(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime("%Y-%m").to_string()
}

/// Files of a directory, oldest first. Empty if it does not exist.
pub(super) fn list(directory: &Path) -> anyhow::Result<Vec<Name>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", directory.display())),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", directory.display()))?;
        names.extend(entry.file_name().to_str().and_then(Name::parse));
    }
    names.sort();
    Ok(names)
}

/// Content of a file.
pub(super) fn read(directory: &Path, name: &Name) -> anyhow::Result<String> {
    let path: PathBuf = directory.join(name.text());
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    String::from_utf8(bytes).with_context(|| format!("{} is not text", path.display()))
}
