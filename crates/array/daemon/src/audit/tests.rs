//! The audit in a directory.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::line::Record;
use super::log::Log;
use super::*;
use crate::memory::TemporaryDirectory;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;

fn intent(name: &str) -> Intent {
    let who = Author { kind: "user".to_owned(), name: "anna".to_owned(), id: None, uid: None, from: None };
    let target = Target { kind: "volume".to_owned(), id: None, name: name.to_owned() };
    let change = BTreeMap::from([("size_bytes".to_owned(), Change(json!(1), json!(2)))]);
    Intent { who, action: "volume_set".to_owned(), target, change }
}

fn outcome(intent: u64) -> Outcome {
    Outcome { intent, result: "done".to_owned(), code: None, duration_us: 7, id: None }
}

fn newest(directory: &TemporaryDirectory) -> PathBuf {
    let names = files::list(&directory.path().join(DIRECTORY)).unwrap();
    directory.path().join(DIRECTORY).join(names.last().unwrap().text())
}

fn all() -> Query {
    Query { limit: 100, ..Query::default() }
}

#[tokio::test]
async fn an_intent_without_a_result_is_shown_after_a_restart() {
    let directory = TemporaryDirectory::new();
    let audit = Audit::of(directory.path());
    assert!(audit.list(all()).await.unwrap().is_empty());
    let first = audit.begin(intent("v1")).await.unwrap();
    audit.end(outcome(first)).await.unwrap();
    let second = audit.begin(intent("v2")).await.unwrap();
    drop(audit);
    let audit = Audit::of(directory.path());
    let third = audit.begin(intent("v3")).await.unwrap();
    assert_eq!((first, second, third), (1, 3, 4));
    let views = audit.list(all()).await.unwrap();
    let seen: Vec<_> = views.iter().map(|view| (view.intent.target.name.as_str(), view.outcome.is_some())).collect();
    assert_eq!(seen, [("v3", false), ("v2", false), ("v1", true)]);
    assert_eq!(audit.verify().await.unwrap(), view::Verification { lines: 4, first_bad: None });
    let one = Query { target: Some("v2".to_owned()), ..all() };
    assert_eq!(audit.list(one).await.unwrap().len(), 1);
    let part = audit.list(Query { limit: 1, before: Some(4), ..Query::default() }).await.unwrap();
    assert_eq!(part[0].seq, 3);
    assert!(audit.list(Query { who: Some("otto".to_owned()), ..all() }).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_flipped_byte_a_missing_line_and_a_missing_file_are_found() {
    let directory = TemporaryDirectory::new();
    let audit = Audit::of(directory.path());
    for name in ["v1", "v2", "v3", "v4"] {
        audit.begin(intent(name)).await.unwrap();
    }
    let path = newest(&directory);
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let good = fs::read_to_string(&path).unwrap();
    let bad = async |text: &str| {
        fs::write(&path, text).unwrap();
        audit.verify().await.unwrap().first_bad
    };
    assert_eq!(bad(&good).await, None);
    assert_eq!(bad(&good.replacen("v2", "vX", 1)).await, Some(format!("{name} line 3")), "the next line tells");
    let without: Vec<&str> = good.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| line).collect();
    assert_eq!(bad(&(without.join("\n") + "\n")).await, Some(format!("{name} line 2")));
    let behead: Vec<&str> = good.lines().skip(1).collect();
    assert_eq!(bad(&(behead.join("\n") + "\n")).await, Some(format!("{name} line 1")));
}

/// The array stopped while a line was written.
#[tokio::test]
async fn half_a_line_at_the_end_is_removed_and_recorded() {
    let directory = TemporaryDirectory::new();
    let audit = Audit::of(directory.path());
    audit.begin(intent("v1")).await.unwrap();
    drop(audit);
    let path = newest(&directory);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"seq\":2,\"ti")).unwrap();
    let audit = Audit::of(directory.path());
    assert_eq!(audit.begin(intent("v2")).await.unwrap(), 3);
    assert_eq!(audit.verify().await.unwrap(), view::Verification { lines: 3, first_bad: None });
    assert!(fs::read_to_string(&path).unwrap().contains(r#""record":"repaired","bytes":12"#));
}

#[tokio::test]
async fn what_cannot_be_written_is_an_error_and_works_again_later() {
    let directory = TemporaryDirectory::new();
    let audit = Audit::of(directory.path());
    let place = directory.path().join(DIRECTORY);
    fs::write(&place, "in the way").unwrap();
    assert!(audit.begin(intent("v1")).await.is_err());
    fs::remove_file(&place).unwrap();
    assert_eq!(audit.begin(intent("v1")).await.unwrap(), 1);
}

#[test]
fn files_are_of_a_month_and_old_ones_are_removed_with_a_record() {
    let directory = TemporaryDirectory::new();
    let start: Timestamp = "2026-01-31T23:59:59Z".parse().unwrap();
    let mut log = Log::open(directory.path(), start).unwrap();
    let after = |days: i64| start.checked_add(SignedDuration::from_hours(days * 24)).unwrap();
    for days in [0, 1, 40, 380, 440] {
        log.append_at(Record::Intent(intent("v")), true, after(days)).unwrap();
    }
    let names: Vec<String> = files::list(directory.path()).unwrap().iter().map(files::Name::text).collect();
    assert_eq!(names, ["2026-03-000000000003.jsonl", "2027-02-000000000004.jsonl", "2027-04-000000000005.jsonl"]);
    assert_eq!(view::verify(directory.path()).unwrap(), view::Verification { lines: 5, first_bad: None });
    fs::remove_file(directory.path().join(&names[0])).unwrap();
    assert_eq!(view::verify(directory.path()).unwrap().first_bad, Some(format!("{} line 1", names[1])));
}

/// Lines follow each other, whichever offset a place has: also one that a repair of the file has moved.
#[tokio::test]
async fn lines_behind_a_place_are_all_found() {
    let directory = TemporaryDirectory::new();
    let audit = Audit::of(directory.path());
    for name in ["v1", "v2", "v3", "v4", "v5"] {
        audit.begin(intent(name)).await.unwrap();
    }
    let numbers = |lines: &[Raw]| lines.iter().map(|line| line.seq).collect::<Vec<_>>();
    let (lines, place) = audit.after(Place::behind(1), 2).await.unwrap();
    assert_eq!((numbers(&lines), place.seq), (vec![2, 3], 3));
    let (lines, place) = audit.after(place, 9).await.unwrap();
    assert_eq!((numbers(&lines), place.seq), (vec![4, 5], 5));
    assert_eq!(numbers(&audit.after(place.clone(), 9).await.unwrap().0), Vec::<u64>::new());
    // Shorter lines than before: the offset is behind the end of the file, and then in the midst of a line.
    let path = newest(&directory);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let short = lines[4].replace("\"anna\"", "\"a\"").replace("\"seq\":5", "\"seq\":6");
    fs::write(&path, format!("{}\n{short}\n", lines[..4].join("\n"))).unwrap();
    assert_eq!(numbers(&audit.after(place.clone(), 9).await.unwrap().0), [6]);
    fs::write(&path, format!("{}\n{short}\n", lines.join("\n").replace("\"anna\"", "\"annemarie\""))).unwrap();
    assert_eq!(numbers(&audit.after(place, 9).await.unwrap().0), [6]);
}
