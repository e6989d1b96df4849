//! Charts as inline SVG. All are [`WIDTH`] units wide and displayed at about as many pixels, so
//! that their text has the same size on a telephone and on a desktop. Colours come from the style
//! sheet; bars and lines carry their own names.

mod bars;
mod lines;
mod moved;
mod strip;

pub(crate) use bars::{Bar, Group, Scale, bars};
pub(crate) use lines::{Line, lines};
pub(crate) use moved::{Part, moved};
pub(crate) use strip::{Strip, strip, strip_axis};

use maud::{Markup, html};

/// Width of a chart in SVG units.
pub(crate) const WIDTH: f64 = 340.0;

/// Formats a coordinate with one decimal.
pub(crate) fn at(number: f64) -> String {
    format!("{number:.1}")
}

/// Renders an SVG element with its title and description. `id` must be unique on the page.
pub(crate) fn chart(
    id: &str,
    class: &str,
    size: (f64, f64),
    title: &str,
    description: &str,
    content: &Markup,
) -> Markup {
    html! {
        svg class=(class) viewBox=(format!("0 0 {} {}", at(size.0), at(size.1))) role="img" aria-labelledby={ (id) "-t " (id) "-d" } {
            title id={ (id) "-t" } { (title) }
            desc id={ (id) "-d" } { (description) }
            (content)
        }
    }
}

/// Approximate width of a text in units, at the size of the charts' labels.
fn text_width(text: &str) -> f64 {
    text.chars()
        .map(|c| if matches!(c, '\u{a0}' | '\u{202f}' | '.' | ',' | 'i' | 'l' | '/' | 't') { 3.4 } else { 6.2 })
        .sum()
}

/// Cuts a text to about `width` units.
fn cut(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if text_width(&kept) + 12.0 > width {
            break;
        }
        kept.push(c);
    }
    kept.trim_end().to_owned() + "…"
}
