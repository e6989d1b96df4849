//! READ, WRITE, COMMIT, READ_PLUS, SEEK, ALLOCATE, DEALLOCATE, IO_ADVISE, and the stateids that they take.

use super::kit::{Kit, go, read, set, write};
use nfs::v4::attributes::Attribute;
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::io::{
    AdviseArguments, CommitArguments, Content, ReadArguments, ReadPlusOk, SeekArguments, SeekOk, Segment, SegmentData,
    SegmentHole, WriteArguments, WriteOk,
};
use nfs::v4::names::CreateType;
use nfs::v4::offload::{CloneArguments, RangeArguments};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Bitmap, Stable, Stateid, Status};
use random::Random;

const ANONYMOUS: Stateid = Stateid::ANONYMOUS;

/// A share with a file of 40 960 + 100 bytes none of which is zero, and its content.
fn with_file() -> (Kit, Vec<u8>) {
    let kit = Kit::new();
    let random = Random::new(1);
    let content: Vec<u8> = (0..41_060).map(|_| random.byte().max(1)).collect();
    kit.file("f", &content);
    (kit, content)
}

fn write_as(stateid: Stateid, offset_bytes: u64, stable: Stable, data: &[u8]) -> Operation {
    Operation::Write(WriteArguments { stateid, offset_bytes, stable, data: data.into() })
}

fn written(kit: &Kit, operation: Operation) -> Result<WriteOk, Status> {
    match kit.at("s/f", [operation]) {
        Outcome::Write(results) => results,
        other => panic!("{other:?}"),
    }
}

fn commit() -> Operation {
    Operation::Commit(CommitArguments { offset_bytes: 1 << 50, count_bytes: 0 })
}

#[test]
fn a_read_returns_data_and_the_end() {
    let (kit, content) = with_file();
    assert_eq!(kit.read("s/f", 0, 4096), (content[..4096].to_vec(), false));
    assert_eq!(kit.read("s/f", 36_864, 8192), (content[36_864..].to_vec(), true));
    assert_eq!(kit.read("s/f", 36_864, 4196), (content[36_864..].to_vec(), true));
    assert_eq!(kit.read("s/f", 36_864, 4195), (content[36_864..41_059].to_vec(), false));
    assert_eq!(kit.read("s/f", 41_060, 10), (Vec::new(), true));
    assert_eq!(kit.read("s/f", u64::MAX, 10), (Vec::new(), true));
    assert_eq!(kit.read("s/f", 0, 0), (Vec::new(), false));
    kit.file("g", b"");
    assert_eq!(kit.read("s/g", 0, 0), (Vec::new(), true));
    assert_eq!(kit.read("s/f", 0, u32::MAX), (content, true));
}

#[test]
fn a_read_is_no_longer_than_the_file_system_reads() {
    let kit = Kit::new();
    kit.file("f", &vec![3; (1 << 20) + 5000]);
    let (data, eof) = kit.read("s/f", 0, 2 << 20);
    assert_eq!((data.len(), eof), (1 << 20, false));
}

#[test]
fn content_belongs_to_regular_files() {
    let kit = Kit::new();
    kit.directory("s", "d");
    assert_eq!(kit.create("s", "l", CreateType::Link("f".into())).status(), Ok(()));
    assert_eq!(kit.create("s", "p", CreateType::Fifo).status(), Ok(()));
    let range = RangeArguments { stateid: ANONYMOUS, offset_bytes: 0, length_bytes: 1 };
    let arguments = ReadArguments { stateid: ANONYMOUS, offset_bytes: 0, count_bytes: 1 };
    let advise = AdviseArguments { stateid: ANONYMOUS, offset_bytes: 0, count_bytes: 0, hints: Bitmap::EMPTY };
    for operation in [
        read(0, 1),
        write(0, b"x"),
        commit(),
        Operation::ReadPlus(arguments),
        Operation::Seek(SeekArguments { stateid: ANONYMOUS, offset_bytes: 0, what: Content::DATA }),
        Operation::Allocate(range.clone()),
        Operation::Deallocate(range),
        Operation::Advise(advise),
    ] {
        let status = |path: &str| kit.status_at(path, operation.clone());
        assert_eq!(status("s/d"), Err(Status::ISDIR), "{operation:?}");
        assert_eq!(status("s/l"), Err(Status::SYMLINK), "{operation:?}");
        assert_eq!(status("s/p"), Err(Status::WRONG_TYPE), "{operation:?}");
    }
}

#[test]
fn a_write_is_at_least_as_durable_as_asked() {
    let (kit, _) = with_file();
    let mut verifiers = Vec::new();
    for (asked, got) in [
        (Stable::Unstable, Stable::Unstable),
        (Stable::DataSync, Stable::FileSync),
        (Stable::FileSync, Stable::FileSync),
    ] {
        let ok = written(&kit, write_as(ANONYMOUS, 5, asked, b"abc")).unwrap_or_else(|status| panic!("{status}"));
        assert_eq!((ok.count_bytes, ok.committed), (3, got));
        verifiers.push(ok.verifier);
    }
    match kit.at("s/f", [commit()]) {
        Outcome::Commit(Ok(verifier)) => verifiers.push(verifier),
        other => panic!("{other:?}"),
    }
    verifiers.dedup();
    assert_eq!(verifiers.len(), 1);
    assert_eq!(kit.read("s/f", 5, 3).0, b"abc");
    kit.engine.restart(false);
    let after = written(&kit, write(0, b"x")).map(|ok| ok.verifier);
    assert_ne!(after, Ok(verifiers[0]));
}

#[test]
fn unstable_writes_are_lost_in_a_crash_until_they_are_committed() {
    let (kit, content) = with_file();
    kit.engine.expect_crashes();
    assert!(written(&kit, write_as(ANONYMOUS, 0, Stable::Unstable, b"lost")).is_ok());
    kit.engine.restart(true);
    assert_eq!(kit.read("s/f", 0, 4).0, content[..4]);
    assert!(written(&kit, write_as(ANONYMOUS, 0, Stable::Unstable, b"kept")).is_ok());
    assert_eq!(kit.status_at("s/f", commit()), Ok(()));
    kit.engine.restart(true);
    assert_eq!(kit.read("s/f", 0, 4).0, b"kept");
    for (stable, data) in [(Stable::DataSync, b"data"), (Stable::FileSync, b"file")] {
        assert!(written(&kit, write_as(ANONYMOUS, 0, stable, data)).is_ok());
        kit.engine.restart(true);
        assert_eq!(kit.read("s/f", 0, 4).0, data);
    }
}

#[test]
fn reads_fit_any_room_that_a_reply_has() {
    let kit = Kit::new();
    kit.file("f", &[1; 4096]);
    assert_eq!(kit.status_at("s/f", set(ANONYMOUS, [Attribute::Size(4110)])), Ok(()));
    for limit in 130..260 {
        kit.sessions.response_bytes.set(limit);
        let (data, eof) = kit.read("s/f", 0, 4096);
        assert!(!eof && data.len().is_multiple_of(4), "{limit}");
        let arguments = ReadArguments { stateid: ANONYMOUS, offset_bytes: 4090, count_bytes: 100 };
        let Outcome::ReadPlus(results) = kit.at("s/f", [Operation::ReadPlus(arguments)]) else { panic!("{limit}") };
        match results {
            // The data of 6 bytes alone, or the hole behind it, too.
            Ok(ok) => {
                let end = ok.segments.iter().map(|segment| match segment {
                    Segment::Data(data) => data.offset_bytes + data.data.len() as u64,
                    Segment::Hole(hole) => hole.offset_bytes + hole.length_bytes,
                });
                assert_eq!(ok.eof, end.max() == Some(4110), "{limit}");
            }
            Err(status) => assert_eq!(status, Status::REP_TOO_BIG, "{limit}"),
        }
    }
}

#[test]
fn a_write_of_nothing_changes_nothing() {
    let (kit, _) = with_file();
    let before = kit.attributes("s/f", &[3, 4, 52, 53]);
    assert_eq!(written(&kit, write(1 << 30, b"")).map(|ok| ok.count_bytes), Ok(0));
    assert_eq!(kit.attributes("s/f", &[3, 4, 52, 53]), before);
}

#[test]
fn a_write_past_the_end_leaves_zeros_between() {
    let kit = Kit::new();
    kit.file("f", b"ab");
    kit.write("s/f", 5, b"c");
    assert_eq!(kit.read("s/f", 0, 10), (b"ab\0\0\0c".to_vec(), true));
}

#[test]
fn a_write_beyond_the_largest_file_changes_nothing() {
    let (kit, _) = with_file();
    let before = kit.attributes("s/f", &[3, 4]);
    for offset in [1 << 44, (1 << 44) - 1, u64::MAX, u64::MAX - 1] {
        assert_eq!(written(&kit, write(offset, b"ab")), Err(Status::FBIG), "{offset}");
    }
    assert_eq!(kit.attributes("s/f", &[3, 4]), before);
}

#[test]
fn a_write_longer_than_one_call_is_short() {
    let kit = Kit::new();
    kit.file("f", b"");
    let ok = written(&kit, write(0, &vec![1; (1 << 20) + 100]));
    assert_eq!(ok.map(|ok| ok.count_bytes), Ok(1 << 20));
}

#[test]
fn missing_space_and_quota_are_told_apart() {
    let (kit, _) = with_file();
    kit.engine.leave(0);
    assert_eq!(written(&kit, write(1 << 20, &[1; 8192])), Err(Status::NOSPC));
    kit.engine.leave(1 << 30);
    kit.fs.set_quota(Some(41_060));
    assert_eq!(written(&kit, write(1 << 20, &[1; 8192])), Err(Status::DQUOT));
    assert_eq!(kit.attribute("s/f", 4), Attribute::Size(41_060));
}

#[test]
fn damage_is_an_input_output_error() {
    let kit = Kit::new();
    let file = kit.file("f", &[1; 4096]);
    kit.engine.set_unreadable(&kit.fs, Some(file));
    assert_eq!(kit.status_at("s/f", read(0, 10)), Err(Status::IO));
}

#[test]
fn mode_bits_decide_about_anonymous_access() {
    let (kit, _) = with_file();
    kit.user.set(1000);
    assert_eq!(kit.status_at("s/f", read(0, 1)), Ok(()));
    assert_eq!(kit.status_at("s/f", write(0, b"x")), Err(Status::ACCESS));
    kit.user.set(0);
    assert_eq!(kit.status_at("s/f", set(ANONYMOUS, [Attribute::Mode(0o600)])), Ok(()));
    kit.user.set(1000);
    assert_eq!(kit.status_at("s/f", read(0, 1)), Err(Status::ACCESS));
}

#[test]
fn special_stateids_are_accepted_and_others_are_bad() {
    let (kit, _) = with_file();
    let read = |stateid| Operation::Read(ReadArguments { stateid, offset_bytes: 0, count_bytes: 1 });
    let write = |stateid| write_as(stateid, 0, Stable::FileSync, b"x");
    for stateid in [Stateid::ANONYMOUS, Stateid::READ_BYPASS] {
        assert_eq!(kit.status_at("s/f", read(stateid)), Ok(()));
        assert_eq!(kit.status_at("s/f", write(stateid)), Ok(()));
    }
    let seqid = |seqid, byte| Stateid { seqid, other: [byte; 12] };
    for stateid in [Stateid::CURRENT, Stateid::INVALID, seqid(2, 0), seqid(1, 0xff), seqid(0, 0xff), seqid(1, 7)] {
        let bad = Err(Status::BAD_STATEID);
        assert_eq!(kit.status_at("s/f", read(stateid)), bad);
        assert_eq!(kit.status_at("s/f", write(stateid)), bad);
        let range = RangeArguments { stateid, offset_bytes: 0, length_bytes: 1 };
        assert_eq!(kit.status_at("s/f", Operation::Allocate(range.clone())), bad);
        assert_eq!(kit.status_at("s/f", Operation::Deallocate(range)), bad);
        let seek = SeekArguments { stateid, offset_bytes: 0, what: Content::DATA };
        assert_eq!(kit.status_at("s/f", Operation::Seek(seek)), bad);
        let advise = AdviseArguments { stateid, offset_bytes: 0, count_bytes: 0, hints: Bitmap::EMPTY };
        assert_eq!(kit.status_at("s/f", Operation::Advise(advise)), bad);
        let clone = CloneArguments {
            source_stateid: stateid,
            destination_stateid: ANONYMOUS,
            source_offset_bytes: 0,
            destination_offset_bytes: 0,
            count_bytes: 0,
        };
        assert_eq!(kit.between("s/f", "s/f", Operation::Clone(clone)).status(), bad);
    }
}

fn read_plus(kit: &Kit, offset_bytes: u64, count_bytes: u32) -> ReadPlusOk {
    let arguments = ReadArguments { stateid: ANONYMOUS, offset_bytes, count_bytes };
    match kit.at("s/f", [Operation::ReadPlus(arguments)]) {
        Outcome::ReadPlus(Ok(ok)) => ok,
        other => panic!("{other:?}"),
    }
}

fn data(offset_bytes: u64, data: &[u8]) -> Segment {
    Segment::Data(SegmentData { offset_bytes, data: data.into() })
}

fn hole(offset_bytes: u64, length_bytes: u64) -> Segment {
    Segment::Hole(SegmentHole { offset_bytes, length_bytes })
}

#[test]
fn data_and_holes_are_told_apart() {
    let kit = Kit::new();
    kit.file("f", &[1; 4096]);
    kit.write("s/f", 12_288, &[2; 100]);
    let all = read_plus(&kit, 0, 1 << 20);
    assert_eq!(all.segments[..], [data(0, &[1; 4096]), hole(4096, 8192), data(12_288, &[2; 100])]);
    assert!(all.eof);
    let part = read_plus(&kit, 4000, 1000);
    assert_eq!((&part.segments[..], part.eof), (&[data(4000, &[1; 96]), hole(4096, 904)][..], false));
    let end = read_plus(&kit, 12_388, 10);
    assert_eq!((end.segments.len(), end.eof), (0, true));
    let nothing = read_plus(&kit, 5, 0);
    assert_eq!((nothing.segments.len(), nothing.eof), (0, false));
}

/// Each block was a segment of its own.
#[test]
fn neighbours_of_one_kind_are_one_segment() {
    let kit = Kit::new();
    kit.file("f", &[1; 12_288]);
    kit.write("s/f", 20_480, &[2; 5000]);
    let all = read_plus(&kit, 0, 1 << 20);
    assert_eq!(all.segments[..], [data(0, &[1; 12_288]), hole(12_288, 8192), data(20_480, &[2; 5000])]);
    assert!(all.eof);
    kit.sessions.response_bytes.set(24_576);
    let rest = read_plus(&kit, 4096, 1 << 20);
    assert_eq!(rest.segments[..], [data(4096, &[1; 8192]), hole(12_288, 8192), data(20_480, &[2; 5000])]);
    let part = read_plus(&kit, 0, 1 << 20);
    assert_eq!((part.segments.len(), part.eof), (3, false));
}

#[test]
fn more_segments_than_the_reply_holds_are_read_in_parts() {
    let kit = Kit::new();
    kit.file("f", b"");
    for number in 0..64 {
        kit.write("s/f", number * 8192, &[1]);
    }
    kit.sessions.response_bytes.set(8192);
    let (mut offset, mut parts) = (0, 0);
    loop {
        let part = read_plus(&kit, offset, 1 << 20);
        for segment in part.segments.iter() {
            let (start, length) = match segment {
                Segment::Data(data) => (data.offset_bytes, data.data.len() as u64),
                Segment::Hole(hole) => (hole.offset_bytes, hole.length_bytes),
            };
            assert_eq!(start, offset);
            offset += length;
        }
        parts += 1;
        if part.eof {
            break;
        }
        assert!(!part.segments.is_empty());
    }
    assert_eq!(offset, 63 * 8192 + 1);
    assert!(parts > 10);
}

fn seek(kit: &Kit, offset_bytes: u64, what: Content) -> Result<(bool, u64), Status> {
    match kit.at("s/f", [Operation::Seek(SeekArguments { stateid: ANONYMOUS, offset_bytes, what })]) {
        Outcome::Seek(results) => results.map(|SeekOk { eof, offset_bytes }| (eof, offset_bytes)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_seek_finds_data_and_holes() {
    let (kit, _) = with_file();
    assert_eq!(seek(&kit, 0, Content::DATA), Ok((false, 0)));
    assert_eq!(seek(&kit, 0, Content::HOLE), Ok((true, 41_060)));
    assert_eq!(seek(&kit, 41_060, Content::DATA), Err(Status::NXIO));
    assert_eq!(seek(&kit, 41_061, Content::HOLE), Err(Status::NXIO));
    assert_eq!(seek(&kit, 0, Content(2)), Err(Status::UNION_NOTSUPP));
    assert_eq!(kit.status_at("s/f", set(ANONYMOUS, [Attribute::Size(1 << 20)])), Ok(()));
    assert_eq!(seek(&kit, 0, Content::HOLE), Ok((false, 45_056)));
    assert_eq!(seek(&kit, 50_000, Content::DATA), Ok((true, 1 << 20)));
    kit.write("s/f", 500_000, b"x");
    assert_eq!(seek(&kit, 45_056, Content::DATA), Ok((false, 499_712)));
}

fn range(
    kit: &Kit,
    operation: fn(RangeArguments) -> Operation,
    offset_bytes: u64,
    length_bytes: u64,
) -> Result<(), Status> {
    kit.status_at("s/f", operation(RangeArguments { stateid: ANONYMOUS, offset_bytes, length_bytes }))
}

fn space(kit: &Kit) -> (u64, u64) {
    match kit.attributes("s/f", &[45, 78])[..] {
        [Attribute::SpaceUsed(used), Attribute::SpaceFreed(freed)] => (used, freed),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn an_allocation_is_promised_once() {
    let kit = Kit::new();
    kit.file("f", b"");
    for _ in 0..2 {
        assert_eq!(range(&kit, Operation::Allocate, 0, 1 << 20), Ok(()));
        assert_eq!(kit.attribute("s/f", 4), Attribute::Size(1 << 20));
        assert_eq!(space(&kit), (1 << 20, 1 << 20));
    }
    kit.engine.leave(0);
    kit.write("s/f", 100, &[1; 500_000]);
    assert_eq!(range(&kit, Operation::Allocate, 1 << 20, 1 << 20), Err(Status::NOSPC));
    assert_eq!(kit.attribute("s/f", 4), Attribute::Size(1 << 20));
    assert_eq!(range(&kit, Operation::Deallocate, 0, 1 << 20), Ok(()));
    assert_eq!(space(&kit), (0, 0));
}

#[test]
fn ranges_that_no_file_has_are_refused() {
    let (kit, content) = with_file();
    assert_eq!(range(&kit, Operation::Allocate, 0, 0), Err(Status::INVAL));
    assert_eq!(range(&kit, Operation::Allocate, 1, 1 << 44), Err(Status::FBIG));
    assert_eq!(range(&kit, Operation::Allocate, u64::MAX, 2), Err(Status::INVAL));
    assert_eq!(range(&kit, Operation::Deallocate, 0, 0), Err(Status::INVAL));
    assert_eq!(range(&kit, Operation::Deallocate, u64::MAX, 2), Err(Status::INVAL));
    assert_eq!(range(&kit, Operation::Deallocate, 1 << 60, 1 << 60), Ok(()));
    assert_eq!(kit.read("s/f", 0, 1 << 20).0, content);
}

#[test]
fn deallocated_bytes_are_zero_and_their_blocks_free() {
    let (kit, mut content) = with_file();
    assert_eq!(range(&kit, Operation::Deallocate, 4096, 8192), Ok(()));
    content[4096..12_288].fill(0);
    assert_eq!(space(&kit).0, 45_056 - 8192);
    assert_eq!(range(&kit, Operation::Deallocate, 20_100, 5000), Ok(()));
    content[20_100..25_100].fill(0);
    assert_eq!(range(&kit, Operation::Deallocate, 41_000, 1 << 30), Ok(()));
    content[41_000..].fill(0);
    assert_eq!(kit.read("s/f", 0, 1 << 20), (content, true));
}

#[test]
fn advice_is_accepted_and_not_followed() {
    let (kit, _) = with_file();
    let advise = |offset_bytes, count_bytes| {
        let hints = Bitmap::new([0, 3, 200]);
        kit.at("s/f", [Operation::Advise(AdviseArguments { stateid: ANONYMOUS, offset_bytes, count_bytes, hints })])
    };
    assert_eq!(advise(0, 0), Outcome::Advise(Ok(Bitmap::EMPTY)));
    assert_eq!(advise(u64::MAX, 1), Outcome::Advise(Err(Status::INVAL)));
}

#[test]
fn operations_on_copies_that_there_are_not_have_a_bad_stateid() {
    let (kit, _) = with_file();
    let stateid = Stateid { seqid: 1, other: [7; 12] };
    for operation in
        [Operation::OffloadStatus(stateid), Operation::OffloadCancel(stateid), Operation::ReturnDelegation(stateid)]
    {
        assert_eq!(kit.status_at("s/f", operation), Err(Status::BAD_STATEID));
    }
    assert_eq!(kit.status_at("s/f", Operation::OpenAttributes(false)), Err(Status::NOTSUPP));
}

#[test]
fn random_writes_read_back_like_a_plain_buffer() {
    let kit = Kit::new();
    kit.file("f", b"");
    let random = Random::new(7);
    let mut model: Vec<u8> = Vec::new();
    for _ in 0..300 {
        let offset = random.below(4098) + 4096 * random.below(4);
        let length = 1 + random.index(9000);
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.byte()).take(length).collect();
        kit.write("s/f", offset, &bytes);
        let offset = usize::try_from(offset).unwrap_or(0);
        model.resize(model.len().max(offset + length), 0);
        model[offset..offset + length].copy_from_slice(&bytes);
        let from = random.below(20_000);
        let count = 1 + random.below(9000);
        let start = usize::try_from(from).unwrap_or(0).min(model.len());
        let end = start.saturating_add(count as usize).min(model.len());
        let eof = from + count >= model.len() as u64;
        let count = u32::try_from(count).unwrap_or(0);
        assert_eq!(kit.read("s/f", from, count), (model[start..end].to_vec(), eof));
    }
}

#[test]
fn several_operations_work_on_one_handle() {
    let (kit, _) = with_file();
    let outcomes = kit.run(go("s/f").into_iter().chain([write(0, b"abc"), read(0, 3), commit()]));
    match &outcomes[3..] {
        [Outcome::Write(Ok(_)), Outcome::Read(Ok(ok)), Outcome::Commit(Ok(_))] => assert_eq!(ok.data[..], *b"abc"),
        other => panic!("{other:?}"),
    }
}
