//! Columns of text, two spaces apart.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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
    let widths = widths(rows);
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

/// Spaces between two columns.
const GAP: usize = 2;
/// Fewest cells into which a column of text is wrapped: below, a sentence is hard to read.
const LEAST_WRAPPED: usize = 24;

/// Lays rows out in at most `width` cells, if that can be.
///
/// If the rows are too wide, columns of text are wrapped between words, the widest first. If that is not enough,
/// columns are left out: first the minor ones, from the right, then the others, from the right, but never the first
/// column. Returns the lines, and the columns that are left out, in order.
pub fn fitted(width: usize, aligns: &[Align], minor: &[bool], rows: &[Vec<String>]) -> (Vec<String>, Vec<usize>) {
    let all = widths(rows).len();
    let mut kept: Vec<usize> = (0..all).collect();
    loop {
        let chosen: Vec<Vec<String>> = rows.iter().map(|row| picked(row, &kept)).collect();
        let aligned: Vec<Align> = kept.iter().map(|column| align(aligns, *column)).collect();
        let is_minor = |column: &usize| minor.get(*column).copied().unwrap_or(false);
        let cut = kept.iter().rposition(is_minor).unwrap_or(kept.len().saturating_sub(1));
        let narrowed = narrowed(width, &aligned, &chosen);
        if cut == 0 || narrowed.is_some() {
            let left = (0..all).filter(|column| !kept.contains(column)).collect();
            let widths = narrowed.unwrap_or_else(|| widths(&chosen));
            let rows: Vec<Vec<String>> = chosen.iter().flat_map(|row| of_several_lines(row, &widths)).collect();
            return (lines(&aligned, &rows), left);
        }
        kept.remove(cut);
    }
}

/// Widths with which the columns fit, if those of text are wrapped as far as needed; none if that is not enough.
fn narrowed(width: usize, aligns: &[Align], rows: &[Vec<String>]) -> Option<Vec<usize>> {
    let mut cells = widths(rows);
    let words = |cell: &String| cell.split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0);
    let least = |(column, cells): (usize, &usize)| {
        let longest = rows.iter().filter_map(|row| row.get(column)).map(words).max().unwrap_or(0);
        if align(aligns, column) == Align::Left { (*cells).min(longest.max(LEAST_WRAPPED)) } else { *cells }
    };
    let least: Vec<usize> = cells.iter().enumerate().map(least).collect();
    let gaps = GAP * cells.len().saturating_sub(1);
    let room = width.checked_sub(gaps)?;
    if least.iter().sum::<usize>() > room {
        return None;
    }
    while cells.iter().sum::<usize>() > room {
        let widest = cells.iter_mut().zip(&least).filter(|(cells, least)| **cells > **least);
        let (widest, _) = widest.max_by_key(|(cells, _)| **cells)?;
        *widest -= 1;
    }
    Some(cells)
}

/// A row as several, if cells are wrapped in these widths.
fn of_several_lines(row: &[String], widths: &[usize]) -> Vec<Vec<String>> {
    let parts = |(cell, width): (&String, &usize)| match cell.width() > *width {
        true => wrapped(cell, *width),
        false => vec![cell.clone()],
    };
    let cells: Vec<Vec<String>> = row.iter().zip(widths).map(parts).collect();
    let lines = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |line: usize| cells.iter().map(|parts| parts.get(line).cloned().unwrap_or_default()).collect();
    (0..lines).map(line).collect()
}

/// Lays rows out in at most `width` cells without leaving a column out: the columns that do not fit stand in further
/// lines below, indented, and so does the heading. A cell that is wider than a line is wrapped, if it is text.
pub fn stacked(width: usize, aligns: &[Align], rows: &[Vec<String>]) -> Vec<String> {
    let widths = widths(rows);
    let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
    let mut used = 0;
    for (column, cells) in widths.iter().enumerate() {
        let first = groups.last().is_none_or(Vec::is_empty);
        if !first && used + GAP + cells > width {
            groups.push(Vec::new());
            used = GAP;
        } else if !first {
            used += GAP;
        }
        used += cells;
        if let Some(group) = groups.last_mut() {
            group.push(column);
        }
    }
    let block = |(index, group): (usize, &Vec<usize>)| -> Vec<Vec<String>> {
        let indent = if index == 0 { "" } else { "  " };
        let room = width.saturating_sub(indent.len()).max(1);
        let chosen: Vec<Vec<String>> = rows.iter().map(|row| picked(row, group)).collect();
        let aligned: Vec<Align> = group.iter().map(|column| align(aligns, *column)).collect();
        let single = group.len() == 1 && aligned.first() == Some(&Align::Left);
        let lines = lines(&aligned, &chosen).into_iter();
        let one = |line: String| if single { wrapped(&line, room) } else { vec![line] };
        lines
            .map(|line| one(line).into_iter().map(|line| format!("{indent}{line}").trim_end().to_owned()).collect())
            .collect()
    };
    let blocks: Vec<Vec<Vec<String>>> = groups.iter().enumerate().map(block).collect();
    let row = |index: usize| blocks.iter().filter_map(move |block| block.get(index)).flatten().cloned();
    (0..rows.len()).flat_map(row).collect()
}

/// Breaks a text between words into lines of at most `width` cells. A word that is longer is broken where the line
/// ends.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        if used > 0 && used + 1 + word.width() > width {
            lines.push(String::new());
            used = 0;
        } else if used > 0 {
            used += 1;
            if let Some(line) = lines.last_mut() {
                line.push(' ');
            }
        }
        for letter in word.chars() {
            let cells = letter.width().unwrap_or(0);
            if used > 0 && used + cells > width {
                lines.push(String::new());
                used = 0;
            }
            used += cells;
            if let Some(line) = lines.last_mut() {
                line.push(letter);
            }
        }
    }
    lines
}

fn picked(row: &[String], columns: &[usize]) -> Vec<String> {
    columns.iter().map(|column| row.get(*column).cloned().unwrap_or_default()).collect()
}

fn align(aligns: &[Align], column: usize) -> Align {
    aligns.get(column).copied().unwrap_or_default()
}

/// Cells of each column.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    (0..columns).map(|column| width(column).unwrap_or(0)).collect()
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

    fn table() -> Vec<Vec<String>> {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        vec![
            row(&["NAME", "SIZE", "INITIATOR", "MESSAGE"]),
            row(&["win-dc1", "100 GiB", "iqn.1998-01.com.vmware:esx01", "the pool is full, and a write was refused"]),
            row(&["db", "1 GiB", "–", "–"]),
        ]
    }

    const ALIGNS: [Align; 4] = [Align::Left, Align::Right, Align::Left, Align::Left];

    fn widest(lines: &[String]) -> usize {
        lines.iter().map(|line| line.width()).max().unwrap_or(0)
    }

    #[test]
    fn a_table_that_fits_is_the_table() {
        let whole = lines(&ALIGNS, &table());
        assert_eq!(fitted(160, &ALIGNS, &[], &table()), (whole.clone(), vec![]));
        assert_eq!(stacked(160, &ALIGNS, &table()), whole);
        assert_eq!(fitted(80, &ALIGNS, &[], &[]), (vec![], vec![]));
        assert_eq!(stacked(80, &ALIGNS, &[]), [""; 0]);
    }

    #[test]
    fn a_text_is_wrapped_before_a_column_goes() {
        let (lines, left) = fitted(80, &ALIGNS, &[], &table());
        assert_eq!(
            lines,
            [
                "NAME        SIZE  INITIATOR                     MESSAGE",
                "win-dc1  100 GiB  iqn.1998-01.com.vmware:esx01  the pool is full, and a write",
                "                                                was refused",
                "db         1 GiB  –                             –",
            ]
        );
        assert_eq!(left, []);
    }

    #[test]
    fn minor_columns_go_first_and_the_first_column_stays() {
        let (lines, left) = fitted(60, &ALIGNS, &[false, false, true, false], &table());
        assert_eq!((lines[1].as_str(), left), ("win-dc1  100 GiB  the pool is full, and a write was refused", vec![2]));
        let (lines, left) = fitted(20, &ALIGNS, &[], &table());
        assert_eq!((lines[1].as_str(), left), ("win-dc1  100 GiB", vec![2, 3]));
        assert_eq!(fitted(3, &ALIGNS, &[true; 4], &table()).0[1], "win-dc1");
    }

    #[test]
    fn stacked_rows_leave_nothing_out() {
        assert_eq!(
            stacked(40, &ALIGNS, &table()),
            [
                "NAME        SIZE",
                "  INITIATOR",
                "  MESSAGE",
                "win-dc1  100 GiB",
                "  iqn.1998-01.com.vmware:esx01",
                "  the pool is full, and a write was",
                "  refused",
                "db         1 GiB",
                "  –",
                "  –",
            ]
        );
        for width in [30, 60, 80, 120, 160] {
            let lines = stacked(width, &ALIGNS, &table());
            assert!(widest(&lines) <= width, "{lines:#?}");
            let words = |lines: &[String]| {
                let mut words: Vec<String> = lines.join(" ").split_whitespace().map(str::to_owned).collect();
                words.sort();
                words
            };
            assert_eq!(words(&lines), words(&table().concat()));
        }
    }

    #[test]
    fn a_text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("名名名", 4), ["名名", "名"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
