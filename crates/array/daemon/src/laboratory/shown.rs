//! Cases and results of the laboratory as the REST interface shows them. Texts and lists of results are cut: they may
//! come from a file that somebody has uploaded.

use api::{LabCase, LabMeasure, LabOutcome, LabResult, LabRun, LabRunState};
use lab::results::{Better, CaseResult, PaperFigure, Run, Unit, VERSION, Verdict};
use lab::{Case, cases, nas};
use std::collections::BTreeSet;

/// Reason for which the array does not run cases of files.
pub(super) const OF_FILES: &str = "it needs a share, and windlass lab run CASE nfs://HOST/SHARE runs it from a host";
/// Longest text, most texts of a result, and most figures.
const MAX_TEXT: usize = 500;
const MAX_TEXTS: usize = 20;
const MAX_MEASURES: usize = 64;
/// Most cases of a run.
const MAX_CASES: usize = 64;

/// All cases.
pub(super) fn cases() -> Vec<LabCase> {
    let block = |case: &Case| {
        let paper = case.paper();
        LabCase {
            name: case.name.to_owned(),
            title: case.title.to_owned(),
            needs: case.needs.iter().map(ToString::to_string).collect(),
            test: paper.test,
            system: paper.system,
            finding: paper.words,
            unavailable: None,
        }
    };
    let files = |case: &nas::NasCase| {
        let paper = nas::paper(case.name);
        LabCase {
            name: case.name.to_owned(),
            title: case.title.to_owned(),
            needs: vec!["a share".to_owned()],
            test: paper.test,
            system: paper.system,
            finding: paper.words,
            unavailable: Some(OF_FILES.to_owned()),
        }
    };
    cases::ALL.iter().map(block).chain(nas::CASES.iter().map(files)).collect()
}

/// Text of a harmless length.
pub(super) fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_TEXT {
        text.to_owned()
    } else {
        text.chars().take(MAX_TEXT).chain(['…']).collect()
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "seconds",
        Unit::Bytes => "bytes",
        Unit::BytesPerSecond => "bytes_per_second",
        Unit::PerSecond => "per_second",
        Unit::Count => "count",
        Unit::Ratio => "ratio",
    }
}

const fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither",
    }
}

/// Ratio of on to off in a paper.
fn paper_ratio(figure: &PaperFigure) -> Option<f64> {
    let both = figure.off.zip(figure.on).map(|(off, on)| on / off);
    figure.ratio.or(both).filter(|ratio| ratio.is_finite())
}

/// Result of a case, in the form of the REST interface.
pub fn lab_result(result: &CaseResult) -> LabResult {
    let names: BTreeSet<&String> = result.off.measures.keys().chain(result.on.measures.keys()).collect();
    let measure = |name: &String| {
        let (off, on) = (result.off.measures.get(name), result.on.measures.get(name));
        let of_either = off.or(on)?;
        let figure = result.paper.figures.iter().find(|figure| figure.measure == *name);
        Some(LabMeasure {
            name: cut(name),
            unit: unit(of_either.unit).to_owned(),
            better: better(of_either.better).to_owned(),
            off: off.map(|measure| measure.median),
            on: on.map(|measure| measure.median),
            paper_ratio: figure.and_then(paper_ratio),
        })
    };
    LabResult {
        case: cut(&result.case),
        outcome: match result.verdict() {
            Verdict::Passed => LabOutcome::Passed,
            Verdict::Failed => LabOutcome::Failed,
            Verdict::NotRun => LabOutcome::NotRun,
        },
        seconds: result.seconds,
        failures: result.failures.iter().take(MAX_TEXTS).map(|text| cut(text)).collect(),
        skipped: result.skipped.as_deref().map(cut),
        goals: number(result.goals.len()),
        goals_reached: number(result.goals.iter().filter(|goal| goal.reached).count()),
        measures: names.into_iter().filter_map(measure).take(MAX_MEASURES).collect(),
    }
}

/// A result that the process of a run has reported, cut to a harmless size.
pub(super) fn bounded(result: LabResult) -> LabResult {
    let LabResult { case, outcome, seconds, failures, skipped, goals, goals_reached, measures } = result;
    let measure = |measure: LabMeasure| LabMeasure {
        name: cut(&measure.name),
        unit: cut(&measure.unit),
        better: cut(&measure.better),
        ..measure
    };
    LabResult {
        case: cut(&case),
        outcome,
        seconds,
        failures: failures.iter().take(MAX_TEXTS).map(|text| cut(text)).collect(),
        skipped: skipped.as_deref().map(cut),
        goals,
        goals_reached,
        measures: measures.into_iter().take(MAX_MEASURES).map(measure).collect(),
    }
}

/// Reads results that `windlass lab run` has saved.
///
/// Errors: a sentence.
pub(super) fn parse(bytes: &[u8]) -> Result<Run, String> {
    let run: Run = serde_json::from_slice(bytes)
        .map_err(|error| format!("the file is not what a run of the laboratory saves: {error}"))?;
    if run.version != VERSION {
        return Err(format!("the file has format {}, and this array reads {VERSION}", run.version));
    }
    if run.cases.len() > MAX_CASES {
        return Err(format!("the file has {} cases, and at most {MAX_CASES} are possible", run.cases.len()));
    }
    Ok(run)
}

/// Uploaded results as a run.
pub(super) fn uploaded(id: u64, run: &Run, by: String) -> LabRun {
    let subject = run.subjects.first();
    let array = subject.map(|of| cut(format!("{} {} {}", of.vendor, of.product, of.revision).trim()));
    LabRun {
        id,
        state: LabRunState::Uploaded,
        cases: run.cases.iter().map(|case| cut(&case.case)).collect(),
        size: cut(&run.size),
        pairs: run.pairs,
        stop_when_host_p99_us: None,
        by,
        array,
        started: run.started,
        finished: Some(run.ended),
        reason: run.ended_early.as_deref().map(cut),
        now: None,
        results: run.cases.iter().map(lab_result).collect(),
        has_report: true,
        left: Vec::new(),
        points: Vec::new(),
    }
}
