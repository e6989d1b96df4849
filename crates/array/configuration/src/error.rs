//! Why a document is refused.

use thiserror::Error;

/// A document that cannot be read, or that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{}{reason}", place(.line), of(.field))]
pub struct Invalid {
    /// Field: `KIND.NAME.FIELD`, or the word in the document if it cannot be read.
    pub field: String,
    /// Line of the document, from 1, if it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub reason: String,
}

fn place(line: &Option<usize>) -> String {
    line.map(|line| format!("line {line}: ")).unwrap_or_default()
}

fn of(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("{field}: ") }
}

impl Invalid {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), line: None, reason: reason.into() }
    }
}

/// Name of a field, for a problem.
pub(crate) fn field(kind: &str, name: &str, field: &str) -> String {
    let parts = [kind, name, field];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<&str>>().join(".")
}
