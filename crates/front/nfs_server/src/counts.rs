//! Number of executed procedures and operations, by outcome, and their durations.

use std::cell::RefCell;
use unit::LatencyHistogram;

/// Number of executions of a procedure or operation since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCount {
    /// Name in the standard, without prefix; `ILLEGAL` for all numbers that do not exist.
    pub name: &'static str,
    /// Executions that succeeded.
    pub succeeded: u64,
    /// Executions that failed.
    pub failed: u64,
    /// Durations of all executions; none without [`Statistics`](crate::Statistics).
    pub durations: LatencyHistogram,
}

/// Numbers above are counted as 0, which no operation of NFSv4 and only NULL of NFSv3 has.
const NUMBERS: usize = 80;

/// Executions with one number.
#[derive(Clone, Debug, Default)]
struct Count {
    succeeded: u64,
    failed: u64,
    durations: LatencyHistogram,
}

/// Executions by number.
#[derive(Debug)]
pub(crate) struct Counts(RefCell<Vec<Count>>);

impl Default for Counts {
    fn default() -> Self {
        Self(RefCell::new(vec![Count::default(); NUMBERS]))
    }
}

impl Counts {
    /// Counts an execution, with its duration if it was measured.
    pub fn note(&self, number: u32, succeeded: bool, duration_ns: Option<u64>) {
        let index = usize::try_from(number).ok().filter(|index| *index < NUMBERS).unwrap_or_default();
        let mut counts = self.0.borrow_mut();
        let Some(count) = counts.get_mut(index) else { return };
        let outcome = if succeeded { &mut count.succeeded } else { &mut count.failed };
        *outcome = outcome.wrapping_add(1);
        if let Some(duration_ns) = duration_ns {
            count.durations.record(duration_ns);
        }
    }

    /// Numbers that were executed, with their names in a table.
    pub fn named(&self, names: impl Iterator<Item = (u32, &'static str)>) -> Vec<OperationCount> {
        let counts = self.0.borrow();
        let count = |(number, name): (u32, &'static str)| {
            let Count { succeeded, failed, durations } = counts.get(usize::try_from(number).ok()?)?.clone();
            (succeeded + failed > 0).then_some(OperationCount { name, succeeded, failed, durations })
        };
        names.filter_map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nfs::v4::compound::ILLEGAL;
    use nfs::v4::operations::{OPERATIONS, UNSERVED};

    #[test]
    fn executions_are_counted_by_name_and_outcome() {
        let counts = Counts::default();
        for (number, succeeded) in [(25, true), (25, false), (25, true), (ILLEGAL, false), (u32::MAX, false)] {
            counts.note(number, succeeded, (number == 25).then_some(3_000));
        }
        let named = counts.named([(0, "ILLEGAL"), (25, "READ"), (38, "WRITE")].into_iter());
        let count = |name, succeeded, failed, measured: u64| {
            let mut durations = LatencyHistogram::default();
            (0..measured).for_each(|_| durations.record(3_000));
            OperationCount { name, succeeded, failed, durations }
        };
        assert_eq!(named, [count("ILLEGAL", 0, 2, 0), count("READ", 2, 1, 3)]);
    }

    #[test]
    fn every_operation_has_a_number_of_its_own() {
        let numbers = OPERATIONS.iter().map(|row| row.code).chain(UNSERVED.iter().map(|row| row.code));
        assert!(numbers.map(|number| number as usize).all(|number| (1..NUMBERS).contains(&number)));
    }
}
