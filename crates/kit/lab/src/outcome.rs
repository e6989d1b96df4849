//! Results of a case so far. Filled round by round, so that a cancelled case keeps its earlier
//! rounds.

use crate::results::{Better, CaseResult, Goal, Measure, Paper, SideResult, Unit};
use data_mover::Moved;
use std::collections::BTreeMap;

/// Side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The host does the work.
    Off,
    /// The array does the work.
    On,
}

impl Side {
    /// `off` or `on`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
        }
    }
}

/// Measures of one side in one round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    measures: BTreeMap<String, (Unit, Better, f64)>,
    series: BTreeMap<String, Vec<(f64, f64)>>,
    moved: BTreeMap<String, u64>,
}

impl Round {
    pub(crate) fn put(&mut self, name: &str, unit: Unit, better: Better, value: f64) {
        self.measures.insert(name.into(), (unit, better, value));
    }

    /// Adds a number of bytes or things.
    pub(crate) fn put_count(&mut self, name: &str, unit: Unit, better: Better, value: u64) {
        self.put(name, unit, better, value as f64);
    }

    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        self.measures.get(name).map(|(_, _, value)| *value)
    }

    pub(crate) fn put_series(&mut self, name: &str, points: Vec<(f64, f64)>) {
        self.series.insert(name.into(), points);
    }

    /// Adds bytes by who moved them, and why.
    pub(crate) fn moved(&mut self, moved: &Moved) {
        if moved.offloaded_bytes > 0 {
            *self.moved.entry("offloaded".into()).or_default() += moved.offloaded_bytes;
        }
        for (reason, bytes) in &moved.by_host {
            *self.moved.entry(reason.to_string()).or_default() += bytes;
        }
    }

    /// Adds the measures of a part of the round, each with a suffix.
    pub(crate) fn add_part(&mut self, part: Self, suffix: &str) {
        for (name, measure) in part.measures {
            self.measures.insert(format!("{name}_{suffix}"), measure);
        }
        for (reason, bytes) in part.moved {
            *self.moved.entry(reason).or_default() += bytes;
        }
        self.series.extend(part.series);
    }

    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<&str> {
        self.measures.keys().map(String::as_str).collect()
    }
}

/// Measures of one side in all rounds.
#[derive(Clone, Debug, Default)]
struct Rounds {
    measures: BTreeMap<String, (Unit, Better, Vec<f64>)>,
    series: BTreeMap<String, Vec<(f64, f64)>>,
    moved: BTreeMap<String, u64>,
}

impl Rounds {
    fn add(&mut self, round: Round) {
        for (name, (unit, better, value)) in round.measures {
            self.measures.entry(name).or_insert_with(|| (unit, better, Vec::new())).2.push(value);
        }
        // Series and bytes moved are those of the last round.
        self.series = round.series;
        self.moved = round.moved;
    }

    fn side(&self) -> SideResult {
        let measures = self
            .measures
            .iter()
            .filter_map(|(name, (unit, better, values))| Some((name.clone(), Measure::of(values, *unit, *better)?)));
        SideResult { measures: measures.collect(), series: self.series.clone(), moved_bytes: self.moved.clone() }
    }
}

/// Results of a case so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    off: Rounds,
    on: Rounds,
    others: BTreeMap<String, Rounds>,
    failures: Vec<String>,
    goals: Vec<Goal>,
    notes: Vec<String>,
    /// Reason why a side cannot run.
    pub(crate) no_off: Option<String>,
    pub(crate) no_on: Option<String>,
    /// Reason why the whole case cannot run.
    pub(crate) impossible: Option<String>,
}

impl Outcome {
    pub(crate) fn add(&mut self, side: Side, round: Round) {
        match side {
            Side::Off => self.off.add(round),
            Side::On => self.on.add(round),
        }
    }

    /// Adds a round of a baseline.
    pub(crate) fn add_other(&mut self, name: &str, round: Round) {
        self.others.entry(name.into()).or_default().add(round);
    }

    /// Fails if the on side, which locks by COMPARE AND WRITE, met reservation conflicts, by their
    /// number or their rate.
    pub(crate) fn check_no_conflicts(&mut self, side: Side, round: &Round) {
        let known = ["reservation_conflicts", "conflicts_per_second"];
        let found = known.iter().find_map(|name| round.measures.get(*name));
        let Some((unit, _, conflicts)) = found.filter(|(_, _, conflicts)| side == Side::On && *conflicts != 0.0) else {
            return;
        };
        let conflicts = match unit {
            Unit::PerSecond => format!("{conflicts:.1} reservation conflicts a second"),
            _ => format!("{conflicts} reservation conflicts"),
        };
        self.fail(format!("{conflicts} with COMPARE AND WRITE"));
    }

    /// Records a failed check, once.
    pub(crate) fn fail(&mut self, words: String) {
        if !self.failures.contains(&words) {
            self.failures.push(words);
        }
    }

    /// Records a note for the reader, once.
    pub(crate) fn note(&mut self, words: impl Into<String>) {
        let words = words.into();
        if !self.notes.contains(&words) {
            self.notes.push(words);
        }
    }

    /// Median of a measure of `off`, `on` or a baseline.
    pub(crate) fn median(&self, side: &str, name: &str) -> Option<f64> {
        let rounds = match side {
            "off" => &self.off,
            "on" => &self.on,
            other => self.others.get(other)?,
        };
        rounds.side().measures.get(name).map(|measure| measure.median)
    }

    /// Adds a goal of at least `wanted`.
    pub(crate) fn at_least(&mut self, what: impl Into<String>, measured: Option<f64>, wanted: f64) {
        self.goal(what.into(), measured, wanted, |measured| measured >= wanted);
    }

    /// Adds a goal of at most `wanted`.
    pub(crate) fn at_most(&mut self, what: impl Into<String>, measured: Option<f64>, wanted: f64) {
        self.goal(what.into(), measured, wanted, |measured| measured <= wanted);
    }

    /// Adds a goal. If both sides ran but nothing was measured, the goal is missed.
    fn goal(&mut self, what: String, measured: Option<f64>, wanted: f64, holds: impl Fn(f64) -> bool) {
        if self.no_off.is_some() || self.no_on.is_some() {
            return;
        }
        let measured = measured.filter(|value| value.is_finite());
        self.goals.push(Goal { what, measured, wanted, reached: measured.is_some_and(holds) });
    }

    /// Checks freed space by GET LBA STATUS. After `written` bytes were written, `taken` bytes were
    /// mapped, and after UNMAP `kept` of them still are. Fails when too few were reported as
    /// mapped, or none were freed.
    pub(crate) fn check_freed(&mut self, side: Side, written: u64, taken: f64, kept: f64) {
        let word = side.word();
        let bytes = |bytes: f64| text::size::format(bytes.max(0.0) as u64);
        if taken < 0.99 * written as f64 {
            let (taken, written) = (bytes(taken), bytes(written as f64));
            self.fail(format!(
                "{word}: {written} were written, but GET LBA STATUS reports only {taken} more as mapped"
            ));
        } else if kept < -0.01 * written as f64 {
            let less = bytes(-kept);
            self.fail(format!("{word}: {less} less are mapped after UNMAP than before anything was written"));
        } else if side == Side::On && kept > 0.99 * taken {
            self.fail(format!("UNMAP of {} ended with GOOD, but freed nothing", bytes(taken)));
        }
    }

    /// Median of one side divided by that of another one.
    pub(crate) fn ratio(&self, name: &str, side: &str, to: &str) -> Option<f64> {
        Some(self.median(side, name)? / self.median(to, name)?)
    }

    /// Adds the goal that on is `times` as fast as off.
    pub(crate) fn faster(&mut self, name: &str, times: f64) {
        let measured = self.ratio(name, "off", "on");
        self.at_least(format!("{name}: on at least {times} × as fast as off"), measured, times);
    }

    /// Adds the goal that almost no bytes are on the wire with the primitive on.
    pub(crate) fn off_the_wire(&mut self) {
        let measured = self.ratio("wire_bytes", "on", "off");
        self.at_most("wire_bytes: on at most 0.1 % of off", measured, 0.001);
    }

    /// Builds the result, with the facts of the case.
    pub(crate) fn result(self, name: &str, title: &str, paper: Paper, seconds: f64) -> CaseResult {
        let ran = self.impossible.is_none();
        let failed = !self.failures.is_empty();
        // Goals of a failed case are void: a copy that did not happen is fast.
        let goals = self.goals.into_iter().map(|goal| Goal { reached: goal.reached && !failed, ..goal }).collect();
        let skipped = match (self.impossible, self.no_off, self.no_on) {
            (Some(all), _, _) => Some(all),
            (None, None, None) => None,
            (None, off, on) => {
                let side = |word: &str, why: Option<String>| why.map(|why| format!("{word}: {why}"));
                Some([side("off", off), side("on", on)].into_iter().flatten().collect::<Vec<_>>().join("; "))
            }
        };
        CaseResult {
            case: name.into(),
            title: title.into(),
            check_passed: self.failures.is_empty() && ran,
            failures: self.failures,
            skipped,
            off: self.off.side(),
            on: self.on.side(),
            others: self.others.iter().map(|(name, rounds)| (name.clone(), rounds.side())).collect(),
            paper,
            goals,
            notes: self.notes,
            seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(seconds: f64) -> Round {
        let mut round = Round::default();
        round.put("seconds", Unit::Seconds, Better::Lower, seconds);
        round
    }

    #[test]
    fn conflicts_fail_the_side_that_should_have_none() {
        let mut outcome = Outcome::default();
        let mut round = Round::default();
        round.put("conflicts_per_second", Unit::PerSecond, Better::Lower, 2.25);
        outcome.check_no_conflicts(Side::Off, &round);
        outcome.check_no_conflicts(Side::On, &Round::default());
        assert_eq!(outcome.failures, Vec::<String>::new());
        outcome.check_no_conflicts(Side::On, &round);
        round.put("reservation_conflicts", Unit::Count, Better::Lower, 9.0);
        outcome.check_no_conflicts(Side::On, &round);
        let words = ["2.2 reservation conflicts a second", "9 reservation conflicts"];
        assert_eq!(outcome.failures, words.map(|words| format!("{words} with COMPARE AND WRITE")));
        round.put("reservation_conflicts", Unit::Count, Better::Lower, 0.0);
        let mut outcome = Outcome::default();
        outcome.check_no_conflicts(Side::On, &round);
        assert!(outcome.failures.is_empty());
    }

    #[test]
    fn medians_make_goals_and_failures_a_failed_check() {
        let mut outcome = Outcome::default();
        for (off, on) in [(10.0, 1.0), (30.0, 0.5), (20.0, 0.1)] {
            outcome.add(Side::Off, round(off));
            outcome.add(Side::On, round(on));
        }
        outcome.add_other("idle", round(1.0));
        outcome.faster("seconds", 20.0);
        outcome.faster("seconds", 41.0);
        outcome.faster("nothing", 2.0);
        outcome.note("n");
        outcome.note("n");
        let good = outcome.clone().result("c", "t", Paper::default(), 1.0);
        assert_eq!(
            good.goals.iter().map(|goal| (goal.measured, goal.reached)).collect::<Vec<_>>(),
            [(Some(40.0), true), (Some(40.0), false), (None, false)]
        );
        assert_eq!((good.check_passed, good.notes.len(), good.others.len(), good.skipped), (true, 1, 1, None));
        outcome.fail("it is not".into());
        outcome.no_on = Some("no EXTENDED COPY".into());
        let bad = outcome.result("c", "t", Paper::default(), 1.0);
        assert!(bad.goals.iter().all(|goal| !goal.reached), "a case that failed reaches nothing");
        assert_eq!(
            (bad.check_passed, bad.failures, bad.skipped),
            (false, vec!["it is not".into()], Some("on: no EXTENDED COPY".into()))
        );
    }
}
