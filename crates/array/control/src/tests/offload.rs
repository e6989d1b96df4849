use super::{Array, ESX01};
use crate::*;
use pool::ObjectId;

pub(super) fn row(volume: ObjectId, name: &str, primitive: Primitive) -> OffloadRow {
    let counters = OffloadCounters { commands: 10, ok: 7, refused: 3, bytes: 4096, ..OffloadCounters::default() };
    OffloadRow { volume, name: name.to_owned(), primitive, counters }
}

fn refusal(sequence: u64, volume: ObjectId) -> LogEntry {
    LogEntry {
        sequence,
        unix_ms: 0,
        volume: VolumeId(volume.0),
        volume_name: "old".to_owned(),
        ending: if sequence < 8 { Ending::Refused } else { Ending::Failed },
        initiator: ESX01.to_owned(),
        primitive: Primitive::Xcopy,
        command: "EXTENDED COPY",
        reason: Reason::NotGranted,
        detail: String::new(),
    }
}

#[test]
fn rows_have_names_and_an_order() {
    let array = Array::new();
    let volume = array.create("v1").object.id;
    array.live.offload.replace(vec![
        row(volume, "before-rename", Primitive::Xcopy),
        row(volume, "before-rename", Primitive::Ats),
        row(ObjectId(99), "gone", Primitive::Zero),
        row(ObjectId(98), "v1", Primitive::Zero),
    ]);
    let named = |volume: Option<&str>| {
        let rows = array.run(OffloadStatistics { volume: volume.map(str::to_owned) })?;
        Ok(rows.into_iter().map(|view| (view.volume, view.deleted, view.row.primitive)).collect::<Vec<_>>())
    };
    let row = |name: &str, deleted, primitive| (name.to_owned(), deleted, primitive);
    let present = [row("v1", false, Primitive::Ats), row("v1", false, Primitive::Xcopy)];
    let deleted = [row("gone", true, Primitive::Zero), row("v1", true, Primitive::Zero)];
    assert_eq!(named(None).unwrap(), [&present[..], &deleted[..]].concat());
    // A name selects the present volume with that name, else the deleted one that had it last.
    assert_eq!(named(Some("v1")).unwrap(), present);
    assert_eq!(named(Some("gone")).unwrap(), deleted[..1]);
    let unknown: Result<_, ControlError> = named(Some("before-rename"));
    assert_eq!(unknown.unwrap_err().code(), "not-found");
}

#[test]
fn the_log_keeps_the_newest_of_the_volume_asked_for() {
    let array = Array::new();
    let (one, two) = (array.create("v1").object.id, array.create("v2").object.id);
    array.create_host("esx01", ESX01);
    array.live.refusals.replace((0..10).map(|at| refusal(at, if at % 2 == 0 { one } else { two })).collect());
    let log = |volume: Option<&str>, ending, limit| {
        let log = array.run(OffloadLog { volume: volume.map(str::to_owned), ending, limit }).unwrap();
        log.iter().map(|view| view.entry.sequence).collect::<Vec<_>>()
    };
    assert_eq!(log(None, None, 3), [7, 8, 9]);
    assert_eq!(log(Some("v1"), None, 2), [6, 8]);
    assert_eq!(log(None, Some(Ending::Refused), 2), [6, 7]);
    assert_eq!(log(Some("v2"), Some(Ending::Failed), 9), [9]);
}
