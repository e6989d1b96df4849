use super::{Array, ESX01};
use crate::*;
use jiff::Timestamp;
use pool::ObjectId;

pub(super) fn row(volume: ObjectId, name: &str, primitive: Primitive) -> OffloadRow {
    let counters = OffloadCounters { commands: 10, ok: 7, refused: 3, bytes: 4096, ..OffloadCounters::default() };
    OffloadRow { volume, name: name.to_owned(), primitive, counters }
}

pub(super) fn refusal(sequence: u64, volume: ObjectId) -> LogEntry {
    LogEntry {
        sequence,
        count: 1,
        first_unix_ms: 0,
        unix_ms: 0,
        volume: VolumeId(volume.0),
        volume_name: "old".to_owned(),
        snapshot: None,
        ending: if sequence < 8 { Ending::Refused } else { Ending::Failed },
        initiator: ESX01.to_owned(),
        primitive: Primitive::Xcopy,
        command: "EXTENDED COPY",
        reason: Reason::NotGranted,
        holder: None,
        bytes: 0,
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
        let rows =
            array.run(OffloadStatistics { volume: volume.map(str::to_owned), ..OffloadStatistics::default() })?;
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
        let filter = OffloadLogFilter { volume: volume.map(str::to_owned), ending, ..OffloadLogFilter::default() };
        let log = array.run(OffloadLog { since: None, filter, limit }).unwrap();
        log.iter().map(|view| view.entry.sequence).collect::<Vec<_>>()
    };
    assert_eq!(log(None, None, 3), [7, 8, 9]);
    assert_eq!(log(Some("v1"), None, 2), [6, 8]);
    assert_eq!(log(None, Some(Ending::Refused), 2), [6, 7]);
    assert_eq!(log(Some("v2"), Some(Ending::Failed), 9), [9]);
}

#[test]
fn the_log_is_filtered_and_followed() {
    let array = Array::new();
    let volume = array.create("v1").object.id;
    array.create_host("esx01", ESX01);
    let stranger = "iqn.2026-01.org.example:stranger";
    let entry = |sequence| {
        let initiator = if sequence % 2 == 0 { ESX01 } else { stranger }.to_owned();
        let primitive = if sequence < 5 { Primitive::Xcopy } else { Primitive::Unmap };
        let unix_ms = sequence * 1000;
        LogEntry { initiator, primitive, first_unix_ms: unix_ms, unix_ms, ..refusal(sequence, volume) }
    };
    array.live.refusals.replace((0..10).map(entry).collect());
    let log = |since, filter, limit| {
        let log = array.run(OffloadLog { since, filter, limit })?;
        Ok::<_, ControlError>(log.iter().map(|view| view.entry.sequence).collect::<Vec<_>>())
    };
    let all = OffloadLogFilter::default;
    let of_host = |host: &str| OffloadLogFilter { host: Some(host.to_owned()), ..all() };
    // After an entry, the oldest; a reader that asks again with the last number loses none.
    assert_eq!(log(Some(3), all(), 3).unwrap(), [4, 5, 6]);
    assert_eq!(log(Some(6), all(), 9).unwrap(), [7, 8, 9]);
    assert_eq!(log(Some(9), all(), 9).unwrap(), [0; 0]);
    assert_eq!(log(Some(u64::MAX), all(), 9).unwrap(), [0; 0]);
    for name in ["esx01", ESX01, &ESX01.to_uppercase()] {
        assert_eq!(log(None, of_host(name), 2).unwrap(), [6, 8], "{name}");
    }
    assert_eq!(log(None, of_host(stranger), 2).unwrap(), [7, 9]);
    assert_eq!(log(None, of_host("nobody"), 2).unwrap_err().code(), "not-found");
    // A part of the log need not have an entry of a host that is gone.
    assert_eq!(log(Some(9), of_host(stranger), 2).unwrap(), [0; 0]);
    let unmap = OffloadLogFilter { primitive: Some(Primitive::Unmap), ..of_host("esx01") };
    assert_eq!(log(None, unmap, 9).unwrap(), [6, 8]);
    let time = |seconds| Some(Timestamp::from_second(seconds).unwrap());
    let times = OffloadLogFilter { from: time(2), until: time(5), ..all() };
    assert_eq!(log(None, times.clone(), 9).unwrap(), [2, 3, 4]);
    // An entry of several commands, of which some were in that time.
    array.live.refusals.borrow_mut()[0].unix_ms = 3000;
    assert_eq!(log(None, times.clone(), 9).unwrap(), [0, 2, 3, 4]);
    assert_eq!(log(Some(2), OffloadLogFilter { volume: Some("v1".to_owned()), ..times }, 1).unwrap(), [3]);
}

#[test]
fn the_holder_of_a_reservation_has_the_name_of_its_host() {
    let array = Array::new();
    let volume = array.create("v1").object.id;
    let source = array.create("source").object.id;
    array.create_host("esx01", ESX01);
    let of = |sequence, initiator: Option<&str>| {
        let holder = |name: &str| ReservationHolder {
            volume: VolumeId(if sequence == 0 { source.0 } else { 99 }),
            initiator: name.to_owned(),
            registration: None,
        };
        let holder = initiator.map(holder);
        LogEntry { initiator: "iqn.2026-01.org.example:b".to_owned(), holder, ..refusal(sequence, volume) }
    };
    let entries = vec![of(0, Some(ESX01)), of(1, Some("iqn.2026-01.org.example:gone")), of(2, None)];
    array.live.refusals.replace(entries);
    let log = array.run(OffloadLog { since: None, filter: OffloadLogFilter::default(), limit: 9 }).unwrap();
    let holders: Vec<_> = log.iter().map(|view| (view.holder_host.as_deref(), view.holder_volume.as_deref())).collect();
    assert_eq!(holders, [(Some("esx01"), Some("source")), (None, None), (None, None)]);
}

/// Shares stand beside volumes; clients are named by the hosts with their addresses.
#[test]
fn shares_have_rows_and_clients() {
    let array = Array::new();
    let volume = array.create("v1").object.id;
    let share = array.run(ShareCreate::new("s1".to_owned())).unwrap().view.object.id;
    let address = "192.0.2.7".parse().unwrap();
    let host = HostCreate { name: "pve1".to_owned(), addresses: vec![address], ..HostCreate::default() };
    array.run(host).unwrap();
    array.live.offload.replace(vec![
        row(volume, "v1", Primitive::Unmap),
        row(share, "before-rename", Primitive::Clone),
        row(ObjectId(99), "s2", Primitive::Free),
    ]);
    let client =
        |client| ClientOffloadRow { client, primitive: Primitive::Clone, counters: OffloadCounters::default() };
    array
        .live
        .offload_by_client
        .borrow_mut()
        .insert(share.0, vec![client(OffloadClient::Host(address)), client(OffloadClient::Others)]);
    let rows = |volume: Option<&str>, noun, by_client| {
        let request = OffloadStatistics { volume: volume.map(str::to_owned), noun, by_client };
        let rows = array.run(request)?;
        let host = |view: &OffloadView| view.client.as_ref().and_then(|client| client.host.clone());
        Ok(rows.iter().map(|view| (view.volume.clone(), view.deleted, host(view))).collect::<Vec<_>>())
    };
    let named = |name: &str, deleted, host: Option<&str>| (name.to_owned(), deleted, host.map(str::to_owned));
    let all = [named("s1", false, None), named("v1", false, None), named("s2", true, None)];
    assert_eq!(rows(None, None, false).unwrap(), all);
    assert_eq!(rows(Some("s1"), Some(Noun::Share), false).unwrap(), all[..1]);
    assert_eq!(rows(Some("s2"), None, false).unwrap(), all[2..]);
    let of_clients = [named("s1", false, Some("pve1")), named("s1", false, None)];
    assert_eq!(rows(None, None, true).unwrap(), of_clients);
    let wrong: Result<_, ControlError> = rows(Some("s1"), Some(Noun::Volume), false);
    assert_eq!(wrong.unwrap_err().code(), "not-found");
    let entry = LogEntry { initiator: "192.0.2.7".to_owned(), ..refusal(0, share) };
    array.live.refusals.replace(vec![entry]);
    let log = array.run(OffloadLog { since: None, filter: OffloadLogFilter::of("s1"), limit: 9 }).unwrap();
    assert_eq!((log[0].volume.as_str(), log[0].host.as_deref()), ("s1", Some("pve1")));
}

#[test]
fn the_space_of_a_share_tells_what_hosts_freed() {
    let array = Array::new();
    let share = array.run(ShareCreate::new("s1".to_owned())).unwrap().view.object.id;
    let counters =
        OffloadCounters { ok: 3, bytes: 9000, deallocated_bytes: 8192, unaligned_bytes: 808, ..Default::default() };
    let free = OffloadRow { volume: share, name: "s1".to_owned(), primitive: Primitive::Free, counters };
    array.live.offload.replace(vec![free]);
    let space = array.run(ShareSpace { share: "s1".to_owned() }).unwrap();
    let unmapped = &space.unmapped;
    assert_eq!((unmapped.commands, unmapped.requested_bytes, unmapped.deallocated_bytes), (3, 9000, 8192));
    assert!(array.run(ShareIo { share: "s1".to_owned() }).unwrap().counters.is_none());
    let unknown = array.run(ShareSpace { share: "v1".to_owned() });
    assert_eq!(unknown.unwrap_err().code(), "not-found");
}
