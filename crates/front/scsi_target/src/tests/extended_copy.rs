use super::compare_and_write::statistics;
use super::*;
use hex_literal::hex;
use scsi::third_party_copy::{BlockToBlockOffsetSegment, BlockToBlockSegment, IdentificationCscd, ParameterListHeader};
use unit::{Ending, Primitive, Reason};
use zerocopy::IntoBytes;

pub(super) mod lid4;
mod segments;

/// Parameter list of CSCD descriptors for volumes, and of segments.
pub(super) struct List {
    id: u8,
    usage: u8,
    cscds: Vec<IdentificationCscd>,
    segments: Vec<Vec<u8>>,
}

impl List {
    pub fn of(volumes: &[u64], segments: &[BlockToBlockSegment]) -> Self {
        Self {
            id: 0,
            usage: 0b11,
            cscds: volumes.iter().map(|volume| IdentificationCscd::naa(&naa(*volume))).collect(),
            segments: segments.iter().map(|segment| segment.as_bytes().to_vec()).collect(),
        }
    }

    fn id(mut self, id: u8, usage: u8) -> Self {
        (self.id, self.usage) = (id, usage);
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let cscds = self.cscds.as_bytes();
        let segments = self.segments.concat();
        let lengths = (u16::try_from(cscds.len()).unwrap(), u32::try_from(segments.len()).unwrap());
        let header = ParameterListHeader::new(self.id, self.usage, lengths.0, lengths.1);
        [header.as_bytes(), cscds, &segments].concat()
    }
}

/// Parameter list that copies between two volumes.
pub(super) fn list_between(volumes: [u64; 2], blocks: u16, from: u64, to: u64) -> Vec<u8> {
    List::of(&volumes, &[segment(blocks, from, to)]).bytes()
}

fn send(path: &Path<'_>, list: &[u8]) -> Response {
    let length = u32::try_from(list.len()).unwrap();
    path.data_out(&cdb16(0x83, 0, 0, length), list)
}

fn copy(path: &Path<'_>, list: &List) -> Response {
    send(path, &list.bytes())
}

fn segment(count: u16, from: u64, to: u64) -> BlockToBlockSegment {
    BlockToBlockSegment::new(0, 1, count, from, to)
}

fn receive(path: &Path<'_>, service_action: u8, id: u8) -> Response {
    let mut cdb = cdb16(0x84, service_action, 0, 1024);
    cdb[2] = id;
    path.command(&cdb)
}

#[test]
fn copies_between_units_whoever_receives_the_command() {
    let array = Array::new();
    let (source, destination) = (array.on(array.a, 0), array.on(array.a, 1));
    let data: Vec<u8> = (0..8192u32 * 512).map(|index| index.to_le_bytes()[1] ^ 0x5a).collect();
    source.write(0x100, &data);
    for receiver in [destination, source] {
        let list = List::of(&[10, 11], &[segment(8192, 0x100, 0x200)]);
        assert_eq!(list.bytes().len(), 0x6c);
        let response = copy(&receiver, &list);
        assert_good(&response);
        assert_eq!(response.transfer_bytes, 0x6c);
        assert!(array.on(array.a2, 1).read(0x200, 8192) == data);
        destination.write(0x200, &pattern(0, 8192));
    }
    // Both are accounted to the destination.
    let xcopy = statistics(&array, 11, Primitive::Xcopy);
    assert_eq!((xcopy.ok, xcopy.bytes, xcopy.host_bytes_avoided), (2, 8 << 20, 16 << 20));
    assert_eq!((xcopy.cloned_bytes, xcopy.copied_bytes), (8 << 20, 0));
    assert_eq!(statistics(&array, 10, Primitive::Xcopy).commands, 0);
}

#[test]
fn copies_within_a_unit() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 8));
    let same = |index| BlockToBlockSegment::new(0, index, 8, 0, 8 + u64::from(index) * 8);
    assert_good(&copy(&path, &List::of(&[10], &[same(0)])));
    assert_good(&copy(&path, &List::of(&[10, 10], &[same(1)])));
    // FFFFh is the logical unit that receives the command.
    let here = BlockToBlockSegment::new(0xffff, 0xffff, 8, 0, 24);
    assert_good(&copy(&path, &List::of(&[], &[here])));
    assert_eq!(path.read(8, 24), pattern(1, 24));
}

#[test]
fn overlapping_ranges_copy_what_was_there_before() {
    let array = Array::new();
    let path = array.lun0();
    let data: Vec<u8> = (1..=16).flat_map(|byte| pattern(byte, 1)).collect();
    path.write(0, &data);
    assert_good(&copy(&path, &List::of(&[10], &[BlockToBlockSegment::new(0, 0, 16, 0, 4)])));
    assert_eq!(path.read(4, 16), data);
}

#[test]
fn list_identifiers_are_taken_in_all_usages() {
    let array = Array::new();
    let path = array.lun0();
    let list = || List::of(&[10, 11], &[segment(8, 0, 0)]);
    for (id, usage) in [(0, 0b11), (1, 0b10), (1, 0b00), (0, 0b00)] {
        assert_good(&copy(&path, &list().id(id, usage)));
    }
    assert_field(&copy(&path, &list().id(5, 0b11)), false, 0);
    assert_field(&copy(&path, &list().id(0, 0b01)), false, 1);
    assert_eq!(array.units.refusals(0)[0].reason, Reason::BadDescriptor);
}

#[test]
fn results_are_kept_as_the_usage_says() {
    let array = Array::new();
    let path = array.lun0();
    assert_field(&receive(&path, 0, 1), true, 2);
    let list = || List::of(&[10, 11], &[segment(8, 0, 0), segment(8, 8, 8)]);
    assert_good(&copy(&path, &list().id(1, 0b00)));
    assert_eq!(receive(&path, 0, 1).data_in.as_ref(), hex!("00000008 01 0002 00 00002000"));
    // There is no failure to report; another nexus has its own list identifiers.
    assert_field(&receive(&path, 4, 1), true, 2);
    assert_field(&receive(&array.on(array.b, 0), 0, 1), true, 2);
    assert_good(&copy(&path, &list().id(2, 0b10)));
    assert_field(&receive(&path, 0, 2), true, 2);
    // The sense data of a failed copy can be fetched once.
    let bad = List::of(&[10, 11], &[segment(8, 0, 0), segment(8, BLOCKS, 0)]).id(1, 0b00);
    let response = copy(&path, &bad);
    assert_eq!(response.sense[2], 0x0a);
    assert_eq!(receive(&path, 0, 1).data_in.as_ref(), hex!("00000008 02 0001 00 00001000"));
    // Data that an allocation length has cut can be requested again.
    let mut short = cdb16(0x84, 4, 0, 59);
    short[2] = 1;
    assert_eq!(path.command(&short).data_in.len(), 59);
    let details = receive(&path, 4, 1).data_in;
    assert_eq!(details[56], CHECK_CONDITION);
    assert_eq!(details[60..], response.sense);
    assert_field(&receive(&path, 4, 1), true, 2);
    array.target.target_reset(array.a);
}

#[test]
fn a_list_identifier_in_use_is_refused() {
    let array = Array::new();
    let path = array.lun0();
    array.volumes[1].hold(true);
    let list = List::of(&[10, 11], &[segment(8, 0, 0)]).id(7, 0b00);
    let bytes = Bytes::from(list.bytes());
    let length = u32::try_from(bytes.len()).unwrap();
    let mut running = Box::pin(path.request(&cdb16(0x83, 0, 0, length), bytes, 0, length));
    assert!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(receive(&path, 0, 7).data_in[4], 0);
    assert_check(&copy(&path, &list), 0x05, 0x00, 0x16);
    assert_eq!(array.units.refusals(0)[0].reason, Reason::ListIdInUse);
    // An aborted operation leaves no record.
    drop(running);
    assert_field(&receive(&path, 0, 7), true, 2);
    array.volumes[1].hold(false);
    assert_good(&copy(&path, &list));
}

#[test]
fn an_empty_list_and_empty_segments_do_nothing() {
    let array = Array::new();
    let path = array.lun0();
    assert_good(&send(&path, &[]));
    assert_good(&copy(&path, &List::of(&[10, 11], &[segment(0, 0, 0)])));
    assert_good(&copy(&path, &List::of(&[10, 11], &[])));
    assert_eq!(array.volumes[1].calls(), 0);
}

#[test]
fn truncated_lists_are_length_errors() {
    let array = Array::new();
    let path = array.lun0();
    let bytes = List::of(&[10, 11], &[segment(8, 0, 0)]).bytes();
    for length in [1, 15, 16, 47, 79, 80, 107] {
        assert_check(&send(&path, &bytes[..length]), 0x05, 0x1a, 0x00);
    }
    // Lengths in the header that end inside a descriptor.
    let mut cut = bytes.clone();
    cut[3] = 0x3f;
    assert_eq!(send(&path, &cut).sense[2], 0x05);
    let mut cut = bytes.clone();
    cut[11] = 0x1b;
    assert_check(&send(&path, &cut), 0x05, 0x1a, 0x00);
    // Announced Data-Out shorter than the CDB says.
    let cdb = cdb16(0x83, 0, 0, 108);
    assert_check(&path.data_out(&cdb, &bytes[..50]), 0x05, 0x1a, 0x00);
    assert_eq!(array.volumes[1].calls(), 0);
}

#[test]
fn counts_and_lengths_are_limited_as_announced() {
    let array = Array::new();
    let path = array.lun0();
    let many = [10; 65];
    let segments = [segment(8, 0, 0); 65];
    assert_check(&copy(&path, &List::of(&many, &segments[..1])), 0x05, 0x26, 0x06);
    assert_check(&copy(&path, &List::of(&many[..2], &segments)), 0x05, 0x26, 0x08);
    assert_check(&copy(&path, &List::of(&many, &segments)), 0x05, 0x1a, 0x00);
    assert_good(&copy(&path, &List::of(&many[..64], &segments[..64])));
    // A CDB that announces a giant list asks for no data.
    let giant = cdb16(0x83, 0, 0, u32::MAX);
    assert_eq!(array.target.data_out_bytes(array.a, [0; 8], &giant, u32::MAX), 0);
    assert_check(&path.data_out_expecting(&giant, &[], u32::MAX), 0x05, 0x1a, 0x00);
    // Eight segments of 30 MiB are accepted, one of 31 MiB is not.
    let array = Array::new();
    for volume in &array.volumes {
        volume.resize(1 << 20);
    }
    let path = array.lun0();
    let eight: Vec<_> = (0..8).map(|index| segment(61_440, index * 61_440, index * 61_440)).collect();
    assert_good(&copy(&path, &List::of(&[10, 11], &eight)));
    assert_field(&copy(&path, &List::of(&[10, 11], &[segment(63_488, 0, 0)])), false, 16 + 64 + 10);
    let mut inline = List::of(&[10, 11], &[segment(8, 0, 0)]).bytes();
    inline[15] = 4;
    inline.extend_from_slice(&[0; 4]);
    assert_check(&send(&path, &inline), 0x05, 0x26, 0x0b);
}

#[test]
fn descriptor_types_and_fields_are_checked_before_anything_moves() {
    let array = Array::new();
    let path = array.lun0();
    let good = || List::of(&[10, 11], &[segment(8, 0, 0)]);
    let with = |change: &dyn Fn(&mut List)| {
        let mut list = good();
        change(&mut list);
        copy(&path, &list)
    };
    assert_check(&with(&|list| list.cscds[1].descriptor_type = 0xe0), 0x05, 0x26, 0x07);
    assert_check(&with(&|list| list.segments[0][0] = 0x03), 0x05, 0x26, 0x09);
    assert_check(&with(&|list| list.segments.push(vec![0x03])), 0x05, 0x26, 0x09);
    assert_field(&with(&|list| list.segments[0][3] = 0x17), false, 16 + 64 + 2);
    assert_field(&with(&|list| list.cscds[0].code_set = 2), false, 16 + 4);
    assert_field(&with(&|list| list.cscds[0].designator_kind = 0x13), false, 16 + 5);
    assert_field(&with(&|list| list.cscds[1].designator_length = 21), false, 48 + 7);
    assert_field(&with(&|list| list.cscds[1].designator_length = 0), false, 48 + 7);
    // Obsolete LU ID TYPE and NUL, DC and CAT have no effect.
    assert_good(&with(&|list| list.cscds[0].peripheral = 0xe0));
    assert_good(&with(&|list| list.segments[0][1] = 0x03));
    assert_eq!(array.volumes[1].calls(), 2);
}

#[test]
fn byte_segments_have_to_be_whole_blocks() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(6, 4));
    let with = |segment: BlockToBlockOffsetSegment| {
        let mut list = List::of(&[10, 11], &[]);
        list.segments.push(segment.as_bytes().to_vec());
        copy(&path, &list)
    };
    let mut segment = BlockToBlockOffsetSegment::new(0, 1, 1024, 0, 0);
    segment.source_offset.set(512);
    segment.destination_offset.set(1024);
    assert_good(&with(segment));
    assert_eq!(array.on(array.a, 1).read(1, 4), [pattern(0, 1), pattern(6, 2), pattern(0, 1)].concat());
    assert_check(&with(BlockToBlockOffsetSegment::new(0, 1, 1000, 0, 0)), 0x05, 0x26, 0x0d);
    segment.source_offset.set(5);
    assert_check(&with(segment), 0x05, 0x26, 0x0d);
    assert_check(&with(BlockToBlockOffsetSegment::new(0, 1, 0x0200_0000, 0, 0)), 0x05, 0x26, 0x00);
    let reasons: Vec<_> = array.units.refusals(0).iter().skip(1).map(|entry| (entry.reason, entry.count)).collect();
    assert_eq!(reasons, [(Reason::Misaligned, 2), (Reason::OverLimit, 1)]);
}

#[test]
fn only_visible_units_can_be_named() {
    let array = Array::new();
    let path = array.lun0();
    array.on(array.a, 1).write(0, &pattern(3, 8));
    for volumes in [[10, 99], [10, 12], [12, 11]] {
        let response = copy(&path, &List::of(&volumes, &[segment(8, 0, 0)]));
        assert_check(&response, 0x0a, 0x0d, 0x02);
        assert_eq!(array.units.refusals(0).last().unwrap().reason, Reason::NotGranted);
    }
    assert_eq!((array.volumes[1].calls(), array.volumes[2].calls()), (1, 0));
    assert_eq!(array.on(array.a, 1).read(0, 8), pattern(3, 8));
    // A grant to another initiator does not make it visible to this one.
    array.target.set_access(VolumeId(12), Grant { initiator: Some("iqn.b".into()), lun: 2 }).unwrap();
    array.settle(array.b);
    let list = List::of(&[10, 12], &[segment(8, 0, 0)]);
    assert_check(&copy(&path, &list), 0x0a, 0x0d, 0x02);
    assert_good(&copy(&array.on(array.b, 0), &list));
    // CSCD index that is not in the list.
    let response = copy(&path, &List::of(&[10], &[segment(8, 0, 0)]));
    assert_check(&response, 0x0a, 0x0d, 0x02);
    assert_eq!(response.sense[15..18], hex!("a0 0006"));
}

#[test]
fn a_unit_can_be_named_by_its_other_designator() {
    let array = Array::new();
    let mut list = List::of(&[10, 11], &[segment(8, 0, 0)]);
    let value = b"WINDLASS0000000b";
    let cscd = &mut list.cscds[1];
    (cscd.code_set, cscd.designator_kind, cscd.designator_length) = (2, 1, 16);
    cscd.designator[..16].copy_from_slice(value);
    assert_good(&copy(&array.lun0(), &list));
    assert_eq!(array.volumes[1].calls(), 1);
}

#[test]
fn another_device_type_or_block_length_is_refused() {
    let array = Array::new();
    let path = array.lun0();
    let mut list = List::of(&[10, 11], &[segment(8, 0, 0)]);
    list.cscds[1].block_length = [0, 0x10, 0];
    assert_check(&copy(&path, &list), 0x0a, 0x0d, 0x03);
    let mut list = List::of(&[10, 11], &[segment(8, 0, 0)]);
    list.cscds[0].peripheral = 1;
    assert_check(&copy(&path, &list), 0x0a, 0x0d, 0x03);
    assert_eq!(array.volumes[1].calls(), 0);
}

#[test]
fn ranges_beyond_the_end_abort_the_copy() {
    let array = Array::new();
    let path = array.lun0();
    for (from, to, forwarded) in [(BLOCKS - 4, 0, (18, 0)), (0, BLOCKS - 1, (0, 18)), (u64::MAX, 0, (18, 0))] {
        let response = copy(&path, &List::of(&[10, 11], &[segment(8, from, to)]));
        assert_check(&response, 0x0a, 0x00, 0x00);
        assert_eq!((response.sense[8], response.sense[9]), forwarded);
        // The forwarded status and sense data give the reason.
        assert_eq!((response.sense[18], response.sense[19 + 2], response.sense[19 + 12]), (0x02, 0x05, 0x21));
    }
    assert_eq!(array.volumes[1].calls(), 0);
    assert_eq!(array.units.refusals(0)[0].reason, Reason::OutOfRange);
}

#[test]
fn a_failing_segment_leaves_the_earlier_ones() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(4, 8));
    let response = copy(&path, &List::of(&[10, 11], &[segment(8, 0, 0), segment(8, BLOCKS, 8)]));
    assert_eq!((response.sense[2], &response.sense[10..12]), (0x0a, &[0, 1][..]));
    assert_eq!(array.on(array.a, 1).read(0, 8), pattern(4, 8));
}

#[test]
fn holes_stay_holes_and_copies_are_independent() {
    let array = Array::new();
    let (source, destination) = (array.on(array.a, 0), array.on(array.a, 1));
    source.write(8, &pattern(1, 8));
    destination.write(0, &pattern(9, 32));
    assert_good(&copy(&source, &List::of(&[10, 11], &[segment(32, 0, 0)])));
    assert_eq!(array.volumes[1].mapped_blocks(), 8);
    source.write(8, &pattern(2, 8));
    assert_eq!(destination.read(8, 8), pattern(1, 8));
    destination.write(8, &pattern(3, 8));
    assert_eq!(source.read(8, 8), pattern(2, 8));
}

#[test]
fn reservations_of_third_parties_hold() {
    let array = Array::new();
    assert_good(&array.on(array.b, 1).command(&hex!("16 00 0000 00 00")));
    let list = List::of(&[10, 11], &[segment(8, 0, 0)]);
    let response = copy(&array.lun0(), &list);
    assert_check(&response, 0x0a, 0x0d, 0x01);
    assert_eq!((response.sense[9], response.sense[18]), (18, RESERVATION_CONFLICT));
    let response = copy(&array.lun0(), &List::of(&[11, 10], &[segment(8, 0, 0)]));
    assert_eq!((response.sense[8], response.sense[18]), (18, RESERVATION_CONFLICT));
    assert_eq!(copy(&array.on(array.a, 1), &list).status, RESERVATION_CONFLICT);
    assert_eq!((array.volumes[0].calls(), array.volumes[1].calls()), (0, 0));
    let log = array.units.refusals(0);
    assert!(log.iter().all(|entry| entry.reason == Reason::ReservedByAnother));
    // The reservation is one of the other volume, too.
    assert!(log.iter().all(|entry| entry.holder.as_ref().is_some_and(|holder| holder.initiator == "iqn.b")));
    assert_good(&copy(&array.on(array.b, 1), &list));
}

#[test]
fn reserve_on_the_destination_waits_for_the_segment() {
    let array = Array::new();
    array.volumes[1].hold(true);
    let context = &mut Context::from_waker(Waker::noop());
    let bytes = Bytes::from(List::of(&[10, 11], &[segment(8, 0, 0)]).bytes());
    let length = u32::try_from(bytes.len()).unwrap();
    let mut running = Box::pin(array.lun0().request(&cdb16(0x83, 0, 0, length), bytes, 0, length));
    assert!(running.as_mut().poll(context).is_pending());
    let mut reserve = Box::pin(array.on(array.b, 1).request(&hex!("16 00 0000 00 00"), Bytes::new(), 0, 0));
    assert!(reserve.as_mut().poll(context).is_pending());
    array.volumes[1].hold(false);
    assert_good(&run(running));
    assert_good(&run(reserve));
}

#[test]
fn faults_of_the_destination_that_hosts_act_on_stay_plain() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 8));
    let list = List::of(&[10, 11], &[segment(8, 0, 0)]);
    array.volumes[1].set_full(true);
    assert_check(&copy(&path, &list), 0x07, 0x27, 0x07);
    array.volumes[1].set_full(false);
    array.volumes[1].set_read_only(true);
    assert_check(&copy(&path, &list), 0x07, 0x27, 0x00);
    // A read-only volume can be the source, and can receive the command.
    let back = List::of(&[11, 10], &[segment(8, 0, 0)]);
    assert_good(&copy(&array.on(array.a, 1), &back));
    array.volumes[1].set_read_only(false);
    array.volumes[0].set_bad_block(Some(3));
    let response = copy(&path, &list);
    assert_check(&response, 0x0a, 0x0d, 0x01);
    assert_eq!((response.sense[8], response.sense[18], response.sense[19 + 12]), (18, 0x02, 0x11));
    let xcopy = statistics(&array, 10, Primitive::Xcopy);
    // Two refusals, of a full and of a read-only volume, and a failure of the medium.
    assert_eq!((xcopy.refused, xcopy.errors), (2, 1));
    assert_eq!(xcopy.refusals.given().collect::<Vec<_>>(), [(Reason::WriteProtected, 1), (Reason::NoSpace, 1)]);
    assert_eq!(xcopy.failures.given().collect::<Vec<_>>(), [(Reason::MediaError, 1)]);
    let endings: Vec<_> = array.units.refusals(0).iter().map(|entry| entry.ending).collect();
    assert_eq!(endings, [Ending::Refused, Ending::Refused, Ending::Failed]);
}

/// Damage of the destination was reported as an error of the copy source.
#[test]
fn a_read_error_names_the_side_of_the_copy() {
    let array = Array::new();
    let path = array.lun0();
    let list = List::of(&[10, 11], &[segment(8, 0, 0)]);
    for (volume, forwarded) in [(0, (18, 0)), (1, (0, 18))] {
        array.volumes[volume].set_bad_block(Some(3));
        let response = copy(&path, &list);
        assert_check(&response, 0x0a, 0x0d, 0x01);
        assert_eq!((response.sense[8], response.sense[9]), forwarded);
        // UNRECOVERED READ ERROR at block 3.
        assert_eq!((response.sense[19 + 2], response.sense[19 + 6], response.sense[19 + 12]), (0x03, 3, 0x11));
        array.volumes[volume].set_bad_block(None);
    }
    assert_good(&copy(&path, &list));
}

/// The counters of a volume went with it.
#[test]
fn counters_of_a_deleted_volume_are_kept_with_its_last_name() {
    let array = Array::new();
    assert_good(&copy(&array.lun0(), &List::of(&[10, 11], &[segment(8, 0, 0)])));
    array.units.rename(VolumeId(11), "renamed");
    array.remove(VolumeId(11));
    let rows = array.units.offload();
    let deleted: Vec<_> = rows.iter().filter(|row| row.deleted).collect();
    assert_eq!(deleted.len(), 1);
    assert_eq!((deleted[0].volume, deleted[0].name.as_str()), (VolumeId(11), "renamed"));
    assert_eq!((deleted[0].primitive, deleted[0].statistics.ok), (Primitive::Xcopy, 1));
}

#[test]
fn a_copy_that_moves_data_is_told() {
    let array = Array::new();
    assert_good(&copy(&array.lun0(), &List::of(&[10, 11], &[segment(8, 1, 2)])));
    let xcopy = statistics(&array, 11, Primitive::Xcopy);
    assert_eq!((xcopy.ok, xcopy.cloned_bytes, xcopy.copied_bytes), (1, 0, 4096));
    let log = array.units.refusals(0);
    assert_eq!((log[0].reason, log[0].volume, log[0].bytes), (Reason::Misaligned, VolumeId(11), 4096));
}

#[test]
fn operating_parameters_are_those_enforced() {
    let array = Array::new();
    let data = receive(&array.lun0(), 3, 0).data_in;
    assert_eq!(
        data.as_ref(),
        hex!(
            "0000002d 01000000 0040 0040 00000f00 01e00000 00000000 00004000 00000000
             0000 00ff ff 09 00 09 000000 05 02 07 0a 0d e4"
        )
    );
    let cut = array.lun0().command(&cdb16(0x84, 3, 0, 8)).data_in;
    assert_eq!(cut.as_ref(), hex!("0000002d 01000000"));
}
