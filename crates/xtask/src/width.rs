//! Width of lines: comments and code end at [`COLUMNS`]. A line with a string may be longer, since texts that users
//! read are not broken in the middle.

use anyhow::{Context, Result};
use std::path::Path;

/// Most columns of a line. `rustfmt.toml` has the same for the code that rustfmt can break.
const COLUMNS: usize = 120;

/// Lines of the sources below a folder that are too wide, each with its file and number.
pub(crate) fn too_wide_below(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                found.extend(too_wide_below(&path)?);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            found.extend(too_wide(&text).into_iter().map(|line| format!("{}:{line}: too wide", path.display())));
        }
    }
    Ok(found)
}

/// Numbers of the lines of a source that are too wide.
fn too_wide(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = None;
    for (line, number) in text.lines().zip(1..) {
        let was_open = open.is_some();
        let is_comment = !was_open && line.trim_start().starts_with("//");
        let has_string = !is_comment && (strings(line, &mut open) || was_open);
        if !has_string && line.chars().count() > COLUMNS {
            found.push(number);
        }
    }
    found
}

/// Follows the strings of a line of code, and returns whether there is one. `open`: the end of a string that continues
/// in the next line.
fn strings(line: &str, open: &mut Option<String>) -> bool {
    let mut rest = line;
    let mut found = false;
    loop {
        let Some(end) = open.take() else {
            let Some(at) = rest.find(['"', '\'', '/']) else { return found };
            let (before, from) = rest.split_at(at);
            if from.starts_with("//") {
                return found;
            }
            rest = &from[1..];
            if from.starts_with('"') {
                let hashes = before.len() - before.trim_end_matches('#').len();
                let raw = before.trim_end_matches('#').ends_with('r');
                *open = Some(if raw { format!("\"{}", "#".repeat(hashes)) } else { "\\\"".to_owned() });
                found = true;
            } else if let Some(after) = from.strip_prefix("'\"'").or_else(|| from.strip_prefix("'\\\"'")) {
                rest = after;
            }
            continue;
        };
        let escapes = end == "\\\"";
        let close = if escapes { "\"" } else { &end };
        let Some(at) = rest.find(close).into_iter().chain(rest.find('\\').filter(|_| escapes)).min() else {
            *open = Some(end);
            return found;
        };
        if rest[at..].starts_with('\\') && escapes {
            rest = rest[at + 1..].strip_prefix(|_| true).unwrap_or_default();
            *open = Some(end);
        } else {
            rest = &rest[at + close.len()..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_code_end_at_the_last_column() {
        let (fits, wide) = ("x".repeat(COLUMNS - 3), "x".repeat(COLUMNS - 2));
        let text = format!("// {fits}\n// {wide}\n   {fits}\n   {wide}\n    // {wide}\n// \"{wide}\"");
        assert_eq!(too_wide(&text), [2, 4, 5, 6]);
    }

    #[test]
    fn a_line_of_a_string_may_be_longer() {
        let wide = "x".repeat(COLUMNS + 1);
        let text = format!(
            "f(\"{wide}\", '\"');\n{wide}\nf(\"\\\"\\\n{wide}\\\\\");\n{wide}\nr#\"\\\" {wide}\n{wide}\"#;\n{wide}"
        );
        assert_eq!(too_wide(&text), [2, 5, 8]);
    }

    #[test]
    fn columns_are_characters() {
        assert_eq!(too_wide(&format!("// {}", "é".repeat(COLUMNS - 3))), [0; 0]);
    }
}
