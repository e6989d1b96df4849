//! Number of executed procedures and operations, by outcome.

use std::cell::Cell;

/// Number of executions of a procedure or operation since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationCount {
    /// Name in the standard, without prefix; `ILLEGAL` for all numbers that do not exist.
    pub name: &'static str,
    /// Executions that succeeded.
    pub succeeded: u64,
    /// Executions that failed.
    pub failed: u64,
}

/// Numbers above are counted as 0, which no operation of NFSv4 and only NULL of NFSv3 has.
const NUMBERS: usize = 80;

/// Executions by number.
#[derive(Debug)]
pub(crate) struct Counts([Cell<(u64, u64)>; NUMBERS]);

impl Default for Counts {
    fn default() -> Self {
        Self([const { Cell::new((0, 0)) }; NUMBERS])
    }
}

impl Counts {
    /// Counts an execution.
    pub fn note(&self, number: u32, succeeded: bool) {
        let index = usize::try_from(number).ok().filter(|index| *index < NUMBERS).unwrap_or_default();
        let Some(counted) = self.0.get(index) else { return };
        let (good, bad) = counted.get();
        counted.set(if succeeded { (good.wrapping_add(1), bad) } else { (good, bad.wrapping_add(1)) });
    }

    /// Numbers that were executed, with their names in a table.
    pub fn named(&self, names: impl Iterator<Item = (u32, &'static str)>) -> Vec<OperationCount> {
        let count = |(number, name): (u32, &'static str)| {
            let (succeeded, failed) = self.0.get(usize::try_from(number).ok()?)?.get();
            (succeeded + failed > 0).then_some(OperationCount { name, succeeded, failed })
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
            counts.note(number, succeeded);
        }
        let named = counts.named([(0, "ILLEGAL"), (25, "READ"), (38, "WRITE")].into_iter());
        let count = |name, succeeded, failed| OperationCount { name, succeeded, failed };
        assert_eq!(named, [count("ILLEGAL", 0, 2), count("READ", 2, 1)]);
    }

    #[test]
    fn every_operation_has_a_number_of_its_own() {
        let numbers = OPERATIONS.iter().map(|row| row.code).chain(UNSERVED.iter().map(|row| row.code));
        assert!(numbers.map(|number| number as usize).all(|number| (1..NUMBERS).contains(&number)));
    }
}
