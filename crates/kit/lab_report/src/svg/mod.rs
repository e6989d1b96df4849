//! Charts as inline SVG. All are [`WIDTH`] units wide and shown at about that many pixels, so that their text is as large on a telephone as on a
//! desk. Colours are the style sheet's; a bar or a line says itself what it is.

mod bars;
mod lines;
mod moved;
mod strip;

pub(crate) use bars::{Bar, Group, Scale, bars};
pub(crate) use lines::{Line, lines};
pub(crate) use moved::{Part, moved};
pub(crate) use strip::{Strip, strip, strip_axis};

use maud::{Markup, html};

/// Width of a chart in its own units.
pub(crate) const WIDTH: f64 = 340.0;

/// A coordinate with one decimal.
pub(crate) fn at(number: f64) -> String {
    format!("{number:.1}")
}

/// An SVG element with its title and description. `id` is one of the page's.
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

/// About how wide a text is, in units, at the size of the charts' labels.
fn text_width(text: &str) -> f64 {
    text.chars()
        .map(|c| if matches!(c, '\u{a0}' | '\u{202f}' | '.' | ',' | 'i' | 'l' | '/' | 't') { 3.4 } else { 6.2 })
        .sum()
}

/// A text cut to about `width` units.
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
