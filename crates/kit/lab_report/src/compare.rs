//! Comparison of several arrays: a column or a pair of bars for each, in the order in which the
//! runs were given.

use crate::figure::{self, Figure, Kind, figures, headline};
use crate::markdown::{escaped, table};
use crate::page::{self, fact, page};
use crate::run::{badge, machine_line, subject_line, subject_name, time_line};
use crate::svg::{self, Bar, Group};
use crate::words::{self, harmless, slug};
use lab::results::{CaseResult, Run, Verdict};
use maud::{Markup, html};
use std::fmt::Write;

/// An array, by its run, with a name.
struct Array<'a> {
    name: String,
    run: &'a Run,
}

impl<'a> Array<'a> {
    fn case(&self, name: &str) -> Option<&'a CaseResult> {
        self.run.cases.iter().find(|case| case.case == name)
    }
}

/// Names the runs by their subjects; equal names get a number.
fn arrays(runs: &[Run]) -> Vec<Array<'_>> {
    let mut arrays: Vec<Array<'_>> = Vec::new();
    for run in runs {
        let subject = run.subjects.first();
        let name = subject.map(|subject| {
            [&subject.vendor, &subject.product].map(|part| harmless(part.trim())).join(" ").trim().to_owned()
        });
        let name = match (name, subject) {
            (Some(name), _) if !name.is_empty() => name,
            (_, Some(subject)) => subject_name(subject),
            _ => "no subject".into(),
        };
        let same =
            arrays.iter().filter(|array| array.name == name || array.name.starts_with(&format!("{name} ("))).count();
        let name = if same == 0 { name } else { format!("{name} ({})", same + 1) };
        arrays.push(Array { name, run });
    }
    arrays
}

/// Names of all cases, in order of first occurrence.
fn cases<'a>(arrays: &[Array<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for case in arrays.iter().flat_map(|array| &array.run.cases) {
        if !names.contains(&case.case.as_str()) {
            names.push(&case.case);
        }
    }
    names
}

/// Differences between the runs that a reader has to know when comparing them.
fn differences(runs: &[Run]) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, of: &dyn Fn(&Run) -> String| {
        let mut values: Vec<_> = runs.iter().map(of).collect();
        values.dedup();
        if values.len() > 1 {
            found.push(format!("{what}: {}", values.join(" / ")));
        }
    };
    differ("scale", &|run| harmless(&run.size));
    differ("rounds", &|run| run.pairs.to_string());
    differ("hosts", &machine_line);
    differ("program", &|run| harmless(&run.windlass));
    found
}

/// Headline figure of a case, of the same measure for all arrays: that of the first array that has
/// one.
fn common<'a>(arrays: &[Array<'a>], name: &str) -> Vec<Option<Figure<'a>>> {
    let title = arrays.iter().filter_map(|array| headline(array.case(name)?)).map(|figure| figure.title).next();
    let of =
        |array: &Array<'a>| figures(array.case(name)?).into_iter().find(|figure| Some(&figure.title) == title.as_ref());
    arrays.iter().map(of).collect()
}

/// Verdict, off and on, and change of a case of an array; without values, the reason.
fn cell(array: &Array<'_>, name: &str, figure: Option<&Figure<'_>>) -> (Option<Verdict>, String, String) {
    let Some(case) = array.case(name) else { return (None, "not run".into(), String::new()) };
    let value = |kind| figure.and_then(|figure| Some(words::value(figure.of(kind)?.median, figure.unit)));
    let values = match (value(Kind::Off), value(Kind::On)) {
        (Some(off), Some(on)) => format!("{off} → {on}"),
        (Some(off), None) => format!("{off} off"),
        (None, Some(on)) => format!("{on} on"),
        (None, None) => case.skipped.as_deref().map(harmless).unwrap_or_default(),
    };
    (Some(case.verdict()), values, figure.and_then(Figure::change).unwrap_or_default())
}

/// Renders several runs as one self-contained HTML document.
pub fn html(runs: &[Run]) -> String {
    let arrays = arrays(runs);
    let names = cases(&arrays);
    let header = html! {
        h1 { "Storage offload of " (figure::count(arrays.len(), "array")) }
        @for array in &arrays {
            p { b { (array.name) } ": " (figure::verdict(&array.run.cases)) @if let Some(reason) = &array.run.ended_early { " The run ended early: " (harmless(reason)) "." } }
        }
        @let differences = differences(runs);
        @if !differences.is_empty() {
            div.warning { p { "These runs differ in other respects too; compare each array's off with its own on." } ul.plain { @for difference in differences { li { (difference) } } } }
        }
        dl.facts {
            @for array in &arrays {
                @let subject = array.run.subjects.first().map(subject_line).unwrap_or_default();
                (fact(&array.name, &format!("{subject}; {}", time_line(array.run))))
            }
            @if let Some(run) = runs.first() { (fact("Hosts", &machine_line(run))) }
        }
    };
    let main = html! {
        @if names.is_empty() { p { "No case ran." } } @else {
            h2 { "Summary" }
            (summary(&arrays, &names))
            @for name in &names { (section(&arrays, name)) }
        }
    };
    page("Windlass laboratory: arrays compared", &header, &main, &page::how_to_read())
}

fn summary(arrays: &[Array<'_>], names: &[&str]) -> Markup {
    html! {
        div.scroll { table.cards {
            caption { "Main measure of each case, off → on, and the improvement." }
            thead { tr {
                th scope="col" { "Case" } th scope="col" { "Measure" }
                @for array in arrays { th scope="col" { (array.name) } }
            } }
            tbody { @for name in names {
                @let figures = common(arrays, name);
                tr {
                    th scope="row" { a href={ "#" (slug(name)) } { (harmless(name)) } }
                    td { (figures.iter().flatten().next().map(|figure| figure.title.clone()).unwrap_or_default()) }
                    @for (array, figure) in arrays.iter().zip(&figures) {
                        @let (outcome, values, change) = cell(array, name, figure.as_ref());
                        td data-name=(array.name) {
                            @if !change.is_empty() { b { (change) } " " }
                            span.unit-of { (values) }
                            @if let Some(outcome) = outcome.filter(|outcome| *outcome != Verdict::Passed) { " " (badge(outcome)) }
                        }
                    }
                }
            } }
        } }
    }
}

fn section(arrays: &[Array<'_>], name: &str) -> Markup {
    let id = slug(name);
    let first = arrays.iter().find_map(|array| array.case(name));
    html! {
        section.case id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { code { (harmless(name)) } }
            @if let Some(case) = first {
                p { (harmless(&case.title)) }
                @if !case.paper.words.is_empty() { p.soft.small { "The paper (" (harmless(&case.paper.test)) "): " (harmless(&case.paper.words)) } }
            }
            ul.plain {
                @for array in arrays {
                    li {
                        b { (array.name) } ": "
                        @match array.case(name) {
                            None => "not run",
                            Some(case) => {
                                (badge(case.verdict()))
                                @if let Some(reason) = &case.skipped { ": " (harmless(reason)) }
                                @for failure in &case.failures { "; " (harmless(failure)) }
                                @if !case.goals.is_empty() {
                                    "; " (case.goals.iter().filter(|goal| goal.reached).count()) " of " (figure::count(case.goals.len(), "goal")) " reached"
                                }
                            }
                        }
                    }
                }
            }
            div.charts { (panels(arrays, name, &id)) }
            (values(arrays, name))
        }
    }
}

/// Measures of a case, each with the figures of all arrays that have it.
fn shared<'a>(arrays: &[Array<'a>], name: &str) -> Vec<(String, Vec<(usize, Figure<'a>)>)> {
    let mut measures: Vec<(String, Vec<(usize, Figure<'a>)>)> = Vec::new();
    for (index, array) in arrays.iter().enumerate() {
        for figure in array.case(name).map(figures).unwrap_or_default() {
            match measures.iter_mut().find(|(title, _)| *title == figure.title) {
                Some((_, figures)) => figures.push((index, figure)),
                None => measures.push((figure.title.clone(), vec![(index, figure)])),
            }
        }
    }
    measures
}

fn panels(arrays: &[Array<'_>], name: &str, id: &str) -> Markup {
    let drawn = |figures: &[(usize, Figure<'_>)]| {
        figures.iter().any(|(_, figure)| figure.is_drawn() && !figure.rows.is_empty())
    };
    let measures: Vec<_> = shared(arrays, name).into_iter().filter(|(_, figures)| drawn(figures)).collect();
    html! {
        @for (index, (title, figures)) in measures.iter().enumerate() {
            @let named = |(array, figure): &(usize, _)| pair(&arrays.get(*array)?.name, figure);
            @let groups: Vec<_> = figures.iter().filter_map(named).collect();
            @let description = groups.iter().map(describe).collect::<Vec<_>>().join(" ");
            @let better = figures.first().map(|(_, figure)| words::direction(figure.better)).unwrap_or_default();
            figure {
                figcaption { b { (title) } @if !better.is_empty() { span.unit-of { ", " (better) } } }
                (svg::bars(&format!("{id}-b{index}"), title, &description, &groups, svg::Scale::OfAll))
            }
        }
    }
}

fn describe(group: &Group) -> String {
    let bars = group.bars.iter().map(|bar| format!("{} {}", bar.name, bar.label)).collect::<Vec<_>>();
    format!("{}: {}.", group.heading, bars.join(", "))
}

/// Bars for off and on of an array; `None` when it measured neither.
fn pair(array: &str, figure: &Figure<'_>) -> Option<Group> {
    let bar = |row: &figure::Row<'_>| Bar {
        name: row.name.clone(),
        class: row.kind.class(),
        value: row.measure.median,
        spread: Some((row.measure.low, row.measure.high)),
        label: words::value(row.measure.median, figure.unit),
    };
    let bars: Vec<_> = figure.rows.iter().filter(|row| row.kind != Kind::Other).map(bar).collect();
    (!bars.is_empty()).then(|| Group { heading: array.to_owned(), bars })
}

fn values(arrays: &[Array<'_>], name: &str) -> Markup {
    let measures = shared(arrays, name);
    html! {
        @if !measures.is_empty() {
            details {
                summary { "All values of " (harmless(name)) }
                div.scroll { table {
                    caption { "Medians of off and on." }
                    thead { tr {
                        th scope="col" { "Measure" }
                        @for array in arrays { th.number scope="col" { (array.name) ", off" } th.number scope="col" { "on" } }
                    } }
                    tbody { @for (title, figures) in &measures { tr {
                        th scope="row" { (title) }
                        @for index in 0..arrays.len() {
                            @let figure = figures.iter().find(|(array, _)| *array == index).map(|(_, figure)| figure);
                            @let value = |kind| figure.and_then(|figure| Some(words::value(figure.of(kind)?.median, figure.unit))).unwrap_or_else(|| "–".into());
                            td.number { (value(Kind::Off)) } td.number { (value(Kind::On)) }
                        }
                    } } }
                } }
            }
        }
    }
}

/// Renders several runs in Markdown: one table, and the cases that failed or did not run.
pub fn markdown(runs: &[Run]) -> String {
    let arrays = arrays(runs);
    let names = cases(&arrays);
    let mut text = format!("# Storage offload of {}\n\n", figure::count(arrays.len(), "array"));
    for array in &arrays {
        let subject = array.run.subjects.first().map(subject_line).unwrap_or_default();
        let _infallible = writeln!(
            text,
            "- {}: {} ({}; {})",
            escaped(&array.name),
            figure::verdict(&array.run.cases),
            escaped(&subject),
            time_line(array.run)
        );
    }
    for difference in differences(runs) {
        let _infallible = writeln!(text, "- the runs differ in {}", escaped(&difference));
    }
    let mut head = vec!["case".to_owned(), "measure".to_owned()];
    head.extend(arrays.iter().map(|array| escaped(&array.name)));
    let row = |name: &&str| {
        let figures = common(&arrays, name);
        let mut cells = vec![escaped(name)];
        cells.push(figures.iter().flatten().next().map(|figure| escaped(&figure.title)).unwrap_or_default());
        cells.extend(arrays.iter().zip(&figures).map(|(array, figure)| {
            let (outcome, values, change) = cell(array, name, figure.as_ref());
            let outcome = outcome
                .filter(|outcome| *outcome != Verdict::Passed)
                .map(|outcome| format!(" ({})", figure::word(outcome)));
            let change = if change.is_empty() { change } else { format!("**{change}** ") };
            format!("{change}{}{}", escaped(&values), outcome.unwrap_or_default())
        }));
        cells
    };
    let rows: Vec<_> = names.iter().map(row).collect();
    text.push('\n');
    text + &table(&head.iter().map(String::as_str).collect::<Vec<_>>(), |_| false, &rows)
}
