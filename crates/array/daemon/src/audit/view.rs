//! Reading and verifying the audit.

use super::files;
use super::line::{Intent, Line, NOTHING, Outcome, Record, digest};
use anyhow::Context;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
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

/// Place in the audit: behind a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the line; 0: before the first.
    pub seq: u64,
    /// File and offset behind the line; absent: it has to be looked for.
    known: Option<(files::Name, u64)>,
}

impl Place {
    /// Behind the line with a number.
    pub(crate) fn behind(seq: u64) -> Self {
        Self { seq, known: None }
    }
}

/// The oldest `limit` complete lines behind a place, and the place behind them. A line that cannot be read is passed
/// over. Files are read from the place on, if its offset is known.
pub(super) fn after(directory: &Path, place: &Place, limit: usize) -> anyhow::Result<(Vec<Raw>, Place)> {
    let names = files::list(directory)?;
    let known = place.known.as_ref().and_then(|(name, offset)| {
        let rest = names.iter().position(|other| other == name).and_then(|at| names.get(at..))?;
        Some((rest, *offset))
    });
    if let Some((rest, offset)) = known {
        let found = collect(directory, rest, offset, place.seq, limit)?;
        // Another number: the file was repaired since, and the offset is in the midst of a line.
        if found.0.first().is_none_or(|line| line.seq == place.seq.saturating_add(1)) {
            return Ok(found);
        }
    }
    // The file with the next line, if it is still there, and those behind it.
    let first = names.iter().rposition(|name| name.first <= place.seq.saturating_add(1)).unwrap_or(0);
    collect(directory, names.get(first..).unwrap_or_default(), 0, place.seq, limit)
}

/// Lines with numbers above `seq` from files, the first one read from an offset.
fn collect(
    directory: &Path,
    names: &[files::Name],
    offset: u64,
    seq: u64,
    limit: usize,
) -> anyhow::Result<(Vec<Raw>, Place)> {
    let (mut found, mut place) = (Vec::new(), Place::behind(seq));
    for (at, name) in names.iter().enumerate() {
        let path = directory.join(name.text());
        let context = || format!("cannot read {}", path.display());
        let mut file = File::open(&path).with_context(context)?;
        let is_inside = at == 0 && offset <= file.metadata().with_context(context)?.len();
        let mut offset = if is_inside { offset } else { 0 };
        file.seek(SeekFrom::Start(offset)).with_context(context)?;
        let mut file = BufReader::new(file);
        let mut bytes = Vec::new();
        while found.len() < limit {
            bytes.clear();
            let count = file.read_until(b'\n', &mut bytes).with_context(context)?;
            // A last line without an end is being written.
            if bytes.pop() != Some(b'\n') {
                break;
            }
            offset += u64::try_from(count)?;
            let line = serde_json::from_slice::<Line>(&bytes).ok().filter(|line| line.seq > place.seq);
            if let (Some(line), Ok(text)) = (line, std::str::from_utf8(&bytes)) {
                place.seq = line.seq;
                found.push(Raw { seq: line.seq, time: line.time, text: text.to_owned() });
            }
        }
        place.known = Some((name.clone(), offset));
        if found.len() >= limit {
            break;
        }
    }
    Ok((found, place))
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
