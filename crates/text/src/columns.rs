//! Columns of text, two spaces apart.

use unicode_width::UnicodeWidthStr;

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// At the left edge: words.
    #[default]
    Left,
    /// At the right edge: numbers.
    Right,
}

/// Lays rows out in columns, a line each without spaces at its end. Columns beyond `aligns` stand left; a row may be
/// shorter than others. Widths are those of a terminal's cells.
pub fn lines(aligns: &[Align], rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let aligns = || aligns.iter().copied().chain(std::iter::repeat(Align::Left));
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).zip(aligns()).map(|((cell, width), align)| {
            let space = " ".repeat(width.saturating_sub(cell.width()));
            match align {
                Align::Left => format!("{cell}{space}"),
                Align::Right => format!("{space}{cell}"),
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let rows = [row(&["a", "1", "x"]), row(&["long", "10 µs"]), row(&["名"])];
        assert_eq!(lines(&[Align::Left, Align::Right], &rows), ["a         1  x", "long  10 µs", "名"]);
        assert_eq!(lines(&[], &[]), [""; 0]);
    }
}
