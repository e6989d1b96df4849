//! Page of one run.

use crate::figure::{self, Figure, Kind, NamedSide, figures, headline, sides};
use crate::page::{self, fact, page};
use crate::svg::{self, Bar, Group, Line, Part, Strip};
use crate::words::{self, harmless, slug};
use lab::results::{CaseResult, Run, SideResult, Subject, Unit, Verdict};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Largest number of rows of a table behind a chart over time.
const SERIES_ROWS: usize = 40;
/// Key of the array's share in [`SideResult::moved_bytes`].
const OFFLOADED: &str = "offloaded";

/// Renders a run as one self-contained HTML document.
pub fn html(run: &Run) -> String {
    let header = html! {
        h1 { "Storage offload, off and on" }
        p.verdict { (figure::verdict(&run.cases)) }
        @if let Some(reason) = &run.ended_early {
            p.warning { "The run ended before its last case: " (harmless(reason)) }
        }
        dl.facts { (facts(run)) }
    };
    let main = html! {
        @if run.cases.is_empty() {
            p { "No case ran." }
        } @else {
            h2 { "Summary" }
            (summary(run))
            (goals(run))
            @for case in &run.cases { (section(case)) }
        }
    };
    let footer = page::how_to_read();
    let title = format!(
        "Windlass laboratory: {}",
        run.subjects.first().map(subject_name).unwrap_or_else(|| "no subject".into())
    );
    page(&title, &header, &main, &footer)
}

/// Name that a subject reports, or its URL when it reports none.
pub(crate) fn subject_name(subject: &Subject) -> String {
    let name = [&subject.vendor, &subject.product, &subject.revision].map(|part| harmless(part.trim()));
    let name = name.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ");
    if name.is_empty() { harmless(&subject.url) } else { name }
}

/// Description of a subject in one line.
pub(crate) fn subject_line(subject: &Subject) -> String {
    let mut line =
        format!("{}, {}, {}", subject_name(subject), words::bytes(subject.size_bytes), harmless(&subject.url));
    if let Some(naa) = &subject.naa {
        line += &format!(", NAA {}", harmless(naa));
    }
    line
}

/// Description of the machine in one line.
pub(crate) fn machine_line(run: &Run) -> String {
    let machine = &run.machine;
    let processors = figure::count(usize::try_from(machine.processors).unwrap_or(usize::MAX), "processor");
    let parts = [
        processors,
        harmless(&machine.processor),
        format!("{} of memory", words::bytes(machine.memory_bytes)),
        harmless(&machine.system),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Scale of a run: a word, or a size.
pub(crate) fn scale(run: &Run) -> String {
    run.size.parse().map_or_else(|_| harmless(&run.size), words::bytes)
}

/// Date and duration of a run.
pub(crate) fn time_line(run: &Run) -> String {
    let taken = run.ended.duration_since(run.started).as_secs_f64().max(0.0);
    format!("{} UTC, {}", run.started.strftime("%Y-%m-%d %H:%M"), words::value(taken, Unit::Seconds))
}

fn facts(run: &Run) -> Markup {
    html! {
        @for (index, subject) in run.subjects.iter().enumerate() {
            @let term = if run.subjects.len() > 1 { format!("Subject {}", index + 1) } else { "Subject".into() };
            (fact(&term, &subject_line(subject)))
        }
        (fact("Hosts", &machine_line(run)))
        (fact("Time", &time_line(run)))
        (fact("Scale", &format!("{}, {} of off and on", scale(run), figure::count(usize::try_from(run.pairs).unwrap_or(usize::MAX), "round"))))
        (fact("Program", &format!("windlass {}", harmless(&run.windlass))))
    }
}

/// Sign and word of a verdict.
pub(crate) fn badge(outcome: Verdict) -> Markup {
    html! { span class={ "badge " (figure::word(outcome)) } { (figure::sign(outcome)) " " (figure::word(outcome)) } }
}

fn summary(run: &Run) -> Markup {
    let rows: Vec<_> = run.cases.iter().map(|case| (case, headline(case))).collect();
    let factors = rows.iter().filter_map(|(_, headline)| headline.as_ref());
    let factors = factors.flat_map(|headline| [headline.factor(), headline.paper_factor()]).flatten();
    let scale = Strip::of(factors);
    html! {
        table.summary.cards {
            caption { "Improvement of on over off in the main measure of each case: a full dot for this run, a ring for the paper." }
            thead { tr {
                th scope="col" { "Case" } th scope="col" { "Measure" } th.number scope="col" { "Off" } th.number scope="col" { "On" }
                th.number scope="col" { "Here" } th.number scope="col" { "Paper" } th scope="col" { (svg::strip_axis(scale)) } th scope="col" { "Check" }
            } }
            tbody {
                @for (case, headline) in &rows { (summary_row(case, headline.as_ref(), scale)) }
            }
        }
    }
}

fn summary_row(case: &CaseResult, headline: Option<&Figure<'_>>, scale: Strip) -> Markup {
    let id = slug(&case.case);
    let of =
        |kind| headline.and_then(|figure| Some(words::value(figure.of(kind)?.median, figure.unit))).unwrap_or_default();
    let here = headline.and_then(Figure::change).unwrap_or_default();
    let paper = headline.and_then(Figure::paper_change).unwrap_or_default();
    html! {
        tr {
            th scope="row" { a href={ "#" (id) } { (harmless(&case.case)) } }
            td { (headline.map(|figure| figure.title.clone()).unwrap_or_default()) }
            td.number data-name="off" { (of(Kind::Off)) }
            td.number data-name="on" { (of(Kind::On)) }
            td.number data-name="here" { @if !here.is_empty() { b { (here) } } }
            td.number data-name="paper" { (paper) }
            td.strip-cell {
                @if let Some(figure) = headline.filter(|figure| figure.factor().is_some()) {
                    @let description = figure.sentence().unwrap_or_default();
                    (svg::strip(&format!("{id}-strip"), scale, figure.factor(), figure.paper_factor(), &description))
                }
            }
            td { (badge(case.verdict())) }
        }
    }
}

fn goals(run: &Run) -> Markup {
    let goals: Vec<_> = run.cases.iter().flat_map(|case| case.goals.iter().map(move |goal| (case, goal))).collect();
    html! {
        @if !goals.is_empty() {
            h2 { "Goals" }
            p.soft.small { "Goals for an array that does this work as metadata operations. A missed goal is not a failed check." }
            table.cards {
                thead { tr {
                    th scope="col" { "Case" } th scope="col" { "Goal" } th.number scope="col" { "Measured" } th.number scope="col" { "Wanted" } th scope="col" { "Result" }
                } }
                tbody {
                    @for (case, goal) in goals {
                        tr {
                            th scope="row" { a href={ "#" (slug(&case.case)) } { (harmless(&case.case)) } }
                            td { (words::goal(&goal.what)) }
                            td.number data-name="measured" { (words::measured(goal.measured)) }
                            td.number data-name="wanted" { (words::digits(goal.wanted)) }
                            td { (reached(goal.reached)) }
                        }
                    }
                }
            }
        }
    }
}

fn reached(reached: bool) -> Markup {
    match reached {
        true => html! { span.badge { "✓ reached" } },
        false => html! { span.badge.missed { "✗ missed" } },
    }
}

/// Sign of a goal, which a screen reader reads as a word.
fn sign(reached: bool) -> Markup {
    match reached {
        true => html! { span role="img" aria-label="goal reached:" { "✓" } },
        false => html! { span.missed role="img" aria-label="goal missed:" { "✗" } },
    }
}

fn section(case: &CaseResult) -> Markup {
    let id = slug(&case.case);
    let figures = figures(case);
    html! {
        section.case id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { code { (harmless(&case.case)) } " " (badge(case.verdict())) }
            p { (harmless(&case.title)) }
            @if let Some(reason) = &case.skipped { p.warning { "Did not complete: " (harmless(reason)) } }
            div.beside { (paper(case)) (here(case, &figures)) }
            div.charts {
                @for (index, figure) in figures.iter().enumerate().filter(|(_, figure)| figure.is_drawn()) {
                    (bars(&format!("{id}-b{index}"), figure))
                }
                (over_time(&id, case))
                (moved(&id, case))
            }
            (values(case, &figures))
            (series_values(case))
        }
    }
}

fn paper(case: &CaseResult) -> Markup {
    html! {
        div {
            h3 { "The paper" }
            @let source = [&case.paper.test, &case.paper.system].map(|text| harmless(text));
            @let source = source.iter().filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ");
            @if !source.is_empty() { p.soft.small { (source) } }
            p { (harmless(&case.paper.words)) }
        }
    }
}

fn here(case: &CaseResult, figures: &[Figure<'_>]) -> Markup {
    let sentence = |figure: &Figure<'_>| {
        let of = |kind| figure.of(kind).map(|measure| words::value(measure.median, figure.unit));
        let change = words::change_in_words(
            figure.of(Kind::Off)?.median,
            figure.of(Kind::On)?.median,
            figure.display_unit(),
            figure.better,
        )?;
        Some(format!("{}: {} off, {} on: {change}", figure.title, of(Kind::Off)?, of(Kind::On)?))
    };
    // The first four: the paper's measures, then the time, then others.
    let sentences: Vec<_> = figures.iter().filter_map(sentence).take(4).collect();
    html! {
        div {
            h3 { "Here" }
            ul {
                @for sentence in sentences { li { (sentence) } }
                @for goal in &case.goals { li { (sign(goal.reached)) " " (words::goal(&goal.what)) ": " (words::measured(goal.measured)) } }
            }
            @match case.verdict() {
                Verdict::Passed => p.soft.small { "All checks of content, locks and space passed in every round; " (words::value(case.seconds, Unit::Seconds)) " in all." },
                Verdict::NotRun => p.soft.small { "No check failed." },
                Verdict::Failed => {
                    p.failed.missed { "Failed checks:" }
                    ul.failures {
                        @for failure in &case.failures { li { "✗ " (harmless(failure)) } }
                    }
                }
            }
            @for note in &case.notes { p.soft.small { (harmless(note)) } }
        }
    }
}

fn bars(id: &str, figure: &Figure<'_>) -> Markup {
    let here = figure.rows.iter().map(|row| Bar {
        name: row.name.clone(),
        class: row.kind.class(),
        value: row.measure.median,
        spread: Some((row.measure.low, row.measure.high)),
        label: words::value(row.measure.median, figure.unit),
    });
    let here = Group { heading: String::new(), bars: here.collect() };
    let mut groups = vec![here];
    if let Some(paper) = figure.paper {
        let (off, on, unit) = match (paper.off, paper.on, paper.ratio) {
            (None, None, Some(ratio)) => (Some(1.0), Some(ratio), Unit::Ratio),
            (off, on, _) => (off, on, paper.unit),
        };
        let bar = |name: &str, class, value: Option<f64>| {
            Some(Bar { name: name.into(), class, value: value?, spread: None, label: words::value(value?, unit) })
        };
        let bars = [bar("off", "paper", off), bar("on", "paper-on", on)].into_iter().flatten().collect();
        groups.push(Group { heading: "The paper".into(), bars });
    }
    groups.retain(|group| !group.bars.is_empty());
    let listed = |group: &Group| {
        group.bars.iter().map(|bar| format!("{} {}", bar.name, bar.label)).collect::<Vec<_>>().join(", ")
    };
    let description = groups
        .iter()
        .map(|group| format!("{}: {}.", if group.heading.is_empty() { "Here" } else { &group.heading }, listed(group)));
    let description = description.collect::<Vec<_>>().join(" ");
    html! {
        figure {
            figcaption { b { (figure.title) } @if !words::direction(figure.better).is_empty() { span.unit-of { ", " (words::direction(figure.better)) } } }
            (svg::bars(id, &figure.title, &description, &groups, svg::Scale::OfEach))
            @if let Some(sentence) = figure.sentence() { p.says { (sentence) } }
        }
    }
}

/// A measure over time, for all sides that have it.
struct Series<'a> {
    title: String,
    unit: Unit,
    lines: Vec<Line<'a>>,
}

fn series(case: &CaseResult) -> Vec<Series<'_>> {
    let sides = sides(case);
    let names: BTreeSet<&str> = sides.iter().flat_map(|side| side.side.series.keys().map(String::as_str)).collect();
    let of_name = |name: &str| {
        let lines = sides.iter().filter_map(|side| {
            let points = side.side.series.get(name)?.as_slice();
            (!points.is_empty()).then(|| Line { name: side.name.clone(), class: side.kind.class(), points })
        });
        Series { title: words::measure_name(name), unit: series_unit(&sides, name), lines: lines.collect() }
    };
    names.into_iter().map(of_name).filter(|series| !series.lines.is_empty()).collect()
}

/// Unit of a series: that of the measure of the same name, or else by the end of the name.
fn series_unit(sides: &[NamedSide<'_>], name: &str) -> Unit {
    let measured = sides.iter().find_map(|side| side.side.measures.get(name)).map(|measure| measure.unit);
    measured.unwrap_or(match name {
        name if name.ends_with("bytes_per_second") => Unit::BytesPerSecond,
        name if name.ends_with("iops") || name.ends_with("per_second") => Unit::PerSecond,
        name if name.ends_with("seconds") => Unit::Seconds,
        name if name.ends_with("bytes") => Unit::Bytes,
        _ => Unit::Count,
    })
}

fn over_time(id: &str, case: &CaseResult) -> Markup {
    html! {
        @for (index, series) in series(case).iter().enumerate() {
            @let unit = series.unit;
            @let values = series.lines.iter().flat_map(|line| line.points).map(|point| point.1);
            @let largest = values.fold(0.0, f64::max);
            @let title = format!("{} over time", series.title);
            @let description = series_description(series);
            @if let Some(chart) = svg::lines(&format!("{id}-l{index}"), &title, &description, unit, &series.lines) {
                figure {
                    figcaption { b { (title) } @let name = words::scale(largest, unit).1; @if !name.is_empty() { span.unit-of { ", " (name.replace("/s", if unit == Unit::PerSecond { "a second" } else { "/s" })) } } }
                    (chart)
                }
            }
        }
    }
}

fn series_description(series: &Series<'_>) -> String {
    let line = |line: &Line<'_>| {
        let values = || line.points.iter().map(|point| point.1).filter(|value| value.is_finite());
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let seconds = line.points.last().map_or(0.0, |point| point.0);
        let [low, high] = [low, high].map(|value| words::value(value, series.unit));
        format!("{}: from {low} to {high} in {}", line.name, words::value(seconds, Unit::Seconds))
    };
    series.lines.iter().map(line).collect::<Vec<_>>().join("; ")
}

/// Bytes moved of a side: the array's first, then the host's by reason, largest first.
fn parts(side: &SideResult) -> Vec<(String, &str, u64)> {
    let mut host: Vec<_> = side.moved_bytes.iter().filter(|(reason, _)| *reason != OFFLOADED).collect();
    host.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
    let offloaded = side.moved_bytes.get(OFFLOADED).map(|bytes| ("by the array".to_owned(), "on", *bytes));
    let class = |index: usize| ["off", "part2"].get(index).copied().unwrap_or("part3");
    let host = host
        .into_iter()
        .enumerate()
        .map(|(index, (reason, bytes))| (format!("by the host: {}", harmless(reason)), class(index), *bytes));
    offloaded.into_iter().chain(host).collect()
}

fn moved(id: &str, case: &CaseResult) -> Markup {
    let sides: Vec<_> = sides(case)
        .into_iter()
        .map(|side| (side.name.clone(), parts(side.side)))
        .filter(|(_, parts)| !parts.is_empty())
        .collect();
    if sides.is_empty() {
        return html! {};
    }
    let bars: Vec<_> = sides
        .iter()
        .map(|(name, parts)| {
            (
                name.clone(),
                parts.iter().map(|(_, class, bytes)| Part { class: (*class).into(), bytes: *bytes }).collect(),
            )
        })
        .collect();
    let line = |(name, parts): &(String, Vec<(String, &str, u64)>)| {
        let parts: Vec<_> = parts.iter().map(|(who, _, bytes)| format!("{} {who}", words::bytes(*bytes))).collect();
        format!("{name}: {}", parts.join(", "))
    };
    let description = sides.iter().map(line).collect::<Vec<_>>().join("; ");
    html! {
        figure {
            figcaption { b { "Bytes moved" } ", by whom and why" }
            (svg::moved(&format!("{id}-m"), &description, &bars))
            ul.key {
                @for (name, parts) in &sides {
                    @for (who, class, bytes) in parts {
                        li { i class=(class) {} (name) ": " (words::bytes(*bytes)) " " (who) }
                    }
                }
            }
        }
    }
}

/// Table of all values of a case.
fn values(case: &CaseResult, figures: &[Figure<'_>]) -> Markup {
    let sides = sides(case);
    let with_paper = figures.iter().any(|figure| figure.paper.is_some());
    html! {
        @if !figures.is_empty() {
            details {
                summary { "All values of " (harmless(&case.case)) }
                div.scroll { table {
                    caption { "Medians, with the minimum and maximum of the rounds." }
                    thead { tr {
                        th scope="col" { "Measure" }
                        @for side in &sides { th.number scope="col" { (side.name) } }
                        th.number scope="col" { "Change" }
                        @if with_paper { th.number scope="col" { "Paper off" } th.number scope="col" { "Paper on" } th.number scope="col" { "Paper's change" } }
                    } }
                    tbody { @for figure in figures { tr {
                        th scope="row" { (figure.title) }
                        @for side in &sides { td.number { (cell(figure, &side.name)) } }
                        td.number { (figure.change().unwrap_or_default()) }
                        @if with_paper {
                            @let text = |value| words::value(value, figure.unit);
                            @let value = |value: Option<f64>| value.map(text).unwrap_or_default();
                            td.number { (value(figure.paper.and_then(|paper| paper.off))) }
                            td.number { (value(figure.paper.and_then(|paper| paper.on))) }
                            td.number { (figure.paper_change().unwrap_or_default()) }
                        }
                    } } }
                } }
            }
        }
    }
}

fn cell(figure: &Figure<'_>, side: &str) -> Markup {
    let measure = figure.rows.iter().find(|row| row.name == side).map(|row| row.measure);
    html! {
        @if let Some(measure) = measure {
            (words::value(measure.median, figure.unit))
            @if measure.low < measure.high {
                br; span.unit-of { (words::value(measure.low, figure.unit)) "–" (words::value(measure.high, figure.unit)) }
            }
        } @else { "–" }
    }
}

/// Tables of a case's series, thinned for readers; the run's file has every point.
fn series_values(case: &CaseResult) -> Markup {
    html! {
        @for series in series(case) {
            details.series {
                summary { (series.title) " of " (harmless(&case.case)) " over time" }
                @for line in &series.lines {
                    @let step = line.points.len().div_ceil(SERIES_ROWS).max(1);
                    div.scroll { table {
                        caption { (line.name) @if step > 1 { ", one of " (step) " points" } }
                        thead { tr { th.number scope="col" { "After" } th.number scope="col" { (series.title) } } }
                        tbody {
                            @for (seconds, value) in line.points.iter().step_by(step) {
                                tr {
                                    td.number { (words::value(*seconds, Unit::Seconds)) }
                                    td.number { (words::value(*value, series.unit)) }
                                }
                            }
                        }
                    } }
                }
            }
        }
    }
}
