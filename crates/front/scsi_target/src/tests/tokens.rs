//! ROD tokens: created, used, and refused.

use super::extended_copy::lid4::with_id4;
use super::*;
use crate::limits::TokenLimits;
use hex_literal::hex;
use scsi::rod_token::{
    BlockRange, DEL_TKN, IMMED, RTV, RodType, populate_token_list, write_using_token_list, zero_token,
};
use std::pin::pin;
use unit::Reason;

pub(super) type Token = [u8; 512];

/// POPULATE TOKEN or WRITE USING TOKEN with list identifier `id`.
pub(super) fn token_cdb(service_action: u8, id: u32, length: usize) -> [u8; 16] {
    let mut cdb = cdb16(0x83, service_action, 0, u32::try_from(length).unwrap());
    cdb[6..10].copy_from_slice(&id.to_be_bytes());
    cdb
}

fn send(path: &Path<'_>, service_action: u8, list: &[u8]) -> Response {
    path.data_out(&token_cdb(service_action, 1, list.len()), list)
}

pub(super) fn ranges(list: &[(u64, u32)]) -> Vec<BlockRange> {
    list.iter().map(|(lba, count)| BlockRange::new(*lba, *count)).collect()
}

fn populate_list(timeout_s: u32, list: &[(u64, u32)]) -> Vec<u8> {
    populate_token_list(0, timeout_s, RodType(0), &ranges(list))
}

fn information(path: &Path<'_>) -> Bytes {
    let response = path.command(&with_id4(0x84, 7, 1));
    assert_good(&response);
    response.data_in
}

fn token_of(information: &[u8]) -> Token {
    assert_eq!(information[32..38], hex!("00000202 0000"));
    information[38..].try_into().unwrap()
}

pub(super) fn populate(path: &Path<'_>, list: &[(u64, u32)]) -> Token {
    assert_good(&send(path, 0x10, &populate_list(0, list)));
    token_of(&information(path))
}

pub(super) fn write(path: &Path<'_>, token: &Token, offset: u64, list: &[(u64, u32)]) -> Response {
    send(path, 0x11, &write_using_token_list(0, offset, token, &ranges(list)))
}

#[track_caller]
pub(super) fn assert_token(response: &Response, ascq: u8) {
    assert_check(response, 0x05, 0x23, ascq);
}

#[test]
fn a_token_copies_the_source_as_it_was() {
    let array = Array::new();
    let (source, destination) = (array.on(array.a, 0), array.on(array.a, 1));
    let data: Vec<u8> = (1..=32).flat_map(|byte| pattern(byte, 1)).collect();
    source.write(100, &data);
    // The second range comes first in the ROD, and one is empty.
    assert_good(&send(&source, 0x10, &populate_list(0, &[(116, 16), (5, 0), (100, 8)])));
    let found = information(&source);
    assert_eq!(
        found[..38],
        hex!("00000222 10 01 0001 fffffffe 00 00 00 f1 0000000000000018 0002 000000000000 00000202 0000")
    );
    let token = token_of(&found);
    assert_eq!(token[..8], hex!("00800000 0000 01f8"));
    assert_eq!((&token[24..40], &token[48..64]), (&naa(10)[..], &hex!("0000000000000000 0000000000003000")[..]));
    source.write(100, &pattern(0x99, 32));
    // Through another port of the same host.
    let destination2 = array.on(array.a2, 1);
    assert_good(&write(&destination2, &token, 0, &[(0, 24)]));
    let rod = [&data[16 * 512..], &data[..8 * 512]].concat();
    assert_eq!(destination.read(0, 24), rod);
    let done = destination2.command(&with_id4(0x84, 7, 1)).data_in;
    assert_eq!(
        done.as_ref(),
        hex!("00000020 11 01 0001 fffffffe 00 00 00 f1 0000000000000018 0001 000000000000 00000000")
    );
    // From an offset, over several ranges, and again.
    assert_good(&write(&destination, &token, 3, &[(200, 2), (300, 15), (400, 1)]));
    let written = [destination.read(200, 2), destination.read(300, 15), destination.read(400, 1)].concat();
    assert_eq!(written, rod[3 * 512..21 * 512]);
    assert_eq!(array.target.token_count(), 1);
    let xcopy = compare_and_write::statistics(&array, 11, unit::Primitive::Xcopy);
    assert_eq!((xcopy.ok, xcopy.bytes), (2, (24 + 18) * 512));
}

#[test]
fn a_changed_byte_is_noticed_wherever_it_is() {
    let array = Array::new();
    let path = array.lun0();
    let token = populate(&path, &[(0, 8)]);
    for at in 0..token.len() {
        let mut forged = token;
        forged[at] ^= 0x01;
        let ascq = match at {
            0..4 => 0x01,
            6..8 => 0x0a,
            // Token of another run.
            8..12 => 0x04,
            _ => 0x05,
        };
        assert_token(&write(&path, &forged, 0, &[(100, 8)]), ascq);
    }
    assert_eq!(array.volumes[0].calls(), 0);
    assert_eq!(array.units.refusals(0)[0].reason, Reason::InvalidToken);
    assert_token(&write(&path, &[0; 512], 0, &[(100, 8)]), 0x01);
    assert_good(&write(&path, &token, 0, &[(100, 8)]));
    // Another array, or another run of this one, has another key.
    let other = Array::new();
    assert_token(&write(&other.lun0(), &token, 0, &[(100, 8)]), 0x04);
}

#[test]
fn for_another_initiator_it_does_not_exist() {
    let array = Array::new();
    let token = populate(&array.lun0(), &[(0, 8)]);
    let stranger = array.on(array.b, 0);
    assert_token(&write(&stranger, &token, 0, &[(100, 8)]), 0x04);
    assert_field(&stranger.command(&with_id4(0x84, 7, 1)), true, 2);
    let all = |path: &Path<'_>| path.command(&cdb16(0x84, 8, 0, 1 << 12)).data_in;
    assert_eq!(all(&stranger).as_ref(), hex!("00000004 00000000"));
    assert_eq!(all(&array.lun0())[8..], token[..96]);
    // Data that the initiator may no longer read is not available by token either, until access is
    // granted again.
    let luns = [VolumeId(10), VolumeId(11)];
    array.target.revoke(luns[0], None);
    array.settle_lun(array.a, 1);
    assert_token(&write(&array.on(array.a, 1), &token, 0, &[(100, 8)]), 0x06);
    array.target.set_access(luns[0], Grant { initiator: None, lun: 0 }).unwrap();
    array.settle(array.a);
    assert_good(&write(&array.on(array.a, 1), &token, 0, &[(100, 8)]));
}

#[test]
fn it_expires_unless_it_is_used() {
    let array = Array::new();
    let path = array.lun0();
    let token = populate(&path, &[(0, 8)]);
    let used = populate(&path, &[(0, 8)]);
    assert_good(&send(&path, 0x10, &populate_list(600, &[(0, 8)])));
    let long = token_of(&information(&path));
    array.advance(50);
    assert_good(&write(&path, &used, 0, &[(100, 8)]));
    array.advance(20);
    assert_token(&write(&path, &token, 0, &[(100, 8)]), 0x07);
    assert_good(&write(&path, &used, 0, &[(100, 8)]));
    assert_eq!((array.target.token_count(), array.volumes[0].captures()), (2, 2));
    // The timer removes unused tokens.
    array.advance(61);
    array.target.expire_tokens();
    assert_eq!((array.target.token_count(), array.volumes[0].captures()), (1, 1));
    assert_token(&write(&path, &used, 0, &[(100, 8)]), 0x07);
    // However often it is used, a token ends with its lifetime.
    for _ in 0..6 {
        assert_good(&write(&path, &long, 0, &[(100, 8)]));
        array.advance(599);
    }
    assert_token(&write(&path, &long, 0, &[(100, 8)]), 0x07);
    assert_eq!(array.volumes[0].captures(), 0);
}

#[test]
fn it_ends_when_it_is_deleted_or_its_source_is() {
    let array = Array::new();
    let path = array.lun0();
    let token = populate(&path, &[(0, 8)]);
    let list = write_using_token_list(DEL_TKN, 0, &token, &ranges(&[(100, 8)]));
    assert_good(&send(&path, 0x11, &list));
    assert_token(&write(&path, &token, 0, &[(100, 8)]), 0x09);
    assert_eq!(array.volumes[0].captures(), 0);
    let token = populate(&path, &[(0, 8)]);
    array.remove(VolumeId(10));
    array.settle_lun(array.a, 1);
    assert_token(&write(&array.on(array.a, 1), &token, 0, &[(100, 8)]), 0x08);
    assert_eq!((array.target.token_count(), array.volumes[0].captures()), (0, 0));
}

#[test]
fn the_zero_token_writes_zeros() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 32));
    assert_good(&write(&path, &zero_token(), 77, &[(4, 8), (20, 4)]));
    let expected = [pattern(1, 4), pattern(0, 8), pattern(1, 8), pattern(0, 4), pattern(1, 8)].concat();
    assert_eq!(path.read(0, 32), expected);
    assert_eq!(array.volumes[0].mapped_blocks(), 20);
    // Bug: the overflow of offset and length into the zero token was not checked.
    assert_good(&write(&path, &zero_token(), u64::MAX - 8, &[(0, 8)]));
    assert_field(&write(&path, &zero_token(), u64::MAX, &[(0, 8)]), false, 8);
    let mut short = zero_token();
    short[7] = 0;
    assert_token(&write(&path, &short, 0, &[(0, 8)]), 0x0a);
}

#[test]
fn lists_are_checked_as_announced() {
    let array = Array::new();
    let path = array.lun0();
    let good = populate_list(0, &[(0, 8), (8, 8)]);
    for length in [1, 15, 16, 31, 47] {
        assert_check(&send(&path, 0x10, &good[..length]), 0x05, 0x1a, 0x00);
    }
    assert_good(&send(&path, 0x10, &[]));
    let with = |changes: &[(usize, u8)]| {
        let mut list = good.clone();
        for (at, value) in changes {
            list[*at] = *value;
        }
        send(&path, 0x10, &list)
    };
    assert_field(&with(&[(1, 0x1d)]), false, 0);
    assert_field(&with(&[(2, 0x04)]), false, 2);
    assert_field(&with(&[(6, 0x02), (7, 0x59)]), false, 4);
    assert_field(&with(&[(2, RTV), (9, 0x01)]), false, 8);
    assert_good(&with(&[(2, RTV), (9, 0x80), (10, 0xff), (11, 0xff)]));
    assert_field(&with(&[(15, 0)]), false, 14);
    assert_field(&with(&[(15, 0x18)]), false, 14);
    // A block in two ranges.
    assert_field(&with(&[(39, 0x07)]), false, 32);
    assert_field(&send(&path, 0x10, &populate_list(0, &[(0, 0)])), false, 16);
    assert_check(&send(&path, 0x10, &populate_list(0, &[(BLOCKS - 1, 2)])), 0x05, 0x21, 0x00);
    let many: Vec<(u64, u32)> = (0..33).map(|index| (index * 8, 8)).collect();
    assert_good(&send(&path, 0x10, &populate_list(0, &many[..32])));
    assert_check(&send(&path, 0x10, &populate_list(0, &many)), 0x05, 0x26, 0x08);
    let giant = cdb16(0x83, 0x10, 0, u32::MAX);
    assert_eq!(array.target.data_out_bytes(array.a, [0; 8], &giant, u32::MAX), 0);

    let token = populate(&path, &[(0, 16)]);
    assert_field(&write(&path, &token, 1, &[(100, 16)]), false, 8);
    assert_field(&write(&path, &token, u64::MAX, &[(100, 16)]), false, 8);
    assert_check(&write(&path, &token, 0, &[(BLOCKS, 1)]), 0x05, 0x21, 0x00);
    assert_field(&write(&path, &token, 0, &[(100, 8), (107, 8)]), false, 536 + 16);
    let list = write_using_token_list(0, 0, &token, &ranges(&[(100, 8)]));
    for length in [1, 535, 536, 551] {
        assert_check(&send(&path, 0x11, &list[..length]), 0x05, 0x1a, 0x00);
    }
    assert_eq!(array.volumes[0].calls(), 0);
    // More than MAXIMUM TOKEN TRANSFER SIZE.
    let tokens = TokenLimits { blocks: 100, ..Limits::default().tokens };
    let array = Array::with(Profile::default(), Limits { tokens, ..Limits::default() });
    assert_field(&send(&array.lun0(), 0x10, &populate_list(0, &[(0, 60), (60, 41)])), false, 16 + 16 + 8);
    populate(&array.lun0(), &[(0, 60), (60, 40)]);
}

#[test]
fn an_initiator_has_so_many_and_all_together_no_more_than_the_pool_has_free() {
    let tokens = TokenLimits { of_initiator: 2, total: 3, ..Limits::default().tokens };
    let array = Array::with(Profile::default(), Limits { tokens, ..Limits::default() });
    let (path, other) = (array.lun0(), array.on(array.b, 0));
    path.write(0, &pattern(1, 8));
    let first = populate(&path, &[(0, 8)]);
    populate(&path, &[(0, 8)]);
    assert_check(&send(&path, 0x10, &populate_list(0, &[(0, 8)])), 0x05, 0x55, 0x0d);
    populate(&other, &[(0, 8)]);
    assert_check(&send(&other, 0x10, &populate_list(0, &[(0, 8)])), 0x05, 0x55, 0x0d);
    assert_eq!(array.volumes[0].captures(), 3);
    // The pool fills up: the oldest tokens are cancelled.
    array.volumes[0].set_full(true);
    array.target.expire_tokens();
    assert_eq!((array.target.token_count(), array.volumes[0].captures()), (3, 3));
    array.set_captures_full(true);
    array.target.expire_tokens();
    assert_eq!((array.target.token_count(), array.volumes[0].captures()), (0, 0));
    assert_token(&write(&path, &first, 0, &[(100, 8)]), 0x08);
    assert_check(&send(&path, 0x10, &populate_list(0, &[(0, 8)])), 0x05, 0x55, 0x0c);
}

#[test]
fn reservations_and_protection_hold() {
    let array = Array::new();
    let (source, destination) = (array.on(array.a, 0), array.on(array.a, 1));
    source.write(0, &pattern(1, 8));
    let token = populate(&source, &[(0, 8)]);
    assert_good(&array.on(array.b, 1).command(&hex!("16 00 0000 00 00")));
    assert_eq!(write(&destination, &token, 0, &[(0, 8)]).status, RESERVATION_CONFLICT);
    assert_good(&array.on(array.b, 1).command(&hex!("17 00 0000 00 00")));
    array.volumes[1].set_read_only(true);
    assert_check(&write(&destination, &token, 0, &[(0, 8)]), 0x07, 0x27, 0x00);
    array.volumes[1].set_read_only(false);
    array.volumes[1].set_full(true);
    assert_check(&write(&destination, &token, 0, &[(0, 8)]), 0x07, 0x27, 0x07);
    let status = destination.command(&with_id4(0x84, 7, 1)).data_in;
    assert_eq!((status[4], status[5], status[12], status[32 + 2]), (0x11, 0x02, CHECK_CONDITION, 0x07));
    array.volumes[1].set_full(false);
    assert_good(&write(&destination, &token, 0, &[(0, 8)]));
    assert_good(&array.on(array.b, 0).command(&hex!("16 00 0000 00 00")));
    assert_eq!(send(&source, 0x10, &populate_list(0, &[(0, 8)])).status, RESERVATION_CONFLICT);
}

#[test]
fn immediate_ones_go_on_after_their_command_and_can_be_aborted() {
    let array = Array::new();
    let path = array.lun0();
    path.write(0, &pattern(1, 8));
    let context = &mut Context::from_waker(Waker::noop());
    let mut background = pin!(array.target.run_background());
    let list = populate_token_list(IMMED, 0, RodType(0), &ranges(&[(0, 8)]));
    assert_good(&send(&path, 0x10, &list));
    let status = information(&path);
    assert_eq!((status[5], &status[32..]), (0x12, &[0; 4][..]));
    assert_check(&send(&path, 0x10, &list), 0x05, 0x00, 0x16);
    assert!(background.as_mut().poll(context).is_pending());
    let token = token_of(&information(&path));
    assert_good(&send(&path, 0x11, &write_using_token_list(IMMED, 0, &token, &ranges(&[(100, 8)]))));
    assert!(background.as_mut().poll(context).is_pending());
    assert_eq!(information(&path)[5], 0x01);
    assert_eq!(path.read(100, 8), pattern(1, 8));
    // An aborted POPULATE TOKEN leaves no token.
    array.volumes[0].hold(true);
    assert_good(&send(&path, 0x10, &list));
    assert!(background.as_mut().poll(context).is_pending());
    let mut abort = Box::pin(path.request(&with_id4(0x83, 0x1c, 1), Bytes::new(), 0, 0));
    assert!(abort.as_mut().poll(context).is_pending());
    array.volumes[0].hold(false);
    assert!(background.as_mut().poll(context).is_pending());
    assert_good(&run(abort));
    let status = information(&path);
    assert_eq!((status[5], &status[status.len() - 4..]), (0x60, &[0; 4][..]));
    assert_eq!((array.target.token_count(), array.volumes[0].captures()), (1, 1));
}

#[test]
fn a_token_in_use_lasts_until_it_is_written() {
    let array = Array::new();
    let (source, destination) = (array.on(array.a, 0), array.on(array.a, 1));
    source.write(0, &pattern(1, 8));
    let token = populate(&source, &[(0, 8)]);
    let context = &mut Context::from_waker(Waker::noop());
    array.volumes[1].hold(true);
    let list = Bytes::from(write_using_token_list(0, 0, &token, &ranges(&[(0, 8)])));
    let length = u32::try_from(list.len()).unwrap();
    let cdb = token_cdb(0x11, 1, list.len());
    let mut writing = Box::pin(destination.request(&cdb, list, 0, length));
    assert!(writing.as_mut().poll(context).is_pending());
    array.advance(100_000);
    array.target.expire_tokens();
    assert_eq!((array.target.token_count(), array.volumes[0].captures()), (0, 1));
    array.volumes[1].hold(false);
    assert_good(&run(writing));
    assert_eq!(array.volumes[0].captures(), 0);
    assert_eq!(destination.read(0, 8), pattern(1, 8));
    assert_token(&write(&destination, &token, 0, &[(0, 8)]), 0x07);
}
