//! Horizontal bars, one for each value, with a line from the lowest to the highest value and the
//! median as text.

use super::{WIDTH, at, chart, cut, text_width};
use maud::{Markup, html};

const ROW: f64 = 22.0;
const THICKNESS: f64 = 12.0;
const HEADING: f64 = 20.0;

/// A value to draw.
pub(crate) struct Bar {
    pub(crate) name: String,
    /// Class in the style sheet.
    pub(crate) class: &'static str,
    pub(crate) value: f64,
    /// Lowest and highest value of the rounds.
    pub(crate) spread: Option<(f64, f64)>,
    /// Value as text.
    pub(crate) label: String,
}

/// Bars that share a scale.
pub(crate) struct Group {
    /// Heading above the bars; empty when there is only one group.
    pub(crate) heading: String,
    pub(crate) bars: Vec<Bar>,
}

/// Scale of several groups: it begins at 0, and ends at the largest value of each group or of all
/// groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Own scale for each group; the groups cannot be compared.
    OfEach,
    /// One scale for all groups, which can be compared.
    OfAll,
}

/// Draws groups below each other.
pub(crate) fn bars(id: &str, title: &str, description: &str, groups: &[Group], scale_of: Scale) -> Markup {
    let all = || groups.iter().flat_map(|group| &group.bars);
    let names = all().map(|bar| text_width(&bar.name)).fold(26.0, f64::max).min(116.0);
    let labels = all().map(|bar| text_width(&bar.label)).fold(0.0, f64::max);
    let left = names + 8.0;
    let room = (WIDTH - left - labels - 10.0).max(40.0);
    let most = |bars: &[Bar]| bars.iter().map(reach).fold(0.0, f64::max);
    let of_all = groups.iter().map(|group| most(&group.bars)).fold(0.0, f64::max);
    let heading_of = |group: &Group| if group.heading.is_empty() { 0.0 } else { HEADING };
    let height_of = |group: &Group| heading_of(group) + ROW * group.bars.len() as f64;
    let begins: Vec<f64> =
        groups.iter().scan(0.0, |top, group| Some(std::mem::replace(top, *top + height_of(group) + 4.0))).collect();
    let height = groups.iter().map(|group| height_of(group) + 4.0).sum::<f64>();
    let content = html! {
        @for (group, begin) in groups.iter().zip(begins) {
            @let heading = heading_of(group);
            @let largest = if scale_of == Scale::OfAll { of_all } else { most(&group.bars) };
            @let scale = if largest > 0.0 { room / largest } else { 0.0 };
            @if heading > 0.0 {
                text class="heading" x="0" y=(at(begin + 13.0)) { (group.heading) }
            }
            line class="axis" x1=(at(left)) x2=(at(left)) y1=(at(begin + heading)) y2=(at(begin + height_of(group))) {}
            @for (index, bar) in group.bars.iter().enumerate() {
                (row(bar, begin + heading + ROW * index as f64, left, names, scale))
            }
        }
    };
    chart(id, "chart", (WIDTH, height.max(1.0)), title, description, &content)
}

/// Largest value of a bar and its line.
fn reach(bar: &Bar) -> f64 {
    let most = bar.spread.map_or(bar.value, |(_, high)| high.max(bar.value));
    if most.is_finite() { most.max(0.0) } else { 0.0 }
}

fn row(bar: &Bar, top: f64, left: f64, names: f64, scale: f64) -> Markup {
    let middle = top + ROW / 2.0;
    let width = match bar.value {
        value if !value.is_finite() || value <= 0.0 => 0.0,
        value => (value * scale).max(1.0),
    };
    let end = left + (reach(bar) * scale).max(width);
    html! {
        text class="name" x=(at(left - 6.0)) y=(at(middle + 4.0)) { (cut(&bar.name, names)) }
        @if width > 0.0 {
            rect class={ "bar " (bar.class) } x=(at(left)) y=(at(middle - THICKNESS / 2.0)) width=(at(width)) height=(at(THICKNESS)) {}
        }
        @if let Some((low, high)) = bar.spread.filter(|(low, high)| high > low && high.is_finite() && *low >= 0.0) {
            @let (from, to) = (left + low * scale, left + high * scale);
            path class="spread" d=(format!("M{} {m}H{}M{} {}v6M{} {}v6", at(from), at(to), at(from), at(middle - 3.0), at(to), at(middle - 3.0), m = at(middle))) {}
        }
        text class="value" x=(at(end + 6.0)) y=(at(middle + 4.0)) { (bar.label) }
    }
}
