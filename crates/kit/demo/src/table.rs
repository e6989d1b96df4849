//! Report of the demo: one row for each operation, with the host's method beside the array's, and
//! the checks behind the word "identical".

use crate::Outcome;
use std::time::Duration;
use text::columns::Align;

/// Readings of the three meters for one method of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Elapsed time.
    pub(crate) elapsed: Duration,
    /// Bytes over the loopback interface, including headers.
    pub(crate) wire_bytes: u64,
    /// Used space of the pool before and after.
    pub(crate) pool_bytes: (u64, u64),
}

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Name of the operation.
    pub(crate) operation: String,
    /// The host's method; `None` when it has none.
    pub(crate) host: Option<Measured>,
    /// The array's method; `None` when it has none.
    pub(crate) array: Option<Measured>,
    /// Result of the comparison.
    pub(crate) result: String,
}

/// A checked statement.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// The statement.
    pub(crate) statement: String,
    /// Whether it held.
    pub(crate) held: bool,
}

/// Rows and checks of the demo.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) checks: Vec<Check>,
}

impl Report {
    /// Adds a check.
    pub(crate) fn check(&mut self, held: bool, statement: impl Into<String>) -> bool {
        self.checks.push(Check { statement: statement.into(), held });
        held
    }

    /// Number of checks that held and failed.
    pub(crate) fn outcome(&self) -> Outcome {
        let passed = self.checks.iter().filter(|check| check.held).count();
        Outcome { passed, failed: self.checks.len() - passed }
    }

    /// Lines of the table, then of the checks, ready to print.
    pub(crate) fn lines(&self) -> Vec<String> {
        use Align::{Left, Right};
        let words = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let mut rows = vec![
            words(&["", "", "BY HOST", "", "", "", "BY ARRAY", "", "", "", ""]),
            words(&["OPERATION", "", "TIME", "WIRE", "POOL", "", "TIME", "WIRE", "POOL", "", "RESULT"]),
        ];
        for row in &self.rows {
            let mut cells = vec![row.operation.clone(), String::new()];
            cells.extend(measured(row.host));
            cells.push(String::new());
            cells.extend(measured(row.array));
            cells.extend([String::new(), result(row)]);
            rows.push(cells);
        }
        let alignment = [Left, Left, Right, Right, Right, Left, Right, Right, Right, Left, Left];
        let mut lines = text::columns::lines(&alignment, &rows);
        lines.push(String::new());
        for check in &self.checks {
            lines.push(format!("  {}  {}", if check.held { "ok    " } else { "FAILED" }, check.statement));
        }
        let Outcome { passed, failed } = self.outcome();
        lines.push(format!("{passed} passed, {failed} failed"));
        lines
    }
}

/// Time, wire and pool of one method.
fn measured(measured: Option<Measured>) -> [String; 3] {
    match measured {
        None => ["–".into(), "–".into(), "–".into()],
        Some(Measured { elapsed, wire_bytes, pool_bytes: (before, after) }) => {
            [text::duration::measured(elapsed), text::size::format(wire_bytes), text::size::change(before, after)]
        }
    }
}

/// Result, with the ratio by which the array was faster when both did the work.
fn result(row: &Row) -> String {
    let (Some(host), Some(array)) = (row.host, row.array) else { return row.result.clone() };
    let ratio = host.elapsed.as_secs_f64() / array.elapsed.as_secs_f64().max(1e-9);
    match ratio {
        ratio if ratio >= 10.0 => format!("{}, {ratio:.0}× faster", row.result),
        ratio if ratio >= 1.05 => format!("{}, {ratio:.1}× faster", row.result),
        _ => row.result.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_array_stand_side_by_side() {
        let host = Measured { elapsed: Duration::from_secs(2), wire_bytes: 2 << 30, pool_bytes: (0, 1 << 30) };
        let array = Measured { elapsed: Duration::from_millis(20), wire_bytes: 31 << 10, pool_bytes: (4096, 4096) };
        let mut report = Report::default();
        let row = Row { operation: "copy".into(), host: Some(host), array: Some(array), result: "identical".into() };
        report.rows.push(row);
        report.rows.push(Row { operation: "unmap".into(), host: None, array: Some(array), result: "freed".into() });
        report.check(true, "the copies are identical");
        report.check(false, "the space came back");
        let lines = report.lines();
        let expected = [
            "             BY HOST                   BY ARRAY",
            "OPERATION       TIME   WIRE    POOL        TIME    WIRE  POOL    RESULT",
            "copy          2.00 s  2 GiB  +1 GiB     20.0 ms  31 KiB   0 B    identical, 100× faster",
            "unmap              –      –       –     20.0 ms  31 KiB   0 B    freed",
            "",
            "  ok      the copies are identical",
            "  FAILED  the space came back",
            "1 passed, 1 failed",
        ];
        assert_eq!(lines, expected);
        assert_eq!(report.outcome(), Outcome { passed: 1, failed: 1 });
    }
}
