//! The thread of the history: files that cannot be read or written, and the end.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::{FILE_NAME, Message, Recording, Unavailable};
use crate::memory::TemporaryDirectory;
use control::ManagementCondition;
use history::{Class, Kind, Observation, Observed, Query, Series, Tier, Value};
use std::time::Duration;

const LIMIT: u64 = 256 << 20;
const START: i64 = 1_800_000_000;

fn observation(at: i64) -> Observation {
    let values = vec![Value { column: "ops", kind: Kind::Rate, value: 3.0 }];
    let entities = vec![Observed { entity: "array".to_owned(), class: Class::Array, values }];
    Observation { unix_seconds: START + at, interval_ms: 1000, entities, units_are_cut: false }
}

async fn known(recording: &Recording) -> Result<usize, Unavailable> {
    let series =
        Series { entity: "array".to_owned(), class: Class::Array, column: "ops".to_owned(), kind: Kind::Level };
    let query = Query { tier: Tier::Seconds, from: START, step_seconds: 10, points: 6, series: vec![series] };
    recording.look(move |store| Ok(store.query(&query)?.series[0].iter().flatten().count())).await
}

#[tokio::test]
async fn what_was_observed_is_there_after_a_stop() {
    let directory = TemporaryDirectory::new();
    let (recording, _reports) = Recording::start(directory.path(), LIMIT);
    for at in 0..60 {
        assert!(recording.offer(Message::Observe(observation(at), vec![("calls".to_owned(), 2)])));
    }
    assert_eq!(known(&recording).await, Ok(6));
    recording.stop().await;
    assert!(matches!(known(&recording).await, Err(Unavailable(_))));
    let (recording, mut reports) = Recording::start(directory.path(), LIMIT);
    assert_eq!(known(&recording).await, Ok(6));
    let calls = recording.look(|store| Ok(store.counters().all().get("calls").copied())).await;
    assert_eq!(calls, Ok(Some(120)));
    assert!(reports.try_recv().is_err());
    assert_eq!(known(&Recording::off()).await, Err(Unavailable("it is not recorded".to_owned())));
}

/// The array starts with any content of the file. What cannot be read is kept beside a new file, and an event says
/// so. Some damage makes redb panic, which must not end the process.
#[tokio::test]
async fn an_unreadable_file_is_moved_aside() {
    let directory = TemporaryDirectory::new();
    let path = directory.path().join(FILE_NAME);
    let (recording, _reports) = Recording::start(directory.path(), LIMIT);
    for at in 0..60 {
        assert!(recording.offer(Message::Observe(observation(at), Vec::new())));
    }
    recording.stop().await;
    let whole = std::fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[4096..].fill(0xff);
    for content in [b"other".to_vec(), damaged, whole[..whole.len() / 2].to_vec()] {
        std::fs::write(&path, &content).unwrap();
        let (recording, mut reports) = Recording::start(directory.path(), LIMIT);
        assert_eq!(known(&recording).await, Ok(0));
        let report = tokio::time::timeout(Duration::from_secs(30), reports.recv()).await.unwrap().unwrap();
        assert_eq!((report.condition, report.alert), (ManagementCondition::HistoryUnreadable, None));
        assert!(report.event.unwrap().contains("history.redb.unreadable"));
        let aside = path.with_extension("redb.unreadable");
        assert_eq!(std::fs::metadata(&aside).unwrap().len(), content.len() as u64);
        assert!(recording.offer(Message::Observe(observation(0), Vec::new())));
        assert_eq!(known(&recording).await, Ok(1), "a new history begins");
        recording.stop().await;
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_an_alert_and_stays() {
    let directory = TemporaryDirectory::new();
    std::fs::create_dir(directory.path().join(FILE_NAME)).unwrap();
    let (recording, mut reports) = Recording::start(directory.path(), LIMIT);
    assert!(matches!(known(&recording).await, Err(Unavailable(reason)) if !reason.is_empty()));
    let report = tokio::time::timeout(Duration::from_secs(30), reports.recv()).await.unwrap().unwrap();
    assert_eq!(report.condition, ManagementCondition::HistoryNotWritten);
    assert!(report.event.is_some() && report.alert.is_some());
    recording.stop().await;
    assert!(directory.path().join(FILE_NAME).is_dir());
}
