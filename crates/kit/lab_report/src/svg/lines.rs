//! A measure over time: one line per side, named at its end.

use super::{WIDTH, at, chart, text_width};
use crate::words;
use lab::results::Unit;
use maud::{Markup, html};

const HEIGHT: f64 = 168.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 22.0;
/// Height of a name.
const LABEL: f64 = 13.0;
/// Largest number of columns drawn; each shows the lowest and the highest of its values.
const COLUMNS: usize = 150;

/// Values of a side over time.
pub(crate) struct Line<'a> {
    pub(crate) name: String,
    /// Class in the style sheet.
    pub(crate) class: &'static str,
    /// Seconds and values; those that are not finite are left out.
    pub(crate) points: &'a [(f64, f64)],
}

/// Draws the lines on one pair of axes; `None` when no line has a point.
pub(crate) fn lines(id: &str, title: &str, description: &str, unit: Unit, lines: &[Line<'_>]) -> Option<Markup> {
    let kept: Vec<(&Line<'_>, Vec<(f64, f64)>)> = lines.iter().map(|line| (line, thinned(line.points))).collect();
    let all = || kept.iter().flat_map(|(_, points)| points);
    let seconds = all().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
    let largest = all().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    if !seconds.is_finite() || !largest.is_finite() {
        return None;
    }
    let (time, time_unit) = words::scale(seconds.max(1e-6), Unit::Seconds);
    let (divisor, _) = words::scale(largest, unit);
    let x_ticks = ticks((seconds / time).max(1e-9), 5);
    let y_ticks = ticks((largest / divisor).max(1e-9), 4);
    let x_end = (seconds / time).max(1e-9);
    let y_end = y_ticks.last().copied().unwrap_or(1.0).max(largest / divisor);
    let x = |seconds: f64| LEFT + seconds / time / x_end * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value.max(0.0) / divisor / y_end * (HEIGHT - TOP - BOTTOM);
    let ends = named_ends(&kept, x, y);
    let content = html! {
        @for tick in &y_ticks {
            @let level = y(tick * divisor);
            line class="grid" x1=(at(LEFT)) x2=(at(WIDTH - RIGHT)) y1=(at(level)) y2=(at(level)) {}
            text class="tick end" x=(at(LEFT - 6.0)) y=(at(level + 4.0)) { (words::digits(*tick)) }
        }
        @for tick in &x_ticks {
            @let column = x(tick * time);
            text class="tick mid" x=(at(column)) y=(at(HEIGHT - 6.0)) {
                (words::digits(*tick)) @if x_ticks.last() == Some(tick) { "\u{a0}" (time_unit) }
            }
        }
        // Baselines are drawn first, behind off and on.
        @for (line, points) in kept.iter().rev() {
            @if let [only] = points.as_slice() {
                circle class={ "point " (line.class) } cx=(at(x(only.0))) cy=(at(y(only.1))) r="3" {}
            } @else if !points.is_empty() {
                path class={ "line " (line.class) } d=(path(points, x, y)) {}
            }
        }
        @for end in &ends {
            circle class={ "point " (end.class) } cx=(at(end.x)) cy=(at(end.y)) r="2.5" {}
            text class={ "name-of-line " (end.class) @if end.leftwards { " end" } } x=(at(if end.leftwards { end.x - 6.0 } else { end.x + 6.0 })) y=(at(end.label_y)) { (end.name) }
        }
    };
    Some(chart(id, "chart", (WIDTH, HEIGHT), title, description, &content))
}

/// Thins points to at most [`COLUMNS`] columns; of each, the lowest and the highest value are kept
/// in order of time, so that no peak is lost.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let finite: Vec<_> = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite() && *x >= 0.0).collect();
    if finite.len() <= COLUMNS * 2 {
        return finite;
    }
    let mut kept = Vec::new();
    for chunk in finite.chunks(finite.len().div_ceil(COLUMNS)) {
        let least = chunk.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let most = chunk.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let mut both: Vec<_> = [least, most].into_iter().flatten().collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        both.dedup();
        kept.extend(both);
    }
    // The last point is kept, so that the line ends where the side ended.
    kept.extend(finite.last().filter(|last| kept.last() != Some(last)).copied());
    kept
}

fn path(points: &[(f64, f64)], x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    for (index, (seconds, value)) in points.iter().enumerate() {
        path.push_str(&format!("{}{} {}", if index == 0 { "M" } else { "L" }, at(x(*seconds)), at(y(*value))));
    }
    path
}

struct End {
    name: String,
    class: &'static str,
    x: f64,
    y: f64,
    label_y: f64,
    /// Whether the name is left of the end.
    leftwards: bool,
}

/// Ends of the lines with their names, moved apart where they would overlap.
fn named_ends(lines: &[(&Line<'_>, Vec<(f64, f64)>)], x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> Vec<End> {
    let mut ends: Vec<End> = Vec::new();
    for (line, points) in lines {
        let Some((seconds, value)) = points.last() else { continue };
        let (x, y) = (x(*seconds), y(*value));
        let leftwards = x + 8.0 + text_width(&line.name) > WIDTH;
        let above = y - 6.0;
        ends.push(End {
            name: line.name.clone(),
            class: line.class,
            x,
            y,
            label_y: if leftwards { above } else { y + 4.0 },
            leftwards,
        });
    }
    ends.sort_by(|a, b| b.label_y.total_cmp(&a.label_y));
    let mut lowest = HEIGHT - BOTTOM - 3.0;
    for end in &mut ends {
        end.label_y = end.label_y.min(lowest);
        lowest = end.label_y - LABEL;
    }
    // Names above the top move back down, and push the names below them down.
    let mut highest = TOP;
    for end in ends.iter_mut().rev() {
        end.label_y = end.label_y.max(highest);
        highest = end.label_y + LABEL;
    }
    ends
}

/// Round numbers from 0 to about `largest`, at most `count` besides 0.
fn ticks(largest: f64, count: usize) -> Vec<f64> {
    let rough = largest / count as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(rough);
    let last = (largest / step).floor();
    // At most `count`, which is small.
    (0..=count).map(|index| index as f64).filter(|index| *index <= last).map(|index| index * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(100.0, 4), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(7.3, 4), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(ticks(1e-9, 4).first(), Some(&0.0));
    }

    #[test]
    fn no_peak_is_lost_when_points_are_thinned() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|index| (f64::from(index), 1.0)).collect();
        points[54_321].1 = 99.0;
        points[7].1 = f64::NAN;
        let kept = thinned(&points);
        assert!(
            kept.len() <= 2 * COLUMNS + 1
                && kept.iter().any(|point| point.1 == 99.0)
                && kept.iter().all(|point| point.1.is_finite())
        );
        assert_eq!(kept.last(), Some(&(99_999.0, 1.0)));
    }

    #[test]
    fn a_line_without_points_is_no_chart() {
        let empty = Line { name: "off".into(), class: "off", points: &[(f64::NAN, 1.0)] };
        assert!(lines("a", "t", "d", Unit::Count, &[empty]).is_none());
    }
}
