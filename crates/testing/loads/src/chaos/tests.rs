//! Scripts are determined by their seed, and cover every kind and every cut.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::script::{Facts, Step, fingerprint, script};
use std::collections::BTreeSet;

fn facts() -> Facts {
    Facts { target: "iqn.2026-01.org.example:t0".into(), lun: [0, 3, 0, 0, 0, 0, 0, 0] }
}

#[test]
fn the_same_seed_sends_the_same_bytes() {
    assert_eq!(fingerprint(7, 300, &facts()), fingerprint(7, 300, &facts()));
    assert_ne!(fingerprint(7, 300, &facts()), fingerprint(8, 300, &facts()));
    assert_eq!(script(7, 41, &facts()), script(7, 41, &facts()));
}

#[test]
fn every_kind_has_its_turn() {
    let kinds: BTreeSet<&str> = (0..2000).map(|number| script(1, number, &facts()).kind).collect();
    assert_eq!(kinds.len(), 20, "{kinds:?}");
}

/// Each prefix of each variant of the recorded conversation comes once in a round.
#[test]
fn the_cuts_go_through_every_byte() {
    let lengths: Vec<usize> = (0..20_000)
        .step_by(2)
        .filter_map(|number| match script(1, number, &facts()).steps.first() {
            Some(Step::Send(bytes)) => Some(bytes.len()),
            _ => None,
        })
        .collect();
    let longest = *lengths.iter().max().unwrap();
    assert!(longest > 2000);
    let all: BTreeSet<usize> = lengths.iter().copied().collect();
    assert_eq!(all.len(), longest + 1, "a length is missing");
    let rounds = lengths.iter().filter(|length| **length == 0).count();
    assert!(rounds >= 4, "one for each variant");
}
