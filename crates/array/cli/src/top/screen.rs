//! Lines of `windlass top`.

use super::View;
use super::state::{Cell, State};
use crate::output::Value;
use api::{ArraySample, Health, Sample};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use std::time::Duration;
use text::columns::Align;

/// Characters of a line over time, from nothing to the largest value.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Most characters of a name.
const MAX_NAME: usize = 24;
/// Width of the label before a line over time.
const LABEL: usize = 10;

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

/// All lines for a terminal of that size.
pub(super) fn lines(state: &State, width: u16, height: u16) -> Vec<Line<'static>> {
    let (width, height) = (usize::from(width), usize::from(height));
    let mut lines = vec![title(state)];
    lines.extend(totals(state.samples().back()));
    lines.push(over_time("p99", state, width, |array| array.p99_us.unwrap_or(0), microseconds));
    lines.push(over_time("network", state, width, |array| array.received_bytes + array.sent_bytes, per_second));
    lines.push(over_time("offloaded", state, width, |array| array.offloaded_bytes, per_second));
    lines.push(Line::default());
    let rest = height.saturating_sub(lines.len() + 1);
    lines.extend(table(state, rest));
    lines.resize(height.saturating_sub(1), Line::default());
    lines.push(keys(state));
    lines.iter().map(|line| cut(line, width)).collect()
}

/// Cuts a line at the edge of the terminal.
fn cut(line: &Line<'static>, width: usize) -> Line<'static> {
    let mut left = width;
    let mut spans = Vec::new();
    for span in &line.spans {
        let text: String = span.content.chars().take(left).collect();
        left = left.saturating_sub(text.chars().count());
        spans.push(Span::styled(text, span.style));
    }
    Line::from(spans)
}

fn title(state: &State) -> Line<'static> {
    let health = state.status().map_or("", |status| match status.health {
        Health::Healthy if status.alerts.is_empty() => "healthy",
        Health::Healthy => "healthy, with alerts",
        Health::Degraded => "DEGRADED: windlass status says why",
        Health::Failed => "FAILED: windlass status says why",
    });
    let mut spans = vec![Span::styled("windlass", BOLD), Span::raw(format!("  {health}"))];
    if state.is_paused() {
        spans.push(Span::styled("  PAUSED", BOLD));
    }
    if let Some(failure) = state.failure() {
        let failure = failure.lines().next().unwrap_or_default().to_owned();
        spans.push(Span::styled(format!("  {}", Value::from(failure).shown(false)), BOLD));
    }
    Line::from(spans)
}

/// Totals of hosts and array.
fn totals(sample: Option<&Sample>) -> [Line<'static>; 2] {
    let Some(array) = sample.and_then(|sample| sample.array.as_ref()) else {
        return [Line::raw("no sample yet"), Line::default()];
    };
    let latency = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), microseconds);
    let busy = array.busy_per_mille.map_or_else(|| "–".to_owned(), |busy| format!("{} %", busy / 10));
    [
        Line::raw(format!(
            "hosts   reads {}/s {}  writes {}/s {}  p50 {}  p99 {}",
            array.reads,
            per_second(array.read_bytes),
            array.writes,
            per_second(array.written_bytes),
            latency(array.p50_us),
            latency(array.p99_us),
        )),
        Line::raw(format!(
            "array   offloaded {}  network in {} out {}  cpu {busy}  depth {}",
            per_second(array.offloaded_bytes),
            per_second(array.received_bytes),
            per_second(array.sent_bytes),
            array.queue_depth
        )),
    ]
}

/// Values of the last samples, as high as the largest of them.
fn over_time(
    label: &'static str,
    state: &State,
    width: usize,
    value: impl Fn(&ArraySample) -> u64,
    shown: impl Fn(u64) -> String,
) -> Line<'static> {
    let values: Vec<u64> = state.samples().iter().map(|sample| sample.array.as_ref().map_or(0, &value)).collect();
    let largest = values.iter().copied().max().unwrap_or(0);
    let scale = format!(" max {}", shown(largest));
    let places = width.saturating_sub(LABEL + scale.chars().count()).min(super::state::KEPT);
    let drawn = &values[values.len().saturating_sub(places)..];
    let bars: String = drawn.iter().map(|value| level(*value, largest)).collect();
    Line::raw(format!("{label:<LABEL$}{bars:>places$}{scale}"))
}

/// Character for a value: anything above nothing is seen.
fn level(value: u64, largest: u64) -> char {
    let steps = LEVELS.len() as u64 - 1;
    let level = (u128::from(value) * u128::from(steps)).div_ceil(u128::from(largest.max(1)));
    usize::try_from(level).ok().and_then(|level| LEVELS.get(level)).copied().unwrap_or('█')
}

fn table(state: &State, most: usize) -> Vec<Line<'static>> {
    let (order, ascending) = state.order();
    let heading = state.headings().iter().enumerate().map(|(number, name)| match (number == order, ascending) {
        (true, false) => format!("{name}▼"),
        (true, true) => format!("{name}▲"),
        (false, _) => (*name).to_owned(),
    });
    let rows = state.rows();
    let shown: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(text).collect()).collect();
    let aligns: Vec<Align> = rows.first().map_or_else(Vec::new, |row| row.iter().map(align).collect());
    let all: Vec<Vec<String>> = std::iter::once(heading.collect()).chain(shown).collect();
    let mut lines: Vec<Line<'static>> = text::columns::lines(&aligns, &all).into_iter().map(Line::raw).collect();
    if let Some(first) = lines.first_mut() {
        *first = first.clone().style(BOLD);
    }
    if rows.is_empty() {
        lines.push(Line::raw(match (state.filter(), state.view()) {
            (Some(_), _) => "nothing fits the filter",
            (None, View::Volumes) => "no volume or share was used in the last minute",
            (None, View::Primitives) => "no offload command in the last second",
            (None, View::Hosts) => "no host is logged in",
        }));
    }
    if lines.len() > most && most > 0 {
        let hidden = lines.len() - most + 1;
        lines.truncate(most - 1);
        lines.push(Line::raw(format!("… and {hidden} more")));
    }
    lines
}

fn text(cell: &Cell) -> String {
    match cell {
        // Names come from administrators and hosts.
        Cell::Text(text) => shortened(&Value::from(text.as_str()).shown(false)),
        Cell::Number(value) => value.to_string(),
        Cell::Bytes(bytes) => text::size::format(*bytes),
        Cell::Microseconds(value) => microseconds(*value),
    }
}

/// A name that leaves room for the numbers.
fn shortened(name: &str) -> String {
    match name.chars().count() > MAX_NAME {
        true => name.chars().take(MAX_NAME - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

const fn align(cell: &Cell) -> Align {
    match cell {
        Cell::Text(_) => Align::Left,
        Cell::Number(_) | Cell::Bytes(_) | Cell::Microseconds(_) => Align::Right,
    }
}

fn microseconds(value: u64) -> String {
    text::duration::measured(Duration::from_micros(value))
}

fn per_second(bytes: u64) -> String {
    format!("{}/s", text::size::format(bytes))
}

/// Last line: the keys, or the filter while it is typed.
fn keys(state: &State) -> Line<'static> {
    match state.filter() {
        Some(filter) if state.is_typing() => {
            Line::styled(format!("filter: {filter}_   Enter: keep   Esc: all"), REVERSED)
        }
        filter => {
            let filter = filter.map_or_else(String::new, |filter| format!(" ({filter})"));
            let keys = format!("q quit  Tab v o h views  s sort  r reverse  / filter{filter}  p pause");
            Line::styled(keys, REVERSED)
        }
    }
}

#[cfg(test)]
mod tests;
