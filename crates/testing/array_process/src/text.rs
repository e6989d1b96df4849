//! Sizes, times and columns, as a person reads them.

use std::time::Duration;

/// `bytes` in binary units with three significant digits: `0 B`, `31.5 KiB`, `1.00 GiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or("B");
    match value {
        _ if unit == 0 => format!("{bytes} B"),
        value if value >= 100.0 => format!("{value:.0} {name}"),
        value if value >= 10.0 => format!("{value:.1} {name}"),
        value => format!("{value:.2} {name}"),
    }
}

/// A change of size with its sign: `+1.20 GiB`, `−4.00 KiB`, `0 B`.
pub fn size_change(before_bytes: u64, after_bytes: u64) -> String {
    match after_bytes.cmp(&before_bytes) {
        std::cmp::Ordering::Equal => "0 B".into(),
        std::cmp::Ordering::Greater => format!("+{}", size(after_bytes - before_bytes)),
        std::cmp::Ordering::Less => format!("−{}", size(before_bytes - after_bytes)),
    }
}

/// A duration with three significant digits: `850 µs`, `12.3 ms`, `4.56 s`, `2 min 5 s`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 120.0 {
        return format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60);
    }
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    match value {
        value if value >= 100.0 => format!("{value:.0} {unit}"),
        value if value >= 10.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.2} {unit}"),
    }
}

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left edge: words.
    Left,
    /// At the right edge: numbers.
    Right,
}

/// Lays out `rows` in columns two spaces apart. The widths are counted in characters; a row shorter than `columns` leaves the rest empty.
pub fn columns(columns: &[Align], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    rows.iter()
        .map(|row| {
            let cells = columns.iter().zip(&widths).enumerate().map(|(column, (align, width))| {
                let cell = row.get(column).map(String::as_str).unwrap_or("");
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                match align {
                    Align::Left => format!("{cell}{space}"),
                    Align::Right => format!("{space}{cell}"),
                }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1000), "0.98 KiB");
        assert_eq!(size(4096), "4.00 KiB");
        assert_eq!(size(1 << 30), "1.00 GiB");
        assert_eq!(size(500 << 20), "500 MiB");
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(size_change(10, 10), "0 B");
        assert_eq!(size_change(0, 4096), "+4.00 KiB");
        assert_eq!(size_change(4096, 0), "−4.00 KiB");
    }

    #[test]
    fn durations_choose_their_unit() {
        assert_eq!(duration(Duration::from_micros(850)), "850 µs");
        assert_eq!(duration(Duration::from_micros(12_340)), "12.3 ms");
        assert_eq!(duration(Duration::from_millis(4_560)), "4.56 s");
        assert_eq!(duration(Duration::from_secs(125)), "2 min 5 s");
    }

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "1".into()], vec!["long".into(), "10 µs".into()], vec!["x".into()]];
        assert_eq!(columns(&[Align::Left, Align::Right], &rows), ["a         1", "long  10 µs", "x"]);
    }
}
