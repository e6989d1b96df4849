//! A row of the summary: the ratio by which on is better than off, here and in the paper, on a
//! logarithmic scale that all rows share.

use super::{at, chart};
use maud::{Markup, html};

const STRIP_WIDTH: f64 = 200.0;
const HEIGHT: f64 = 22.0;
const MARGIN: f64 = 10.0;

/// Scale that all rows share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strip {
    /// Power of ten at the right end.
    powers: i32,
}

impl Strip {
    /// Scale for these factors; it includes 1, and at least 10.
    pub(crate) fn of(factors: impl Iterator<Item = f64>) -> Self {
        let largest = factors.filter(|factor| factor.is_finite()).fold(10.0, f64::max);
        Self { powers: (1..6).find(|power| 10f64.powi(*power) >= largest).unwrap_or(6) }
    }

    /// Position of a factor; there is room for half a power left of 1.
    fn x(self, factor: f64) -> f64 {
        let power = factor.max(1e-9).log10().clamp(-0.5, f64::from(self.powers) + 0.08);
        MARGIN + (power + 0.5) / (f64::from(self.powers) + 0.58) * (STRIP_WIDTH - 2.0 * MARGIN)
    }

    fn grid(self) -> Vec<(f64, String)> {
        (0..=self.powers).map(|power| (self.x(10f64.powi(power)), name(power))).collect()
    }
}

/// Labels of the powers, for the head of the column.
pub(crate) fn strip_axis(scale: Strip) -> Markup {
    html! {
        svg class="strip" viewBox=(format!("0 0 {STRIP_WIDTH} 16")) aria-hidden="true" {
            @for (x, name) in scale.grid() {
                text class="tick mid" x=(at(x)) y="12" { (name) @if scale.powers < 5 { "×" } }
            }
        }
    }
}

/// Draws a row: a full dot for here, a ring for the paper.
pub(crate) fn strip(id: &str, scale: Strip, here: Option<f64>, paper: Option<f64>, description: &str) -> Markup {
    let middle = HEIGHT / 2.0;
    let one = scale.x(1.0);
    let content = html! {
        @for (x, _) in scale.grid() {
            line class=(if (x - one).abs() < 0.01 { "axis" } else { "grid" }) x1=(at(x)) x2=(at(x)) y1="0" y2=(at(HEIGHT)) {}
        }
        @if let Some(paper) = paper {
            circle class="ring" cx=(at(scale.x(paper))) cy=(at(middle)) r="4" {}
        }
        @if let Some(here) = here {
            @let x = scale.x(here);
            line class="reach" x1=(at(one)) x2=(at(x)) y1=(at(middle)) y2=(at(middle)) {}
            @if here.is_finite() {
                circle class="dot" cx=(at(x)) cy=(at(middle)) r="4.5" {}
            } @else {
                path class="dot" d=(format!("M{} {}l9 5l-9 5z", at(x - 4.0), at(middle - 5.0))) {}
            }
        }
    };
    chart(id, "strip", (STRIP_WIDTH, HEIGHT), "Improvement of on over off", description, &content)
}

/// Name of a power of ten, short enough to fit beside the next.
fn name(power: i32) -> String {
    match power {
        0..=2 => 10_u32.pow(power.unsigned_abs()).to_string(),
        3..=5 => format!("{}k", 10_u32.pow(power.unsigned_abs() - 3)),
        _ => format!("{}M", 10_u32.pow(power.unsigned_abs().saturating_sub(6))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_holds_every_factor() {
        let scale = Strip::of([2.0, 240.0, f64::INFINITY].into_iter());
        assert_eq!(scale.powers, 3);
        let inside = |factor: f64| (MARGIN - 0.1..=STRIP_WIDTH - MARGIN + 0.1).contains(&scale.x(factor));
        assert!([0.0, 0.5, 1.0, 240.0, f64::INFINITY].into_iter().all(inside));
        assert!(scale.x(0.5) < scale.x(1.0) && scale.x(1.0) < scale.x(10.0));
    }
}
