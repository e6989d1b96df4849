//! Bytes moved: one bar per side, divided into the array's share and the host's by reason.

use super::{WIDTH, at, chart};
use maud::{Markup, html};

const ROW: f64 = 26.0;
const THICKNESS: f64 = 14.0;
const LEFT: f64 = 34.0;

/// Bytes of a side moved for one reason.
pub(crate) struct Part {
    /// Class in the style sheet.
    pub(crate) class: String,
    pub(crate) bytes: u64,
}

/// Places the parts: left edge and width, at least 1 unit so that each is visible.
fn placed(parts: &[Part], scale: f64) -> impl Iterator<Item = (&Part, f64, f64)> {
    parts.iter().filter(|part| part.bytes > 0).scan(LEFT, move |left, part| {
        let width = (part.bytes as f64 * scale).max(1.0);
        Some((part, std::mem::replace(left, *left + width), width))
    })
}

/// Draws a bar per side, all with one scale. The parts are named beside the chart.
pub(crate) fn moved(id: &str, description: &str, sides: &[(String, Vec<Part>)]) -> Markup {
    let total = |parts: &[Part]| parts.iter().map(|part| part.bytes as f64).sum::<f64>();
    let largest = sides.iter().map(|(_, parts)| total(parts)).fold(0.0, f64::max);
    let scale = if largest > 0.0 { (WIDTH - LEFT - 2.0) / largest } else { 0.0 };
    let content = html! {
        @for (index, (name, parts)) in sides.iter().enumerate() {
            @let middle = ROW * index as f64 + ROW / 2.0;
            text class="name" x=(at(LEFT - 6.0)) y=(at(middle + 4.0)) { (super::cut(name, LEFT)) }
            @for (part, left, width) in placed(parts, scale) {
                rect class={ "bar " (part.class) } x=(at(left)) y=(at(middle - THICKNESS / 2.0)) width=(at(width)) height=(at(THICKNESS)) {}
            }
        }
        line class="axis" x1=(at(LEFT)) x2=(at(LEFT)) y1="0" y2=(at(ROW * sides.len() as f64)) {}
    };
    chart(id, "chart", (WIDTH, ROW * sides.len() as f64), "Bytes moved, by whom", description, &content)
}
