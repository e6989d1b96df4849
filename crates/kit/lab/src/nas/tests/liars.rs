//! Cases against servers that lie: a case that passes on one measures nothing.

use super::{ROOM, SETTINGS, run, share};
use crate::results::Verdict;
use nfs::v4::Status;
use nfs::v4::attributes::{Attribute, Fattr, SetAttributesArguments};
use nfs::v4::operations::{Operation, Outcome};
use nfs_memory::{Lie, Setup};

type Ask = fn(Operation) -> Operation;
type Answer = fn(&Operation, Outcome) -> Outcome;

struct Changed {
    ask: Ask,
    answer: Answer,
}

impl Lie for Changed {
    fn ask(&mut self, operation: Operation) -> Operation {
        (self.ask)(operation)
    }

    fn answer(&mut self, asked: &Operation, outcome: Outcome) -> Outcome {
        (self.answer)(asked, outcome)
    }
}

fn same(operation: Operation) -> Operation {
    operation
}

fn honest(_asked: &Operation, outcome: Outcome) -> Outcome {
    outcome
}

/// CLONE that does nothing.
fn no_clone(operation: Operation) -> Operation {
    match operation {
        Operation::Clone(_) => Operation::GetFilehandle,
        other => other,
    }
}

fn cloned(asked: &Operation, outcome: Outcome) -> Outcome {
    match asked {
        Operation::Clone(_) => Outcome::Clone(Ok(())),
        _ => outcome,
    }
}

/// CLONE of half the file, with its whole length.
fn half_a_clone(operation: Operation) -> Operation {
    match operation {
        Operation::Clone(mut it) if it.count_bytes == 0 => {
            it.count_bytes = SETTINGS.size / 2;
            Operation::Clone(it)
        }
        other => other,
    }
}

/// CLONE of 64 KiB, whatever the file.
fn half_a_clone_of_any(operation: Operation) -> Operation {
    match operation {
        Operation::Clone(mut it) => {
            it.count_bytes = 64 << 10;
            Operation::Clone(it)
        }
        other => other,
    }
}

/// ALLOCATE that sets the size only.
fn no_space(operation: Operation) -> Operation {
    match operation {
        Operation::Allocate(it) => {
            let attributes = Fattr::new([Attribute::Size(it.offset_bytes + it.length_bytes)]);
            Operation::SetAttributes(SetAttributesArguments { stateid: it.stateid, attributes })
        }
        other => other,
    }
}

fn allocated(asked: &Operation, outcome: Outcome) -> Outcome {
    match asked {
        Operation::Allocate(_) => Outcome::Allocate(Ok(())),
        _ => outcome,
    }
}

/// Like [`allocated`], with files that take what their size is.
fn allocated_and_used(asked: &Operation, outcome: Outcome) -> Outcome {
    match allocated(asked, outcome) {
        Outcome::GetAttributes(Ok(found)) => {
            let mut found = found.attributes().unwrap_or_default();
            if let [Attribute::Size(size), Attribute::SpaceUsed(used)] = &mut found[..] {
                *used = *size;
            }
            Outcome::GetAttributes(Ok(Fattr::new(found)))
        }
        other => other,
    }
}

/// Attribute 78 that says what attribute 45 does.
fn nothing_is_shared(_asked: &Operation, outcome: Outcome) -> Outcome {
    changed(outcome, |attribute| match attribute {
        Attribute::SpaceFreed(0) => Attribute::SpaceFreed(SETTINGS.size),
        other => other,
    })
}

fn all_is_shared(_asked: &Operation, outcome: Outcome) -> Outcome {
    changed(outcome, |attribute| match attribute {
        Attribute::SpaceFreed(_) => Attribute::SpaceFreed(0),
        other => other,
    })
}

fn changed(outcome: Outcome, change: fn(Attribute) -> Attribute) -> Outcome {
    match outcome {
        Outcome::GetAttributes(Ok(found)) => {
            let found = found.attributes().unwrap_or_default();
            Outcome::GetAttributes(Ok(Fattr::new(found.into_iter().map(change))))
        }
        other => other,
    }
}

/// A server whose promises end with its space: no write succeeds once one has failed.
struct Full {
    is_full: bool,
}

impl Lie for Full {
    fn answer(&mut self, _asked: &Operation, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Write(Err(status)) => {
                self.is_full = true;
                Outcome::Write(Err(status))
            }
            Outcome::Write(Ok(_)) if self.is_full => Outcome::Write(Err(Status::NOSPC)),
            other => other,
        }
    }
}

#[test]
fn a_promise_that_does_not_hold_is_noticed() {
    for case in ["nas-reserve", "nas-thick-clone"] {
        let setup = Setup { quota_bytes: Some(ROOM), ..Setup::lying(|| Full { is_full: false }) };
        let result = run(case, &share(setup), &SETTINGS);
        assert_eq!(result.verdict(), Verdict::Failed, "{case}: {result:#?}");
        assert!(result.failures[0].contains("full file system"), "{:?}", result.failures);
    }
}

const LIARS: &[(&str, &str, Ask, Answer)] = &[
    ("nas-clone", "no clone", no_clone, cloned),
    ("nas-clone", "half a clone", half_a_clone, honest),
    ("nas-reserve", "no space", no_space, allocated),
    ("nas-reserve", "no space, and files that seem to take it", no_space, allocated_and_used),
    ("nas-stat", "nothing is shared", same, nothing_is_shared),
    ("nas-stat", "all is shared", same, all_is_shared),
    ("nas-stat", "no clone", no_clone, cloned),
    ("nas-thick-clone", "no clone", no_clone, cloned),
    ("nas-thick-clone", "half a clone", half_a_clone_of_any, honest),
    ("nas-many-clones", "no clone", no_clone, cloned),
    ("nas-many-clones", "half a clone", half_a_clone_of_any, honest),
    ("nas-many-clones", "nothing is shared", same, nothing_is_shared),
];

#[test]
fn every_case_notices_every_liar() {
    for &(case, lie, ask, answer) in LIARS {
        let setup = Setup { quota_bytes: Some(ROOM), ..Setup::lying(move || Changed { ask, answer }) };
        let result = run(case, &share(setup), &SETTINGS);
        assert_eq!(result.verdict(), Verdict::Failed, "{case}, {lie}: {result:#?}");
        println!("{case}, {lie}: {:?}", result.failures);
    }
}
