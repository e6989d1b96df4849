use super::{Array, ESX01};
use crate::*;
use jiff::Timestamp;
use pool::ObjectId;

fn row(volume: ObjectId, primitive: Primitive) -> OffloadRow {
    let count = |reason_code, count| RefusalCount { reason_code, reason: "x", count };
    OffloadRow {
        volume,
        primitive,
        commands: 10,
        ok: 7,
        refused: 3,
        miscompares: 0,
        errors: 0,
        bytes: 4096,
        host_bytes_avoided: 8192,
        cloned_bytes: 4096,
        copied_bytes: 0,
        deallocated_bytes: 1024,
        unaligned_bytes: 512,
        latency: Histogram { buckets: vec![Bucket { upper_us: 100, count: 7 }], above: 0, sum_us: 350 },
        refusals: vec![count("misaligned", 1), count("over-limit", 2)],
        ineffective: vec![count("below-grain", 1)],
    }
}

fn refusal(sequence: u64, volume: ObjectId) -> Refusal {
    Refusal {
        sequence,
        time: Timestamp::UNIX_EPOCH,
        volume,
        initiator: ESX01.to_owned(),
        primitive: Primitive::Xcopy,
        reason_code: "not-granted",
        reason: "the source is not granted to this initiator",
        detail: String::new(),
    }
}

#[test]
fn rows_have_names_and_the_top_refusal_first() {
    let array = Array::new();
    let volume = array.create("v1").object.id;
    array.live.offload.replace(vec![
        row(volume, Primitive::Xcopy),
        row(volume, Primitive::Ats),
        row(ObjectId(99), Primitive::Zero),
    ]);
    let rows = array.run(OffloadStatistics { volume: None }).unwrap();
    let names: Vec<_> = rows.iter().map(|view| (view.volume.as_deref(), view.row.primitive.name())).collect();
    assert_eq!(names, [(None, "zero"), (Some("v1"), "ats"), (Some("v1"), "xcopy")]);
    assert_eq!(rows[1].row.refusals[0].reason_code, "over-limit");
    let narrowed = array.run(OffloadStatistics { volume: Some("v1".to_owned()) });
    assert_eq!(narrowed.unwrap().len(), 2);
}

#[test]
fn the_log_keeps_the_newest_of_the_volume_asked_for() {
    let array = Array::new();
    let (one, two) = (array.create("v1").object.id, array.create("v2").object.id);
    array.create_host("esx01", ESX01);
    array.live.refusals.replace((0..10).map(|at| refusal(at, if at % 2 == 0 { one } else { two })).collect());
    let log = |volume: Option<&str>, limit| {
        let log = array.run(OffloadLog { volume: volume.map(str::to_owned), limit }).unwrap();
        log.iter().map(|view| view.refusal.sequence).collect::<Vec<_>>()
    };
    assert_eq!(log(None, 3), [7, 8, 9]);
    assert_eq!(log(Some("v1"), 2), [6, 8]);
}
