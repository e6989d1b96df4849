//! Search over all objects.

use super::Array;
use crate::*;

fn found(array: &Array, text: &str) -> Vec<(&'static str, String)> {
    let found = array.run(Search { text: text.to_owned() }).unwrap();
    found.into_iter().map(|found| (found.kind, found.name)).collect()
}

#[test]
fn objects_are_found_by_names_and_identifiers() {
    let array = Array::new();
    array.create("data");
    array.run(SnapshotCreate { volume: "data".to_owned(), name: "monday".to_owned() }).unwrap();
    array.run(ShareCreate::new("more-data")).unwrap();
    array.create_host("esx01", "iqn.2026-01.org.example:data");
    let names = found(&array, "DATA");
    let expected = [("volume", "data"), ("snapshot", "data@monday"), ("share", "more-data"), ("host", "esx01")];
    assert_eq!(names, expected.map(|(kind, name)| (kind, name.to_owned())));
    let host = array.run(Search { text: "example:d".to_owned() }).unwrap();
    assert_eq!(host[0].matched, "iqn.2026-01.org.example:data");
    assert_eq!(found(&array, "monday").len(), 1);
    assert!(found(&array, "nothing").is_empty());
    for wrong in [String::new(), "x".repeat(257)] {
        assert!(matches!(array.run(Search { text: wrong }), Err(ControlError::InvalidQuery(_))));
    }
}

/// Names that begin with the text are not hidden by many that only contain it.
#[test]
fn few_of_many_are_found_and_the_nearest_first() {
    let array = Array::new();
    for number in 0..30 {
        array.create(&format!("a-db{number:02}"));
    }
    array.create("db");
    array.create_host("db-host", "iqn.2026-01.org.example:h1");
    let names = found(&array, "db");
    assert_eq!((names.len(), names[0].1.as_str(), names[1].1.as_str()), (20, "db", "db-host"));
    for number in 0..30 {
        array.create(&format!("DB{number:02}"));
    }
    // A kind has no more than all together.
    let names = found(&array, "db");
    let expected: Vec<String> = (0..20).map(|number| format!("DB{number:02}")).collect();
    assert_eq!(names.into_iter().map(|(_, name)| name).collect::<Vec<_>>(), expected);
}
