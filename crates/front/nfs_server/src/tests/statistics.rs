//! Statistics: what each operation adds, for whom, and what the log says about refusals.

use super::kit::{Kit, OBJECT, any, get, read, write};
use nfs::v4::attributes::Attribute;
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::io::{Content, ReadArguments, SeekArguments};
use nfs::v4::offload::{CloneArguments, CopyArguments, DataBlocks, RangeArguments, WriteSameArguments};
use nfs::v4::operations::Operation;
use nfs::v4::{Stable, Stateid, Status};
use unit::{Ending, OffloadStatistics, Primitive, Reason};

const ANONYMOUS: Stateid = Stateid::ANONYMOUS;
/// Latency of each operation: the clock of the kit adds 2 µs at each look.
const EACH_NS: u64 = 2_000;

fn counters(kit: &Kit, object: u64, primitive: Primitive) -> OffloadStatistics {
    let share = kit.statistics.share(object);
    share.and_then(|share| share.unit.offload().remove(&primitive)).unwrap_or_default()
}

/// Files `s/f` with content, `s/g` without, and `t/h` in another share.
fn kit() -> Kit {
    let kit = Kit::new();
    kit.file("f", &[7; 20_480]);
    kit.file("g", b"");
    let other = kit.engine.create(kit.now());
    kit.file_in(&other, "h", b"");
    kit.publish("t", OBJECT + 1, &other, any());
    kit
}

fn clone(kit: &Kit, to: &str, source_offset_bytes: u64, count_bytes: u64) -> Result<(), Status> {
    kit.between("s/f", to, clone_from(source_offset_bytes, count_bytes)).status()
}

const fn clone_from(source_offset_bytes: u64, count_bytes: u64) -> Operation {
    Operation::Clone(CloneArguments {
        source_stateid: ANONYMOUS,
        destination_stateid: ANONYMOUS,
        source_offset_bytes,
        destination_offset_bytes: 0,
        count_bytes,
    })
}

fn copy(kit: &Kit, to: &str, destination_offset_bytes: u64) -> Result<(), Status> {
    let arguments = CopyArguments {
        source_stateid: ANONYMOUS,
        destination_stateid: ANONYMOUS,
        source_offset_bytes: 0,
        destination_offset_bytes,
        count_bytes: 0,
        consecutive: true,
        synchronous: true,
        source_servers: Vec::new().into(),
    };
    kit.between("s/f", to, Operation::Copy(Box::new(arguments))).status()
}

const fn range(offset_bytes: u64, length_bytes: u64) -> RangeArguments {
    RangeArguments { stateid: ANONYMOUS, offset_bytes, length_bytes }
}

#[test]
fn a_clone_counts_its_bytes_though_none_are_moved() {
    let kit = kit();
    assert_eq!((clone(&kit, "s/g", 4096, 0), clone(&kit, "s/g", 0, 8192)), (Ok(()), Ok(())));
    let counted = counters(&kit, OBJECT, Primitive::Clone);
    let bytes = 16_384 + 8192;
    assert_eq!((counted.commands, counted.ok, counted.bytes, counted.cloned_bytes), (2, 2, bytes, bytes));
    assert_eq!((counted.host_bytes_avoided, counted.copied_bytes), (2 * bytes, 0));
    assert_eq!((counted.latency.count, counted.latency.sum_ns, counted.latency.max_ns), (2, 2 * EACH_NS, EACH_NS));
    assert!(kit.log.borrow().is_empty());
}

#[test]
fn a_copy_tells_shared_bytes_from_moved_ones() {
    let kit = kit();
    assert_eq!((copy(&kit, "s/g", 0), copy(&kit, "t/h", 100)), (Ok(()), Ok(())));
    let shared = counters(&kit, OBJECT, Primitive::Copy);
    assert_eq!((shared.bytes, shared.cloned_bytes, shared.copied_bytes), (20_480, 20_480, 0));
    let moved = counters(&kit, OBJECT + 1, Primitive::Copy);
    assert_eq!((moved.bytes, moved.cloned_bytes, moved.copied_bytes), (20_480, 0, 20_480));
    assert_eq!((moved.ok, moved.ineffective.of(Reason::Misaligned)), (1, 1));
    let log = kit.log.borrow();
    assert_eq!(
        log.iter().map(|entry| (&*entry.volume_name, entry.ending)).collect::<Vec<_>>(),
        [("t", Ending::Ineffective)]
    );
}

/// Every cause has a reason of its own, also where NFS has one status for several.
#[test]
fn refusals_have_reasons_and_are_logged() {
    let kit = kit();
    let expected = [
        (clone(&kit, "s/g", 1, 4096), Reason::Misaligned),
        (clone(&kit, "s/g", 0, 1 << 20), Reason::BeyondEnd),
        (clone(&kit, "s/f", 0, 0), Reason::Overlap),
        (clone(&kit, "t/h", 0, 0), Reason::CrossShare),
        (clone(&kit, "s", 0, 0), Reason::WrongType),
        (kit.status_at("s/g", Operation::Allocate(range(0, 1 << 60))), Reason::FileTooLarge),
        (kit.status_at("s/g", Operation::Deallocate(range(0, 0))), Reason::InvalidField),
        (kit.status_at("s/g", Operation::OffloadCancel(ANONYMOUS)), Reason::BadStateid),
    ];
    let log = kit.log.take();
    assert_eq!(log.len(), expected.len());
    for (entry, (status, reason)) in log.into_iter().zip(expected) {
        assert!(status.is_err(), "{reason:?}");
        assert_eq!((entry.reason, entry.ending, &*entry.initiator), (reason, Ending::Refused, "10.0.0.1"));
        assert!(entry.detail.starts_with("file "), "{}", entry.detail);
    }
    let refused = counters(&kit, OBJECT, Primitive::Clone);
    assert_eq!((refused.commands, refused.ok, refused.refused), (4, 0, 4));
    assert_eq!(refused.refusals.given().map(|(_, count)| count).sum::<u64>(), refused.refused);
}

#[test]
fn a_read_only_share_refuses_with_its_reason() {
    let kit = kit();
    let mut rules = any();
    rules.0.iter_mut().for_each(|rule| rule.read_only = true);
    kit.publish("s", OBJECT, &kit.fs, rules);
    assert_eq!(clone(&kit, "s/g", 0, 0), Err(Status::ROFS));
    assert_eq!(counters(&kit, OBJECT, Primitive::Clone).refusals.of(Reason::ReadOnly), 1);
}

#[test]
fn space_and_patterns_are_counted() {
    let kit = kit();
    assert_eq!(kit.status_at("s/g", Operation::Allocate(range(0, 10_000))), Ok(()));
    assert_eq!(counters(&kit, OBJECT, Primitive::Reserve).bytes, 10_000);
    // Behind the end of the file there is nothing to free.
    assert_eq!(kit.status_at("s/f", Operation::Deallocate(range(4000, u64::MAX - 4000))), Ok(()));
    let freed = counters(&kit, OBJECT, Primitive::Free);
    assert_eq!((freed.bytes, freed.deallocated_bytes, freed.unaligned_bytes), (16_480, 16_384, 96));
    assert_eq!(kit.status_at("s/f", Operation::Deallocate(range(1, 100))), Ok(()));
    assert_eq!(counters(&kit, OBJECT, Primitive::Free).ineffective.of(Reason::BelowGrain), 1);
    let blocks = DataBlocks {
        offset_bytes: 0,
        block_bytes: 4096,
        block_count: 3,
        number_offset_bytes: u64::MAX,
        first_number: 0,
        pattern_offset_bytes: 0,
        pattern: vec![1; 16].into(),
    };
    let arguments = WriteSameArguments { stateid: ANONYMOUS, stable: Stable::FileSync, blocks };
    assert_eq!(kit.status_at("s/f", Operation::WriteSame(Box::new(arguments))), Ok(()));
    let same = counters(&kit, OBJECT, Primitive::WriteSame);
    assert_eq!((same.bytes, same.host_bytes_avoided), (12_288, 12_288 - 16));
}

#[test]
fn holes_are_counted_as_bytes_that_hosts_did_not_get() {
    let kit = kit();
    kit.write("s/g", 8192, &[1; 4096]);
    let arguments = ReadArguments { stateid: ANONYMOUS, offset_bytes: 0, count_bytes: 1 << 20 };
    assert_eq!(kit.status_at("s/g", Operation::ReadPlus(arguments)), Ok(()));
    let plus = counters(&kit, OBJECT, Primitive::ReadPlus);
    assert_eq!((plus.bytes, plus.host_bytes_avoided), (12_288, 8192));
    let seek = |offset_bytes, what| {
        kit.status_at("s/g", Operation::Seek(SeekArguments { stateid: ANONYMOUS, offset_bytes, what }))
    };
    assert_eq!((seek(0, Content::DATA), seek(12_288, Content::DATA)), (Ok(()), Err(Status::NXIO)));
    // The end of a file is an ordinary answer.
    let seeks = counters(&kit, OBJECT, Primitive::Seek);
    assert_eq!((seeks.commands, seeks.ok), (2, 2));
    assert!(kit.log.borrow().is_empty());
}

#[test]
fn extended_statistics_are_told_from_other_attributes() {
    let kit = kit();
    assert_eq!(kit.attribute("s/f", 4), Attribute::Size(20_480));
    assert_eq!(counters(&kit, OBJECT, Primitive::ExtendedStatistics).commands, 0);
    assert_eq!(kit.at("s/f", [get(&[78])]).status(), Ok(()));
    for name in ["windlass.unshared", "user.other"] {
        let _any = kit.at("s/f", [Operation::GetXattr(name.into())]);
    }
    assert_eq!(counters(&kit, OBJECT, Primitive::ExtendedStatistics).commands, 2);
}

#[test]
fn reads_and_writes_are_counted_by_share() {
    let kit = kit();
    assert_eq!(kit.at("s/g", [write(0, &[1; 5000])]).status(), Ok(()));
    assert_eq!(kit.at("s/g", [read(0, 1 << 20), read(4096, 100)]).status(), Ok(()));
    assert_eq!(kit.at("s", [read(0, 1)]).status(), Err(Status::ISDIR));
    let share = kit.statistics.share(OBJECT).unwrap_or_else(|| panic!("no statistics"));
    let io = share.unit.io();
    assert_eq!((io.writes, io.written_bytes, io.reads, io.read_bytes), (1, 5000, 2, 5100));
    assert_eq!((share.unit.latency().read.count, share.unit.latency().write.sum_ns), (2, EACH_NS));
    assert_eq!(kit.statistics.take_used(9), [OBJECT]);
    assert!(kit.statistics.take_used(9).is_empty());
    assert_eq!(kit.at("s/g", [read(0, 1)]).status(), Ok(()));
    assert_eq!(kit.statistics.take_used(9), [OBJECT]);
    let reads = kit.server.operations().into_iter().find(|count| count.name == "READ");
    assert_eq!(reads.map(|reads| (reads.succeeded, reads.failed, reads.durations.count)), Some((3, 1, 4)));
}

#[test]
fn each_client_has_counters_of_its_own_and_a_deleted_share_keeps_its_own() {
    let kit = kit();
    assert_eq!(clone(&kit, "s/g", 0, 0), Ok(()));
    let of_clients = |object| {
        let rows = kit.statistics.clients(object);
        let row = |row: &crate::ClientOffload| (row.client.to_string(), row.statistics.ok);
        rows.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(of_clients(OBJECT), [("10.0.0.1".to_owned(), 1)]);
    assert_eq!(of_clients(OBJECT + 1), []);
    kit.statistics.deleted(OBJECT);
    assert!(kit.statistics.share(OBJECT).is_none() && of_clients(OBJECT).is_empty());
    let deleted = kit.statistics.deleted_offload();
    let rows: Vec<_> = deleted.iter().map(|row| (&*row.name, row.deleted, row.statistics.ok)).collect();
    assert_eq!(rows, [("s", true, 1)]);
}

/// The log named snapshots that are exported as deleted shares, and their counters were in no list.
#[test]
fn operations_on_a_snapshot_are_those_of_its_share() {
    let kit = kit();
    let snapshot = OBJECT + 2;
    kit.publish("s@monday", snapshot, &kit.fs, any());
    let share = kit.server.shares().borrow().by_object(snapshot).map(|share| crate::Share::clone(share));
    let mut share = share.unwrap_or_else(|| panic!("not published"));
    let statistics = kit.statistics.published(OBJECT, "s");
    share.counted = Some(crate::Counted { share: statistics, snapshot: Some("monday".to_owned()) });
    assert_eq!(kit.server.shares().borrow_mut().publish(share, kit.now()), Ok(()));

    assert_eq!(kit.at("s@monday/f", [read(0, 100)]).status(), Ok(()));
    let refused = kit.between("s/f", "s@monday/g", clone_from(0, 0)).status();
    assert_eq!(refused, Err(Status::XDEV));
    assert_eq!(kit.statistics.share(OBJECT).map(|share| share.unit.io().reads), Some(1));
    assert_eq!(counters(&kit, OBJECT, Primitive::Clone).refused, 1);
    let log = kit.log.borrow();
    let seen: Vec<_> =
        log.iter().map(|entry| (entry.volume.0, &*entry.volume_name, entry.snapshot.as_deref())).collect();
    assert_eq!(seen, [(OBJECT, "s", Some("monday"))]);
}

/// The end of an operation that was in progress at the deletion of a share brought its statistics back.
#[test]
fn an_operation_that_ends_after_the_deletion_is_not_counted() {
    let kit = kit();
    assert_eq!(clone(&kit, "s/g", 0, 0), Ok(()));
    kit.statistics.deleted(OBJECT);
    // The share is still published, as it is for an operation that has begun before.
    assert_eq!(clone(&kit, "s/g", 0, 0), Ok(()));
    assert_eq!(kit.at("s/g", [read(0, 1)]).status(), Ok(()));
    assert!(kit.statistics.share(OBJECT).is_none() && kit.statistics.clients(OBJECT).is_empty());
    assert_eq!(kit.statistics.deleted_offload().iter().map(|row| row.statistics.ok).collect::<Vec<_>>(), [1]);
}
