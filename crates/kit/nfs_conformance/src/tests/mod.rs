//! Tests of the kit.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod liars;

use crate::{checks, find};

#[test]
fn numbers_and_names_are_unique_and_questions_are_sentences() {
    let all = checks();
    let mut names: Vec<_> = all.iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
    assert!(all.windows(2).all(|pair| pair[0].number < pair[1].number), "a number occurs twice");
    for check in all {
        assert!(check.asks.ends_with('.') && check.section.contains(['§', 'a']), "{}", check.name);
    }
}

#[test]
fn checks_are_found_by_number_name_and_group() {
    assert_eq!(find("203").first().map(|check| check.name), Some("compound/minor_version"));
    assert_eq!(find("minor-version").len(), 1);
    assert!(find("rpc").len() > 20);
    assert!(find("nonsense").is_empty());
}
