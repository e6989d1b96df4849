//! Results of a run: printed by `-o json`, saved in a file, compared, and drawn by the report. The
//! names of the fields are stable.

use crate::error::LabError;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Version of the format.
pub const VERSION: u32 = 1;

/// A run of some or all cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Version of the format, [`VERSION`].
    pub version: u32,
    /// Version of the program, with its commit where that is known.
    pub windlass: String,
    /// Start of the run.
    pub started: Timestamp,
    /// End of the last case; equal to `started` before the first one ends.
    pub ended: Timestamp,
    /// Machine on which the hosts ran.
    pub machine: Machine,
    /// Number of pairs of rounds, off and on.
    pub pairs: u32,
    /// Scale: `small`, `paper`, or a size in bytes as text.
    pub size: String,
    /// The logical units or directories, in the order they were given.
    pub subjects: Vec<Subject>,
    /// Cases that ran, in order.
    pub cases: Vec<CaseResult>,
    /// Reason why the run ended before its last case: cancelled, or the array was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_early: Option<String>,
}

/// A machine on which hosts run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Number of processors.
    pub processors: u32,
    /// Model of the first processor.
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
    /// Product of standard INQUIRY data, or the source of the mount.
    pub product: String,
    /// Revision of standard INQUIRY data.
    pub revision: String,
    /// NAA identifier as hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub naa: Option<String>,
    /// Size in bytes.
    pub size_bytes: u64,
}

/// Result of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// Name, as in `clone-template`.
    pub case: String,
    /// Description in one line.
    pub title: String,
    /// Whether the case ran to its end (on one side only, if the primitive is missing) and every
    /// check of content, locks and space held, in every round. A missed goal does not make it
    /// false.
    pub check_passed: bool,
    /// Checks that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Reason why the case, or one of its sides, did not run: the array lacks the primitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Side on which the host does the work.
    pub off: SideResult,
    /// Side on which the array does the work.
    pub on: SideResult,
    /// Baselines for off and on: `baseline` (no locks), `idle`, `written` (an already written
    /// disk).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, SideResult>,
    /// Result in the paper.
    pub paper: Paper,
    /// Goals for an array that does the work as metadata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<Goal>,
    /// Notes for the reader: limits of the machine, differences from the paper's test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Duration of the case in seconds.
    pub seconds: f64,
}

/// Summary of a case in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All checks held.
    Passed,
    /// A check failed.
    Failed,
    /// The case, or one of its sides, did not run or did not end.
    NotRun,
}

impl CaseResult {
    /// Summary of the result.
    pub fn verdict(&self) -> Verdict {
        match self {
            case if !case.failures.is_empty() => Verdict::Failed,
            case if case.skipped.is_some() => Verdict::NotRun,
            case if case.check_passed => Verdict::Passed,
            _ => Verdict::Failed,
        }
    }
}

/// Measurements with a primitive off, or on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideResult {
    /// Measures by name, as in `seconds` or `read_iops`; both sides have the same names.
    pub measures: BTreeMap<String, Measure>,
    /// Series over time in the last round, by name, as in `write_iops`: seconds since its start,
    /// and the value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<(f64, f64)>>,
    /// Bytes moved, by who moved them and why: `offloaded`, or a reason for the host's work.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub moved_bytes: BTreeMap<String, u64>,
}

/// A measure over all rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Median of the rounds.
    pub median: f64,
    /// Lowest value.
    pub low: f64,
    /// Highest value.
    pub high: f64,
    /// Unit of the values.
    pub unit: Unit,
    /// Direction that is better.
    pub better: Better,
}

/// Unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Operations, commands or conflicts per second.
    PerSecond,
    /// Number of things.
    Count,
    /// A share or a ratio; 1 is all, or equal.
    Ratio,
}

/// Direction in which a number is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Higher is better.
    Higher,
    /// Lower is better.
    Lower,
    /// Neither: the number only explains other ones.
    Neither,
}

/// Report of a paper on a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// Paper and test: `P1, XCOPY 1`.
    pub test: String,
    /// Array and host of the paper.
    pub system: String,
    /// Findings in words.
    pub words: String,
    /// Findings in numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<PaperFigure>,
}

/// A number of a paper, comparable with a measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperFigure {
    /// Name of the measure.
    pub measure: String,
    /// Unit of the number.
    pub unit: Unit,
    /// Value without the primitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<f64>,
    /// Value with the primitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<f64>,
    /// Ratio of on to off, where the paper has only that: −14 % is 0.86.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// A goal, and whether it was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Goal in words: `on at least 20 × as fast as off`.
    pub what: String,
    /// Measured value; absent when there is none, or it is not finite, which misses the goal.
    #[serde(default)]
    pub measured: Option<f64>,
    /// Bound.
    pub wanted: f64,
    /// Whether it was reached, in a case whose checks held.
    pub reached: bool,
}

impl Measure {
    /// Summarizes the values of the rounds; `None` when there are none, or one is not finite.
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

/// Saves a run in a file atomically: after an error the file is the old or the new one.
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

/// Reads a saved run.
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
