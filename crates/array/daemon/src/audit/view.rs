//! Reading and verifying the audit.

use super::files;
use super::line::{Intent, Line, NOTHING, Outcome, Record, digest};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Entries that are wanted, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    /// Largest number of entries.
    pub limit: usize,
    /// Only entries with smaller numbers.
    pub before: Option<u64>,
    /// Name of the author.
    pub who: Option<String>,
    /// Name of the operation.
    pub action: Option<String>,
    /// Name or id of the object.
    pub target: Option<String>,
    /// Only entries from this time on.
    pub since: Option<Timestamp>,
    /// Only entries up to this time.
    pub until: Option<Timestamp>,
}

/// An intent with its result.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// Number of the intent.
    pub seq: u64,
    /// Time of the intent.
    pub time: Timestamp,
    /// Digest of the line before.
    pub previous: String,
    /// The intent.
    pub intent: Intent,
    /// Its result; absent if there is none.
    pub outcome: Option<Outcome>,
}

impl Query {
    fn fits(&self, seq: u64, time: Timestamp, intent: &Intent, id: Option<&String>) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        let of_target = || {
            let ids = intent.target.id.iter().chain(id);
            is(&self.target, &intent.target.name) || ids.into_iter().any(|id| is(&self.target, id))
        };
        self.before.is_none_or(|before| seq < before)
            && self.since.is_none_or(|since| time >= since)
            && self.until.is_none_or(|until| time <= until)
            && is(&self.who, &intent.who.name)
            && is(&self.action, &intent.action)
            && of_target()
    }
}

/// Reads entries from the newest file back. A line that cannot be read is passed over; [`verify`] finds it.
pub(super) fn list(directory: &Path, query: &Query) -> anyhow::Result<Vec<View>> {
    let mut views = Vec::new();
    // Results stand after their intents, and so are met first.
    let mut outcomes: HashMap<u64, Outcome> = HashMap::new();
    for name in files::list(directory)?.iter().rev() {
        let text = files::read(directory, name)?;
        for line in text.lines().rev().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            let Line { seq, time, previous, record } = line;
            if views.len() >= query.limit || query.since.is_some_and(|since| time < since) {
                return Ok(views);
            }
            match record {
                Record::Outcome(outcome) => drop(outcomes.insert(outcome.intent, outcome)),
                Record::Intent(intent) => {
                    let outcome = outcomes.remove(&seq);
                    let id = outcome.as_ref().and_then(|outcome| outcome.id.as_ref());
                    if query.fits(seq, time, &intent, id) {
                        views.push(View { seq, time, previous, intent, outcome });
                    }
                }
                Record::Dropped { .. } | Record::Repaired { .. } => {}
            }
        }
    }
    Ok(views)
}

/// A line of the audit as it is in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    /// Number.
    pub seq: u64,
    /// Time.
    pub time: Timestamp,
    /// Text, without its end.
    pub text: String,
}

/// The oldest `limit` complete lines after a number. A line that cannot be read is passed over.
pub(super) fn after(directory: &Path, seq: u64, limit: usize) -> anyhow::Result<Vec<Raw>> {
    let names = files::list(directory)?;
    // The file with the next line, if it is still there, and those behind it.
    let first = names.iter().rposition(|name| name.first <= seq.saturating_add(1)).unwrap_or(0);
    let mut found = Vec::new();
    for name in names.iter().skip(first) {
        for text in lines(directory, name, None, None)?.lines() {
            let Ok(line) = serde_json::from_str::<Line>(text) else { continue };
            if line.seq > seq {
                found.push(Raw { seq: line.seq, time: line.time, text: text.to_owned() });
            }
            if found.len() >= limit {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Number of the last line; 0 if there is none.
pub(super) fn last(directory: &Path) -> anyhow::Result<u64> {
    for name in files::list(directory)?.iter().rev() {
        let text = lines(directory, name, None, None)?;
        if let Some(line) = text.lines().rev().find_map(|line| serde_json::from_str::<Line>(line).ok()) {
            return Ok(line.seq);
        }
    }
    Ok(0)
}

/// Complete lines of a file, with their ends, of a time. Lines are as they are in the file, so that their chain can
/// be verified elsewhere.
pub(super) fn lines(
    directory: &Path,
    name: &files::Name,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> anyhow::Result<String> {
    let text = files::read(directory, name)?;
    // A last line without an end is being written.
    let whole = text.rfind('\n').and_then(|end| text.get(..=end)).unwrap_or_default();
    if since.is_none() && until.is_none() {
        return Ok(whole.to_owned());
    }
    let fits = |line: &&str| {
        // A line that cannot be read belongs to an export: it is what somebody looks for.
        serde_json::from_str::<Line>(line).map_or(true, |line| {
            since.is_none_or(|since| line.time >= since) && until.is_none_or(|until| line.time <= until)
        })
    };
    Ok(whole.split_inclusive('\n').filter(fits).collect())
}

/// Result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verification {
    /// Lines that were read.
    pub lines: u64,
    /// File and line of the first one that does not fit.
    pub first_bad: Option<String>,
}

/// Verifies that each line names the digest of the one before, and that numbers have no gap. The first line
/// may be the first of all, or follow a file whose removal is recorded.
pub(super) fn verify(directory: &Path) -> anyhow::Result<Verification> {
    let (mut lines, mut expected, mut first) = (0, None::<(u64, String)>, None);
    let mut dropped: HashSet<String> = HashSet::new();
    let mut first_bad = None;
    for name in &files::list(directory)? {
        let bytes = std::fs::read(directory.join(name.text()))?;
        let text = String::from_utf8_lossy(&bytes);
        for (at, text) in text.lines().enumerate() {
            lines += 1;
            let line = serde_json::from_str::<Line>(text).ok();
            let fits = line.as_ref().is_some_and(|line| match &expected {
                Some((seq, previous)) => line.seq == *seq && line.previous == *previous,
                None => line.seq == name.first,
            });
            let Some(line) = line.filter(|_| fits) else {
                first_bad = Some(format!("{} line {}", name.text(), at + 1));
                return Ok(Verification { lines, first_bad });
            };
            first.get_or_insert_with(|| (name.text(), line.seq, line.previous.clone()));
            if let Record::Dropped { last, .. } = line.record {
                dropped.insert(last);
            }
            expected = Some((line.seq + 1, digest(text)));
        }
    }
    if let Some((name, seq, previous)) = first {
        let is_first = seq == 1 && previous == NOTHING;
        if !is_first && !dropped.contains(&previous) {
            first_bad = Some(format!("{name} line 1"));
        }
    }
    Ok(Verification { lines, first_bad })
}
