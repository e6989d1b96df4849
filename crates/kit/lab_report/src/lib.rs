//! Reports on the laboratory's results: one HTML file with the papers' charts drawn from our data
//! and the papers' figures beside them, and the same content in Markdown for the documents.
//!
//! The page needs no network and no script; it follows the reader's light or dark mode, prints
//! well, and fits a narrow screen. Charts are inline SVG with a title, a description and a table of
//! their values. All text from an array or a file system is untrusted: maud writes the HTML and
//! escapes every text, and `words::harmless` removes characters that change how a text is
//! displayed.
//!
//! `figure` selects the content of a case, `svg` draws, `run` and `compare` are the two pages,
//! `markdown` has no drawings.
#![forbid(unsafe_code)]

mod compare;
mod figure;
mod markdown;
mod page;
mod run;
mod svg;
mod words;

pub use compare::{html as compare_html, markdown as compare_markdown};
pub use markdown::run as markdown;
pub use run::html;
