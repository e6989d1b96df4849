//! Figures of a case: its measures by importance, each with the values of all sides and the
//! paper's.

use crate::words;
use lab::results::{Better, CaseResult, Measure, PaperFigure, SideResult, Unit, Verdict};
use std::collections::BTreeSet;

/// Kind of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The host did the work.
    Off,
    /// The array did the work.
    On,
    /// Baseline.
    Other,
}

impl Kind {
    /// Class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Other => "other",
        }
    }
}

/// A side with its name.
pub(crate) struct NamedSide<'a> {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) side: &'a SideResult,
}

/// Sides of a case that have measurements: off, on, and the others by name.
pub(crate) fn sides(case: &CaseResult) -> Vec<NamedSide<'_>> {
    let named = [("off", Kind::Off, &case.off), ("on", Kind::On, &case.on)];
    let others = case.others.iter().map(|(name, side)| (name.as_str(), Kind::Other, side));
    let all =
        named.into_iter().chain(others).map(|(name, kind, side)| NamedSide { name: words::harmless(name), kind, side });
    all.filter(|side| *side.side != SideResult::default()).collect()
}

/// A value of a side.
pub(crate) struct Row<'a> {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) measure: &'a Measure,
}

/// A measure of a case.
pub(crate) struct Figure<'a> {
    /// Name in words.
    pub(crate) title: String,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    /// Rows in the order of [`sides`]; sides without the measure are left out.
    pub(crate) rows: Vec<Row<'a>>,
    pub(crate) paper: Option<&'a PaperFigure>,
}

impl Figure<'_> {
    /// Measure of a side.
    pub(crate) fn of(&self, kind: Kind) -> Option<&Measure> {
        self.rows.iter().find(|row| row.kind == kind).map(|row| row.measure)
    }

    /// Ratio by which on is better than off, see [`words::factor`].
    pub(crate) fn factor(&self) -> Option<f64> {
        words::factor(self.of(Kind::Off)?.median, self.of(Kind::On)?.median, self.better)
    }

    /// The paper's off and on; a ratio alone counts as relative to 1.
    pub(crate) fn paper_pair(&self) -> Option<(f64, f64)> {
        let paper = self.paper?;
        match (paper.off, paper.on, paper.ratio) {
            (Some(off), Some(on), _) => Some((off, on)),
            (_, _, Some(ratio)) => Some((1.0, ratio)),
            _ => None,
        }
    }

    /// [`Self::factor`] of the paper.
    pub(crate) fn paper_factor(&self) -> Option<f64> {
        let (off, on) = self.paper_pair()?;
        words::factor(off, on, self.better)
    }

    /// Unit by which a change is described: processor time is an amount, not a speed.
    pub(crate) fn display_unit(&self) -> Unit {
        if self.title.contains("CPU") { Unit::Count } else { self.unit }
    }

    /// Change from off to on, in short form; `None` when it is unknown.
    pub(crate) fn change(&self) -> Option<String> {
        words::change(self.of(Kind::Off)?.median, self.of(Kind::On)?.median, self.display_unit(), self.better)
    }

    /// [`Self::change`] of the paper.
    pub(crate) fn paper_change(&self) -> Option<String> {
        let (off, on) = self.paper_pair()?;
        words::change(off, on, self.display_unit(), self.better)
    }

    /// Sentence about off and on, here and in the paper.
    pub(crate) fn sentence(&self) -> Option<String> {
        let (off, on) = (self.of(Kind::Off)?, self.of(Kind::On)?);
        let here = words::change_in_words(off.median, on.median, self.display_unit(), self.better)?;
        let paper =
            self.paper_pair().and_then(|(off, on)| words::change_in_words(off, on, self.display_unit(), self.better));
        Some(match paper {
            Some(paper) => format!("{here} here; {paper} in the paper"),
            None => format!("{here} with the primitive on"),
        })
    }

    /// Whether the figure is drawn: it has a better direction and a value other than 0, or the
    /// paper has it. Other figures are only in the table.
    pub(crate) fn is_drawn(&self) -> bool {
        let is_there = self.rows.iter().any(|row| row.measure.high != 0.0);
        self.better != Better::Neither && is_there || self.paper.is_some()
    }
}

/// Measures of a case: first those of the paper in its order, then the time, then those with a
/// direction, then the rest.
pub(crate) fn figures(case: &CaseResult) -> Vec<Figure<'_>> {
    let sides = sides(case);
    let of_paper: Vec<&str> = case.paper.figures.iter().map(|figure| figure.measure.as_str()).collect();
    let mut names: BTreeSet<&str> = of_paper.iter().copied().collect();
    names.extend(sides.iter().flat_map(|side| side.side.measures.keys().map(String::as_str)));
    let mut figures: Vec<_> =
        names.into_iter().filter_map(|name| Some((rank(name, &of_paper), figure(case, &sides, name)?))).collect();
    // The sort is stable: equal ranks stay in the order of their names.
    figures.sort_by_key(|(rank, figure)| (*rank, figure.better == Better::Neither));
    figures.into_iter().map(|(_, figure)| figure).collect()
}

fn rank(name: &str, of_paper: &[&str]) -> usize {
    let behind = of_paper.len();
    of_paper.iter().position(|paper| *paper == name).unwrap_or(if name == "seconds" { behind } else { behind + 1 })
}

fn figure<'a>(case: &'a CaseResult, sides: &[NamedSide<'a>], name: &str) -> Option<Figure<'a>> {
    let row = |side: &NamedSide<'a>| {
        let measure = side.side.measures.get(name)?;
        Some(Row { name: side.name.clone(), kind: side.kind, measure })
    };
    let rows: Vec<_> = sides.iter().filter_map(row).collect();
    let paper = case.paper.figures.iter().find(|figure| figure.measure == name);
    let first = rows.first().map(|row| row.measure);
    let unit = first.map(|measure| measure.unit).or(paper.map(|paper| paper.unit))?;
    // Without a measurement here, the paper's own change shows the direction.
    let meant = match paper {
        Some(PaperFigure { off: Some(off), on: Some(on), .. }) if on > off => Better::Higher,
        Some(PaperFigure { ratio: Some(ratio), .. }) if *ratio > 1.0 => Better::Higher,
        _ => Better::Lower,
    };
    Some(Figure {
        title: words::measure_name(name),
        unit,
        better: first.map_or(meant, |measure| measure.better),
        rows,
        paper,
    })
}

/// Headline figure of a case: the first of the paper's measures that both sides have, or else the
/// first measure with a direction.
pub(crate) fn headline(case: &CaseResult) -> Option<Figure<'_>> {
    let whole = |figure: &Figure<'_>| {
        figure.of(Kind::Off).is_some() && figure.of(Kind::On).is_some() && figure.better != Better::Neither
    };
    figures(case).into_iter().find(whole)
}

/// Verdict as a word.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::NotRun => "skipped",
    }
}

/// Verdict as a sign that needs no colour.
pub(crate) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "✓",
        Verdict::Failed => "✗",
        Verdict::NotRun => "–",
    }
}

/// Number of cases, goals or rounds with its noun: `1 case`, `22 cases`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Sentence about the verdicts on all cases.
pub(crate) fn verdict(cases: &[CaseResult]) -> String {
    let with = |outcome| cases.iter().filter(|case| case.verdict() == outcome).count();
    let (passed, failed, skipped) = (with(Verdict::Passed), with(Verdict::Failed), with(Verdict::NotRun));
    let mut sentence = format!("{passed} of {} passed every check", count(cases.len(), "case"));
    if failed > 0 {
        sentence += &format!(", {failed} failed");
    }
    if skipped > 0 {
        sentence += &format!(", {skipped} did not complete");
    }
    let goals: Vec<_> = cases.iter().flat_map(|case| &case.goals).collect();
    if !goals.is_empty() {
        let reached = goals.iter().filter(|goal| goal.reached).count();
        sentence += &format!("; {reached} of {} reached", count(goals.len(), "goal"));
    }
    sentence + "."
}
