//! Search for a serial order of one round.

use std::collections::HashSet;
use std::time::Instant;

use random::sector::numbered;

/// Effect that the answer to a command implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The block has this content afterwards.
    Wrote { stamp: u64 },
    /// The block had the content `compare`, and has `write` afterwards.
    Replaced { compare: u64, write: u64 },
    /// The block had a content other than `compare`, whose first difference is at this offset.
    Differed { compare: u64, offset: Option<u64> },
    /// The block had this content.
    Read { stamp: u64 },
}

impl Effect {
    /// Content after the command, or `None` when its answer does not fit the content before.
    fn apply(self, content: u64) -> Option<u64> {
        match self {
            Self::Wrote { stamp } => Some(stamp),
            Self::Replaced { compare, write } => (content == compare).then_some(write),
            Self::Differed { compare, offset } => {
                let difference = first_difference(content, compare)?;
                offset.is_none_or(|offset| offset == difference).then_some(content)
            }
            Self::Read { stamp } => (content == stamp).then_some(content),
        }
    }
}

/// Offset of the first byte in which two contents differ; `None` when they are equal.
fn first_difference(a: u64, b: u64) -> Option<u64> {
    let (a, b) = (numbered(a), numbered(b));
    a.iter().zip(&b).position(|(a, b)| a != b).map(|offset| offset as u64)
}

/// A command with the times at which it was sent and its answer was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub start: Instant,
    pub end: Instant,
    pub effect: Effect,
}

/// Whether some order of the operations respects time, explains every answer, and leads from
/// `before` to `after`.
///
/// Handles at most 32 operations.
pub(super) fn fits_a_serial_order(before: u64, operations: &[Operation], after: u64) -> bool {
    let all = (1_u64 << operations.len().min(32)) - 1;
    let mut visited = HashSet::new();
    let mut open = vec![(0_u64, before)];
    while let Some((done, content)) = open.pop() {
        if done == all {
            if content == after {
                return true;
            }
            continue;
        }
        if !visited.insert((done, content)) {
            continue;
        }
        let left = || operations.iter().enumerate().filter(move |(index, _)| done & 1 << index == 0);
        // An operation may come next unless another one was answered before it was sent.
        let first_answer = left().map(|(_, operation)| operation.end).min();
        for (index, operation) in left() {
            if first_answer.is_some_and(|answer| answer < operation.start) {
                continue;
            }
            if let Some(next) = operation.effect.apply(content) {
                open.push((done | 1 << index, next));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(times: &[(u64, u64, Effect)]) -> Vec<Operation> {
        let base = Instant::now();
        let time = |micros| base + Duration::from_micros(micros);
        times.iter().map(|&(start, end, effect)| Operation { start: time(start), end: time(end), effect }).collect()
    }

    const fn wrote(stamp: u64) -> Effect {
        Effect::Wrote { stamp }
    }

    const fn replaced(compare: u64, write: u64) -> Effect {
        Effect::Replaced { compare, write }
    }

    #[test]
    fn concurrent_operations_in_any_order() {
        assert!(fits_a_serial_order(1, &[], 1));
        assert!(!fits_a_serial_order(1, &[], 2));
        let race = at(&[(0, 10, wrote(2)), (0, 10, replaced(1, 3))]);
        assert!(fits_a_serial_order(1, &race, 2), "replaced, then overwritten");
        assert!(!fits_a_serial_order(1, &race, 3), "the plain write was lost");
        assert!(!fits_a_serial_order(1, &race, 1));
    }

    #[test]
    fn one_content_is_replaced_once() {
        let race = at(&[(0, 10, replaced(1, 2)), (0, 10, replaced(1, 3))]);
        assert!(!fits_a_serial_order(1, &race, 2) && !fits_a_serial_order(1, &race, 3));
        let chain = at(&[(0, 10, replaced(2, 3)), (0, 10, replaced(1, 2))]);
        assert!(fits_a_serial_order(1, &chain, 3));
        let again = at(&[(0, 10, replaced(0, 3)), (0, 10, wrote(0)), (0, 10, replaced(0, 4)), (0, 10, wrote(0))]);
        assert!(fits_a_serial_order(1, &again, 4), "zeros come twice");
    }

    #[test]
    fn time_is_respected() {
        let concurrent = at(&[(0, 10, wrote(2)), (5, 15, wrote(3))]);
        assert!(fits_a_serial_order(1, &concurrent, 2) && fits_a_serial_order(1, &concurrent, 3));
        let later = at(&[(0, 10, wrote(2)), (11, 20, wrote(3))]);
        assert!(!fits_a_serial_order(1, &later, 2), "an answered write came back");
        let late_read = at(&[(0, 10, wrote(2)), (11, 20, Effect::Read { stamp: 1 })]);
        assert!(!fits_a_serial_order(1, &late_read, 2));
    }

    #[test]
    fn miscompares_have_to_be_explained() {
        let differed = |compare, offset| Effect::Differed { compare, offset };
        assert!(!fits_a_serial_order(1, &at(&[(0, 10, differed(1, None))]), 1), "it was equal all the time");
        assert!(fits_a_serial_order(1, &at(&[(0, 10, differed(2, None))]), 1));
        assert!(fits_a_serial_order(1, &at(&[(0, 10, differed(2, Some(7)))]), 1));
        assert!(!fits_a_serial_order(1, &at(&[(0, 10, differed(2, Some(8)))]), 1), "a wrong offset");
        let with_write = at(&[(0, 10, differed(1, Some(7))), (0, 10, wrote(2))]);
        assert!(fits_a_serial_order(1, &with_write, 2));
    }
}
