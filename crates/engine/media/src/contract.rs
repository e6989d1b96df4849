//! Contract tests of [`Media`], run over every back end.
//!
//! A back end's test creates a [`Fixture`] and calls [`holds`]. Torn and lost writes at a crash are
//! the simulator's subject (`crates/testing/sim`).

use crate::{
    BLOCK_BYTES, BlockAddress, Buffer, Done, Fence, LogStore, MAX_ROOT_BYTES, Media, MediaError, RootStore,
    SegmentStore, Ticket,
};
use std::collections::BTreeSet;

/// Back end under test.
pub trait Fixture {
    /// Type of the back end.
    type Media: Media;
    /// Creates a pool with this root as version 1, a log of at least 64 KiB and at least 1 024 blocks
    /// of data.
    fn create(&mut self, root: &[u8]) -> Self::Media;
    /// Opens the pool again after a power cut, or as close to one as a test of this back end gets.
    /// Content that is not durable may be lost.
    fn reopen(&mut self, media: Self::Media) -> Self::Media;
}

const FENCE: Fence = Fence { epoch: 5 };
const BLOCK: u64 = BLOCK_BYTES as u64;

/// Checks the whole contract. Panics at the first violation.
pub fn holds(mut fixture: impl Fixture) {
    areas_are_aligned_and_large_enough(&mut fixture);
    content_is_what_was_written(&mut fixture);
    requests_outside_their_area_fail(&mut fixture);
    every_ticket_comes_back_once(&mut fixture);
    a_root_is_replaced_only_at_the_expected_version(&mut fixture);
    completed_appends_roots_and_flushed_writes_are_durable(&mut fixture);
    an_older_fence_is_refused(&mut fixture);
}

/// Waits for the only outstanding request.
fn finish(media: &mut impl Media) -> Result<Done, MediaError> {
    media.wait();
    match media.poll() {
        Some(completion) => {
            assert_eq!(completion.ticket, 1, "a completion of another request");
            completion.result
        }
        None => panic!("wait returns before the outstanding request has completed"),
    }
}

fn buffer(mark: u8, blocks: usize) -> Buffer {
    let mut buffer = Buffer::zeroed(blocks);
    for (number, block) in (0..).zip(buffer.chunks_mut(BLOCK_BYTES)) {
        block.fill(mark.wrapping_add(number));
    }
    buffer
}

fn written(result: Result<Done, MediaError>) {
    assert!(matches!(result, Ok(Done::Written(_))), "{result:?}");
}

/// Writes blocks from block `block` of the data area on.
fn write(media: &mut impl Media, block: u64, mark: u8, blocks: usize) {
    let address = address(media, block);
    media.write(&FENCE, 1, address, buffer(mark, blocks));
    written(finish(media));
}

fn assert_read(media: &mut impl Media, block: u64, mark: u8, blocks: usize) {
    let address = address(media, block);
    media.read(1, address, Buffer::zeroed(blocks));
    match finish(media) {
        Ok(Done::Read(found)) => assert_eq!(found[..], buffer(mark, blocks)[..]),
        other => panic!("{other:?}"),
    }
}

fn assert_log(media: &mut impl Media, offset_bytes: u64, mark: u8, blocks: usize) {
    media.read_log(1, offset_bytes, Buffer::zeroed(blocks));
    match finish(media) {
        Ok(Done::Read(found)) => assert_eq!(found[..], buffer(mark, blocks)[..]),
        other => panic!("{other:?}"),
    }
}

fn root(media: &mut impl Media) -> (Vec<u8>, u64) {
    media.load_root(1);
    match finish(media) {
        Ok(Done::Root(root, version)) => (root, version),
        other => panic!("{other:?}"),
    }
}

fn swap(media: &mut impl Media, version: u64, root: &[u8]) -> Result<Done, MediaError> {
    media.swap_root(&FENCE, 1, version, root);
    finish(media)
}

/// Address of a block of the data area.
fn address(media: &impl SegmentStore, block: u64) -> BlockAddress {
    media.data_start() + block
}

fn areas_are_aligned_and_large_enough(fixture: &mut impl Fixture) {
    let media = fixture.create(b"root");
    let (start, end) = (media.data_start(), media.data_end());
    assert!(!start.is_none() && start.get().is_multiple_of(2048), "the data area begins at block {start}");
    assert!(end >= start + 1024 && end.get() <= media.block_count(), "the data area ends at block {end}");
    assert!(media.log_bytes() >= 64 << 10 && media.log_bytes().is_multiple_of(BLOCK));
    let capabilities = media.capabilities();
    assert!(capabilities.max_request_bytes >= BLOCK_BYTES, "{capabilities:?}");
}

fn content_is_what_was_written(fixture: &mut impl Fixture) {
    let mut media = fixture.create(b"root");
    write(&mut media, 0, 10, 3);
    write(&mut media, 3, 20, 2);
    assert_read(&mut media, 0, 10, 3);
    assert_read(&mut media, 1, 11, 2);
    write(&mut media, 1, 30, 1);
    assert_read(&mut media, 0, 10, 1);
    assert_read(&mut media, 1, 30, 1);
    assert_read(&mut media, 2, 12, 1);
    // A discard concerns its own blocks alone.
    media.discard(&FENCE, 1, address(&media, 3), 1);
    written(finish(&mut media));
    assert_read(&mut media, 2, 12, 1);
    assert_read(&mut media, 4, 21, 1);
    write(&mut media, 3, 40, 1);
    assert_read(&mut media, 3, 40, 1);
}

fn requests_outside_their_area_fail(fixture: &mut impl Fixture) {
    let mut media = fixture.create(b"root");
    let log_bytes = media.log_bytes();
    media.append(&FENCE, 1, 0, buffer(1, 1));
    written(finish(&mut media));
    for at in [
        BlockAddress::new(media.data_start().get() - 1),
        media.data_end(),
        BlockAddress::new(0),
        BlockAddress::new(u64::MAX),
    ] {
        media.write(&FENCE, 1, at, buffer(9, 1));
        assert!(finish(&mut media).is_err(), "a write at {at:?}");
        media.read(1, at, Buffer::zeroed(1));
        assert!(finish(&mut media).is_err(), "a read at {at:?}");
        media.discard(&FENCE, 1, at, 1);
        assert!(finish(&mut media).is_err(), "a discard at {at:?}");
    }
    media.write(&FENCE, 1, BlockAddress::new(media.data_end().get() - 1), buffer(9, 2));
    assert!(finish(&mut media).is_err(), "a write across the end");
    for offset_bytes in [log_bytes, log_bytes - BLOCK, 1, u64::MAX - BLOCK + 1] {
        media.append(&FENCE, 1, offset_bytes, buffer(9, 2));
        assert!(finish(&mut media).is_err(), "an append at {offset_bytes}");
    }
    assert_log(&mut media, 0, 1, 1);
    assert_eq!(root(&mut media), (b"root".to_vec(), 1));
}

fn every_ticket_comes_back_once(fixture: &mut impl Fixture) {
    let mut media = fixture.create(b"root");
    let mut expected: BTreeSet<Ticket> = BTreeSet::new();
    for number in 0..40 {
        let ticket = Ticket::MAX - number; // any number is a ticket
        expected.insert(ticket);
        let at = address(&media, number);
        match number % 6 {
            0 => media.write(&FENCE, ticket, at, buffer(1, 2)),
            1 => media.read(ticket, address(&media, 500 + number), Buffer::zeroed(1)),
            2 => media.append(&FENCE, ticket, number % 16 * BLOCK, buffer(2, 1)),
            3 => media.flush(&FENCE, ticket),
            4 => media.discard(&FENCE, ticket, address(&media, 700), 10),
            _ => media.load_root(ticket),
        }
    }
    media.submit();
    while !expected.is_empty() {
        media.wait();
        let mut any = false;
        while let Some(completion) = media.poll() {
            any = true;
            assert!(completion.result.is_ok(), "{completion:?}");
            assert!(expected.remove(&completion.ticket), "{} completes twice", completion.ticket);
        }
        assert!(any, "{} requests never complete", expected.len());
    }
    media.wait();
    assert!(media.poll().is_none());
}

fn a_root_is_replaced_only_at_the_expected_version(fixture: &mut impl Fixture) {
    let mut media = fixture.create(b"root 1");
    assert_eq!(root(&mut media), (b"root 1".to_vec(), 1));
    written(swap(&mut media, 1, b"root 2"));
    assert_eq!(root(&mut media), (b"root 2".to_vec(), 2));
    let refused = swap(&mut media, 1, b"other");
    assert!(matches!(refused, Err(MediaError::RootConflict { expected: 1, found: 2 })), "{refused:?}");
    assert!(swap(&mut media, 2, &[7; MAX_ROOT_BYTES + 1]).is_err());
    assert_eq!(root(&mut media), (b"root 2".to_vec(), 2));
    written(swap(&mut media, 2, &[7; MAX_ROOT_BYTES]));
    assert_eq!(root(&mut media), (vec![7; MAX_ROOT_BYTES], 3));
}

fn completed_appends_roots_and_flushed_writes_are_durable(fixture: &mut impl Fixture) {
    let mut media = fixture.create(b"root 1");
    let last = media.log_bytes() - 2 * BLOCK;
    write(&mut media, 7, 50, 4);
    media.flush(&FENCE, 1);
    written(finish(&mut media));
    for (offset_bytes, mark) in [(0, 60), (last, 70)] {
        media.append(&FENCE, 1, offset_bytes, buffer(mark, 2));
        written(finish(&mut media));
    }
    written(swap(&mut media, 1, b"root 2"));
    let mut media = fixture.reopen(media);
    media.seal(&FENCE, 1);
    written(finish(&mut media));
    assert_eq!(root(&mut media), (b"root 2".to_vec(), 2));
    assert_read(&mut media, 7, 50, 4);
    assert_log(&mut media, 0, 60, 2);
    assert_log(&mut media, last, 70, 2);
}

fn an_older_fence_is_refused<F: Fixture>(fixture: &mut F) {
    let mut media = fixture.create(b"root");
    let at = address(&media, 0);
    write(&mut media, 0, 1, 1);
    media.append(&FENCE, 1, 0, buffer(2, 1));
    written(finish(&mut media));
    media.seal(&Fence { epoch: FENCE.epoch + 1 }, 1);
    written(finish(&mut media));
    let calls: [fn(&mut F::Media, BlockAddress); 6] = [
        |media, at| media.write(&FENCE, 1, at, buffer(9, 1)),
        |media, _| media.flush(&FENCE, 1),
        |media, at| media.discard(&FENCE, 1, at, 1),
        |media, _| media.append(&FENCE, 1, 0, buffer(9, 1)),
        |media, _| media.seal(&FENCE, 1),
        |media, _| media.swap_root(&FENCE, 1, 1, b"other"),
    ];
    for call in calls {
        call(&mut media, at);
        assert!(matches!(finish(&mut media), Err(MediaError::Fenced)));
    }
    assert_read(&mut media, 0, 1, 1);
    assert_log(&mut media, 0, 2, 1);
    assert_eq!(root(&mut media), (b"root".to_vec(), 1));
}
