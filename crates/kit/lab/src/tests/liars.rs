//! Every case on logical units that lie: they answer GOOD, but do nothing, half of the work,
//! something else, or do it later. A case that passes on its liar measures nothing.

use super::*;
use crate::Primitive;
use crate::case::Case;

/// Lies about a primitive that its cases must notice, in the array's work and in the host's.
fn lies_of(primitive: Primitive) -> &'static [Lie] {
    match primitive {
        Primitive::Locking => &[Lie::CompareNothing, Lie::CompareNever, Lie::CompareBlind, Lie::CompareLate],
        Primitive::Move => &[Lie::CopyNothing, Lie::CopyHalf, Lie::CopyWrong, Lie::CopyLate],
        Primitive::Init => &[Lie::ZeroNothing, Lie::ZeroHalf, Lie::ZeroWrong, Lie::ZeroLate],
        Primitive::Unmap => &[Lie::UnmapNothing, Lie::UnmapHalf, Lie::UnmapZeros, Lie::StatusNothing, Lie::StatusAll],
    }
}

/// Lies that every case must notice.
const OF_ALL: &[Lie] = &[Lie::ReadWrong, Lie::WriteHalf];

/// Result of a case on a liar.
fn result_of(case: &'static Case, lie: Lie) -> CaseResult {
    World::lying(if case.second_unit { 2 } else { 1 }, |_| (), Some(lie)).run(case.name).0
}

/// Runs the cases of a primitive on each of its liars; for `None`, runs all cases on those of
/// [`OF_ALL`].
fn every_liar_is_noticed(primitive: Option<Primitive>) {
    let lies = primitive.map_or(OF_ALL, lies_of);
    let about = |case: &&Case| primitive.is_none_or(|primitive| case.needs.contains(&primitive));
    let (mut noticed, mut missed) = (0, Vec::new());
    for case in cases::ALL.iter().filter(about) {
        for &lie in lies {
            let result = result_of(case, lie);
            if result.check_passed {
                missed.push(format!("{}: {lie:?}, {:?}", case.name, result.goals));
                continue;
            }
            assert!(result.goals.iter().all(|goal| !goal.reached), "{}: {lie:?}", case.name);
            noticed += 1;
        }
    }
    assert!(missed.is_empty(), "{noticed} noticed; not noticed:\n{}", missed.join("\n"));
    println!("{noticed} liars noticed");
}

#[test]
fn cases_of_compare_and_write_notice_their_liars() {
    every_liar_is_noticed(Some(Primitive::Locking));
}

#[test]
fn cases_of_extended_copy_notice_their_liars() {
    every_liar_is_noticed(Some(Primitive::Move));
}

#[test]
fn cases_of_write_same_notice_their_liars() {
    every_liar_is_noticed(Some(Primitive::Init));
}

#[test]
fn cases_of_unmap_notice_their_liars() {
    every_liar_is_noticed(Some(Primitive::Unmap));
}

#[test]
fn every_case_notices_wrong_data() {
    every_liar_is_noticed(None);
}

#[test]
fn every_case_needs_a_primitive_that_has_liars() {
    for case in cases::ALL {
        assert!(!case.needs.is_empty() && case.needs.iter().all(|need| lies_of(*need).len() > 3), "{}", case.name);
    }
}
