//! Frame of a page: one file without scripts or external resources, which the content security
//! policy also enforces in the browser.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Renders a whole document.
pub(crate) fn page(title: &str, header: &Markup, main: &Markup, footer: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (header) }
                main { (main) }
                footer { (footer) }
            }
        }
    };
    document.into_string()
}

/// A term and its description; empty if there is no text.
pub(crate) fn fact(term: &str, text: &str) -> Markup {
    html! { @if !text.is_empty() { dt { (term) } dd { (text) } } }
}

/// Explanation of the charts for the reader.
pub(crate) fn how_to_read() -> Markup {
    html! {
        h2 { "How to read this" }
        p {
            b { "Off" } " is without the primitive: the host reads, writes, zeroes or reserves itself. " b { "On" } " is with it: the array does. Both ran in \
            turns, on the same data, and the results were compared byte for byte. Bars and figures are medians of all rounds; the thin line over a bar goes \
            from the minimum to the maximum. Lines over time are those of the last round."
        }
        p {
            "Outlined bars are the paper's, on a scale of their own: its disks were larger and its array different. Compare the change from \
            off to on. Bytes on the wire are TCP payload, as the host's sessions counted it. Sizes are in binary units."
        }
    }
}
