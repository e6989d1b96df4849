use super::*;

#[test]
fn every_number_from_1_to_187_is_there_once() {
    let numbers: Vec<_> = checks().iter().map(|check| check.number).collect();
    assert_eq!(numbers, (1..=187).collect::<Vec<_>>());
}

#[test]
fn names_are_unique_and_questions_are_sentences() {
    let mut names: Vec<_> = checks().iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 187);
    for check in checks() {
        assert!(check.asks.ends_with('.') && check.section.contains(['§', 'A']), "{}", check.name);
    }
}

#[test]
fn checks_are_found_by_number_name_and_group() {
    assert_eq!(find("38").first().map(|check| check.name), Some("compare_and_write/miscompare"));
    assert_eq!(find("miscompare").len(), 1);
    assert_eq!(find("compare_and_write").len(), 23);
    assert!(find("nonsense").is_empty());
}
