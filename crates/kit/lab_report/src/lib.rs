//! What the laboratory found, for readers: one HTML file with the papers' charts drawn from our data and the papers' figures beside them, and the
//! same in Markdown for the documents.
//!
//! The page needs no network and no script; it follows the reader's light or dark, prints, and stands on a narrow screen. Charts are inline SVG with a
//! title, a description and a table of their values. Whatever an array or a file system says of itself is hostile until it was escaped: HTML is written
//! by maud, which escapes every text, and `words::harmless` takes out what would change how a text is read.
//!
//! `figure` chooses what is shown of a case, `svg` draws, `run` and `compare` are the two pages, `markdown` has no drawings.
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
