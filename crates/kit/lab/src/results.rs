//! What a run found: printed by `-o json`, kept in a file, compared, and drawn by the report. The names of the fields are a promise.

use crate::error::LabError;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

/// The format that this version writes.
pub const VERSION: u32 = 1;

/// A run of some or all cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`VERSION`].
    pub version: u32,
    /// The version of the program, with its commit where that is known.
    pub windlass: String,
    /// When it began.
    pub started: Timestamp,
    /// When its last case ended; the same as `started` while nothing has.
    pub ended: Timestamp,
    /// The machine that played the hosts.
    pub machine: Machine,
    /// Rounds of off and on.
    pub pairs: u32,
    /// The scale: `small`, `paper`, or a size in bytes as text.
    pub size: String,
    /// The logical units or directories, in the order they were given.
    pub subjects: Vec<Subject>,
    /// The cases that ran, in the order they ran.
    pub cases: Vec<CaseResult>,
    /// Why the run ended before its last case: cancelled, or the array was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_early: Option<String>,
}

/// The machine that played the hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processors.
    pub processors: u32,
    /// What the first of them says it is.
    pub processor: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Operating system and its release.
    pub system: String,
}

/// A logical unit or a directory that a run used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// URL without secrets, or a path.
    pub url: String,
    /// Vendor of standard INQUIRY data, or the file system's type.
    pub vendor: String,
    /// Product of standard INQUIRY data, or what is mounted.
    pub product: String,
    /// Revision of standard INQUIRY data.
    pub revision: String,
    /// NAA identifier as hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub naa: Option<String>,
    /// Bytes that it has.
    pub size_bytes: u64,
}

/// What came of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// Name, as in `clone-template`.
    pub case: String,
    /// One line that says what it does.
    pub title: String,
    /// True when it ran to its end, be it one side of it for want of the primitive, and every check of content, locks and space held, in every round. A missed goal does not make it false.
    pub check_passed: bool,
    /// What was checked and did not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Why it did not run at all, or one of its sides did not: the array lacks the primitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The host does the work.
    pub off: Side,
    /// The array does.
    pub on: Side,
    /// What off and on are measured against: `baseline` (nobody locks), `idle`, `written` (an already written disk).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, Side>,
    /// What the paper says.
    pub paper: Paper,
    /// What is expected of an array that does it as metadata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<Goal>,
    /// What a reader should know: what the machine did not allow, how the case differs from the paper's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How long the case took, in seconds.
    pub seconds: f64,
}

/// What is to be said of a case in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every check held.
    Passed,
    /// One did not.
    Failed,
    /// It did not run, or not to its end, or one of its sides did not.
    NotRun,
}

impl CaseResult {
    /// See [`Verdict`].
    pub fn verdict(&self) -> Verdict {
        match self {
            case if !case.failures.is_empty() => Verdict::Failed,
            case if case.skipped.is_some() => Verdict::NotRun,
            case if case.check_passed => Verdict::Passed,
            _ => Verdict::Failed,
        }
    }
}

/// What was measured with a primitive off, or on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// By name, as in `seconds` or `read_iops`; the same names on both sides.
    pub measures: BTreeMap<String, Measure>,
    /// Over time, of the last round: seconds since its begin, and the value. As in `write_iops`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<(f64, f64)>>,
    /// Who moved how many bytes, and why: `offloaded`, or a reason for the host's work.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub moved_bytes: BTreeMap<String, u64>,
}

/// A measure of all rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The median of the rounds.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// What it counts.
    pub unit: Unit,
    /// What is good.
    pub better: Better,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes in a second.
    BytesPerSecond,
    /// Operations, commands or conflicts in a second.
    PerSecond,
    /// Things.
    Count,
    /// A share or a ratio; 1 is all, or equal.
    Ratio,
}

/// Which of two numbers is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The higher.
    Higher,
    /// The lower.
    Lower,
    /// Neither: it explains the others.
    Neither,
}

/// What the paper reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// Which paper, and which of its tests: `P1, XCOPY 1`.
    pub test: String,
    /// Its array and its host.
    pub system: String,
    /// Its findings in words.
    pub words: String,
    /// Its findings in numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<PaperFigure>,
}

/// A number of a paper, beside a measure of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperFigure {
    /// The name of our measure.
    pub measure: String,
    /// Its unit.
    pub unit: Unit,
    /// Without the primitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<f64>,
    /// With it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<f64>,
    /// With it, as a multiple of without, where the paper says only that: −14 % is 0.86.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// A number that is wanted, and whether it was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// In words: `on at least 20 × as fast as off`.
    pub what: String,
    /// What was measured; absent when nothing was, or nothing finite, which misses the goal.
    #[serde(default)]
    pub measured: Option<f64>,
    /// The bound.
    pub wanted: f64,
    /// True when it was reached, by a case whose checks held.
    pub reached: bool,
}

impl Measure {
    /// Of the rounds' values; nothing when there is none, or one is not a number.
    pub fn of(values: &[f64], unit: Unit, better: Better) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let upper = *sorted.get(middle)?;
        let median = match sorted.len() % 2 {
            0 => (sorted.get(middle.checked_sub(1)?)? + upper) / 2.0,
            _ => upper,
        };
        values.iter().all(|value| value.is_finite()).then_some(Self { median, low, high, unit, better })
    }
}

/// Keeps a run in a file, which is either the old one or all of the new one.
///
/// Errors: [`LabError::Save`].
pub fn save(run: &Run, file: &Path) -> Result<(), LabError> {
    let failed = |error: std::io::Error| LabError::Save { file: file.display().to_string(), error };
    let mut text = serde_json::to_string_pretty(run).map_err(|error| failed(error.into()))?;
    text.push('\n');
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let mut new = fs::File::create(&beside).map_err(failed)?;
    new.write_all(text.as_bytes()).and_then(|()| new.sync_all()).map_err(failed)?;
    fs::rename(&beside, file).map_err(failed)
}

/// Reads a run that was kept.
///
/// Errors: [`LabError::Load`], also for a format of a later version.
pub fn load(file: &Path) -> Result<Run, LabError> {
    let failed = |reason: String| LabError::Load { file: file.display().to_string(), reason };
    let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    let run: Run = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
    match run.version {
        VERSION => Ok(run),
        other => Err(failed(format!("its format is {other}; this program knows {VERSION}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_the_median_with_its_spread() {
        let of = |values: &[f64]| Measure::of(values, Unit::Seconds, Better::Lower).map(|m| (m.low, m.median, m.high));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0)));
        assert_eq!(of(&[4.0, 1.0]), Some((1.0, 2.5, 4.0)));
        assert_eq!((of(&[]), of(&[1.0, f64::NAN])), (None, None));
    }
}
