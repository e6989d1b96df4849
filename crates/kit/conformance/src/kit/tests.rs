use super::*;

#[test]
fn every_number_exists_once() {
    let numbers: Vec<_> = checks().iter().map(|check| check.number).collect();
    assert_eq!(
        numbers.iter().copied().filter(|number| *number < 200).collect::<Vec<_>>(),
        (1..=176).collect::<Vec<_>>()
    );
    let beyond: Vec<_> = numbers.into_iter().filter(|number| *number >= 200).collect();
    assert_eq!(beyond, (200..).take(beyond.len()).collect::<Vec<_>>());
}

#[test]
fn names_are_unique_and_questions_are_sentences() {
    let mut names: Vec<_> = checks().iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), checks().len());
    for check in checks() {
        assert!(check.asks.ends_with('.') && check.section.contains(['§', 'A']), "{}", check.name);
    }
}

#[test]
fn checks_are_found_by_number_name_and_group() {
    assert_eq!(find("38").first().map(|check| check.name), Some("compare_and_write/miscompare"));
    assert_eq!(find("miscompare").len(), 1);
    assert_eq!(find("compare_and_write").len(), 24);
    assert!(find("nonsense").is_empty());
}
