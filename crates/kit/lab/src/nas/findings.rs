//! Values and failures of a case, collected over its rounds.

use crate::results::{Better, CaseResult, Goal, Measure, Paper, SideResult, Unit};
use std::collections::BTreeMap;

/// Values of a side, by the name of the measure.
#[derive(Debug, Default)]
pub(crate) struct Values {
    rounds: BTreeMap<&'static str, (Unit, Better, Vec<f64>)>,
    /// Bytes moved, by who moved them and why; of the last round.
    pub(crate) moved_bytes: BTreeMap<String, u64>,
}

impl Values {
    /// Adds the value of a round.
    pub(crate) fn add(&mut self, name: &'static str, value: f64, unit: Unit, better: Better) {
        self.rounds.entry(name).or_insert_with(|| (unit, better, Vec::new())).2.push(value);
    }

    /// Adds a time, for which lower is better.
    pub(crate) fn seconds(&mut self, name: &'static str, value: f64) {
        self.add(name, value, Unit::Seconds, Better::Lower);
    }

    /// Adds a number of bytes.
    pub(crate) fn bytes(&mut self, name: &'static str, value: u64, better: Better) {
        self.add(name, value as f64, Unit::Bytes, better);
    }

    /// Median of a measure.
    pub(crate) fn median(&self, name: &str) -> Option<f64> {
        let (unit, better, values) = self.rounds.get(name)?;
        Measure::of(values, *unit, *better).map(|measure| measure.median)
    }

    fn side(self) -> SideResult {
        let measure = |(name, (unit, better, values)): (&str, (Unit, Better, Vec<f64>))| {
            Measure::of(&values, unit, better).map(|measure| (name.to_owned(), measure))
        };
        let measures = self.rounds.into_iter().filter_map(measure).collect();
        SideResult { measures, moved_bytes: self.moved_bytes, ..SideResult::default() }
    }
}

/// All findings of a case.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) off: Values,
    pub(crate) on: Values,
    pub(crate) others: BTreeMap<&'static str, Values>,
    pub(crate) failures: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) skipped: Option<String>,
    pub(crate) goals: Vec<Goal>,
}

impl Findings {
    /// Records a failure unless `holds`.
    pub(crate) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.failures.push(what());
        }
    }

    /// Records a note for the reader, once.
    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds the goal that on is `wanted` times as fast as off.
    pub(crate) fn goal_faster(&mut self, wanted: f64) {
        let times = self.off.median("seconds").zip(self.on.median("seconds"));
        let measured = times.map(|(off, on)| off / on.max(1e-9));
        let what = format!("on at least {wanted} × as fast as off");
        self.goals.push(Goal { what, measured, wanted, reached: measured.is_some_and(|measured| measured >= wanted) });
    }

    pub(crate) fn result(self, case: &str, title: &str, paper: Paper, seconds: f64) -> CaseResult {
        CaseResult {
            case: case.to_owned(),
            title: title.to_owned(),
            goals: {
                let failed = !self.failures.is_empty();
                self.goals.into_iter().map(|goal| Goal { reached: goal.reached && !failed, ..goal }).collect()
            },
            check_passed: self.failures.is_empty() && self.skipped.as_deref() != Some("cancelled"),
            failures: self.failures,
            skipped: self.skipped,
            off: self.off.side(),
            on: self.on.side(),
            others: self.others.into_iter().map(|(name, values)| (name.to_owned(), values.side())).collect(),
            paper,
            notes: self.notes,
            seconds,
        }
    }
}
