#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::{BLOCK_BYTES, Block, Done, FormatOptions, LocalMedia, Media, RootStore};

/// Path that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(PathBuf::from(folder).join(format!("windlass-media-{}-{number}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn folders() -> Vec<String> {
    let mut folders = vec![std::env::temp_dir().display().to_string()];
    if std::path::Path::new("/dev/shm").is_dir() {
        folders.push("/dev/shm".to_owned());
    }
    folders
}

/// Opens the disk; `None`, with the reason printed, if the kernel refuses the engine.
fn open(scratch: &Scratch, engine: EngineChoice, direct: bool, blocks: u64) -> Option<FileDisk> {
    let options = OpenOptions { create_bytes: Some(blocks * 4096), direct, read_only: false, engine };
    match FileDisk::open(&scratch.0, &options) {
        Ok(disk) => Some(disk),
        Err(error) if engine == EngineChoice::Uring => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn each_disk(blocks: u64, mut check: impl FnMut(FileDisk)) {
    for folder in folders() {
        for engine in [EngineChoice::Auto, EngineChoice::Uring, EngineChoice::Threads, EngineChoice::Inline] {
            for direct in [true, false] {
                let scratch = Scratch::new(&folder);
                if let Some(disk) = open(&scratch, engine, direct, blocks) {
                    check(disk);
                }
            }
        }
    }
}

fn filled(blocks: usize, mark: u64) -> Buffer {
    let fill = |at: usize| {
        let mut block = Block::default();
        for (word, chunk) in block.0.chunks_exact_mut(8).enumerate() {
            chunk.copy_from_slice(&(mark * 1_000_003 + at as u64 * 4099 + word as u64).to_le_bytes());
        }
        block
    };
    Buffer::from_blocks((0..blocks).map(fill).collect())
}

fn wait_for(disk: &mut FileDisk) -> Completion {
    loop {
        if let Some(completion) = disk.poll() {
            return completion;
        }
        assert!(disk.outstanding() > 0);
        disk.wait();
    }
}

/// Random requests on ranges that do not overlap in flight, compared with a map in memory.
#[test]
fn every_engine_agrees_with_a_model() {
    const BLOCKS: u64 = 2048;
    enum Expected {
        Written(u64, Buffer),
        Read(u64),
        Nothing,
    }
    each_disk(BLOCKS, |mut disk| {
        let shown = format!("{disk:?}");
        let random = random::Random::new(7);
        // Absent: zeros. `None`: discarded, any content is valid. No values of `Block`, which would pass
        // through the stack: rustc 1.95 has lost the prologue of a function with such a frame.
        let mut model: HashMap<u64, Option<Vec<u8>>> = HashMap::new();
        for round in 0..12u64 {
            let mut expected = HashMap::new();
            let mut next = 0;
            while next < BLOCKS {
                let longest = if random.below(8) == 0 { 400 } else { 6 };
                let length = (1 + random.below(longest)).min(BLOCKS - next);
                let ticket = (1 << 63) - 1 - next;
                match random.below(10) {
                    0..4 => {
                        let data = filled(length as usize, round * 10_000 + next);
                        disk.write(ticket, next, data.clone(), random.below(4) == 0);
                        expected.insert(ticket, Expected::Written(next, data));
                    }
                    4..7 => {
                        disk.read(ticket, next, filled(length as usize, 1));
                        expected.insert(ticket, Expected::Read(next));
                    }
                    7 => {
                        disk.discard(ticket, next, length);
                        model.extend((next..next + length).map(|block| (block, None)));
                        expected.insert(ticket, Expected::Nothing);
                    }
                    8 => {
                        disk.flush(ticket);
                        expected.insert(ticket, Expected::Nothing);
                    }
                    _ if random.below(3) == 0 => disk.submit(),
                    _ => {}
                }
                next += length;
            }
            while !expected.is_empty() {
                assert_eq!(disk.outstanding(), expected.len(), "{shown}");
                let completion = wait_for(&mut disk);
                match (expected.remove(&completion.ticket).unwrap(), completion.result.unwrap()) {
                    (Expected::Written(at, data), Done::Written(Some(buffer))) => {
                        assert!(buffer[..] == data[..], "{shown}");
                        model.extend((at..).zip(data.as_blocks()).map(|(at, block)| (at, Some(block.0.to_vec()))));
                    }
                    (Expected::Read(at), Done::Read(buffer)) => {
                        for (at, block) in (at..).zip(buffer.as_blocks()) {
                            match model.get(&at) {
                                Some(None) => {}
                                Some(Some(content)) => assert!(content[..] == block.0[..], "{shown}: block {at}"),
                                None => assert!(block.0 == [0; BLOCK_BYTES], "{shown}: block {at}"),
                            }
                        }
                    }
                    (Expected::Nothing, Done::Written(None)) => {}
                    _ => panic!("{shown}: wrong kind of completion"),
                }
            }
            assert!(disk.poll().is_none());
            disk.wait(); // with nothing outstanding it returns
        }
    });
}

#[test]
fn more_requests_than_the_ring_holds_all_complete() {
    each_disk(4096, |mut disk| {
        for block in 0..3000 {
            disk.write(block, block, filled(1, block), block % 64 == 0);
        }
        disk.submit();
        let mut seen = vec![false; 3000];
        for _ in 0..3000 {
            let completion = wait_for(&mut disk);
            assert!(completion.result.is_ok());
            assert!(!std::mem::replace(&mut seen[completion.ticket as usize], true));
        }
        disk.read(1, 0, Buffer::zeroed(3000));
        let Ok(Done::Read(buffer)) = wait_for(&mut disk).result else { panic!("not read") };
        for (block, content) in (0..).zip(buffer.as_blocks()) {
            assert!(content.0[..] == filled(1, block)[..]);
        }
    });
}

#[test]
fn the_wake_descriptor_becomes_readable() {
    each_disk(64, |mut disk| {
        let Some(wake) = disk.wake_descriptor() else {
            return assert_eq!(disk.engine(), "inline");
        };
        let wake = wake.try_clone_to_owned().unwrap();
        for round in 0..20 {
            disk.clear_wake();
            disk.write(round, 3, filled(1, round), true);
            disk.submit();
            let completion = loop {
                let mut wait_on = [PollFd::new(&wake, PollFlags::IN)];
                let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
                match rustix::event::poll(&mut wait_on, Some(&limit)) {
                    Err(rustix::io::Errno::INTR) => {}
                    outcome => assert_eq!(outcome, Ok(1), "{disk:?}"),
                }
                // The descriptor may be readable without a completion, for example after the fill
                // of a hole.
                disk.clear_wake();
                if let Some(completion) = disk.poll() {
                    break completion;
                }
            };
            assert_eq!(completion.ticket, round);
        }
    });
}

#[test]
fn a_dropped_disk_waits_and_gives_up_its_lock() {
    for engine in [EngineChoice::Uring, EngineChoice::Threads] {
        let scratch = Scratch::new(&folders()[0]);
        for round in 0..10 {
            let Some(mut disk) = open(&scratch, engine, true, 4096) else { break };
            assert_eq!(disk.created(), round == 0);
            for block in 0..400 {
                match block % 3 {
                    0 => disk.read(block, block, Buffer::zeroed(8)),
                    _ => disk.write(block, block, filled(8, block), block % 7 == 0),
                }
            }
            disk.submit();
            disk.write(1, 1, filled(1, 1), true); // never submitted
            let _ = disk.poll();
        }
    }
}

#[test]
fn a_second_opener_is_refused() {
    let scratch = Scratch::new(&folders()[0]);
    let disk = open(&scratch, EngineChoice::Auto, true, 64).unwrap();
    let error = FileDisk::open(&scratch.0, &OpenOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    assert!(error.to_string().contains("in use by another process"));
    drop(disk);
    FileDisk::open(&scratch.0, &OpenOptions::default()).unwrap();
}

#[test]
fn what_is_no_disk_is_refused() {
    let scratch = Scratch::new(&folders()[0]);
    let open = |path: &str| FileDisk::open(path, &OpenOptions::default()).unwrap_err();
    assert!(matches!(open(scratch.0.to_str().unwrap()), OpenError::NotFound { .. }));
    assert!(matches!(open("/dev/null"), OpenError::NotADisk { .. }));
    assert!(matches!(open("/"), OpenError::NotADisk { .. }));
    let options = OpenOptions { create_bytes: Some(4096), read_only: true, ..OpenOptions::default() };
    assert!(matches!(FileDisk::open(&scratch.0, &options), Err(OpenError::NotFound { .. })));
    assert!(!scratch.0.exists());
}

#[test]
fn requests_outside_the_disk_or_against_its_mode_fail() {
    let scratch = Scratch::new(&folders()[0]);
    let mut disk = open(&scratch, EngineChoice::Auto, true, 64).unwrap();
    disk.write(1, 63, filled(2, 0), false);
    disk.read(2, u64::MAX, Buffer::zeroed(2));
    disk.read(3, 0, Buffer::zeroed(0));
    disk.discard(4, 60, u64::MAX);
    for ticket in 1..=4 {
        let completion = wait_for(&mut disk);
        assert_eq!(completion.ticket, ticket);
        assert!(matches!(completion.result, Err(MediaError::Io { .. })));
    }
    drop(disk);
    let mut disk = FileDisk::open(&scratch.0, &OpenOptions { read_only: true, ..OpenOptions::default() }).unwrap();
    disk.write(1, 0, filled(1, 0), true);
    disk.discard(2, 0, 1);
    disk.flush(3);
    for _ in 0..3 {
        let error = wait_for(&mut disk).result.unwrap_err();
        assert!(error.to_string().contains("for reading only"), "{error}");
    }
    disk.read(4, 0, Buffer::zeroed(64));
    assert!(wait_for(&mut disk).result.is_ok());
}

#[test]
fn a_file_cut_short_while_open_fails_its_reads() {
    for engine in [EngineChoice::Uring, EngineChoice::Threads, EngineChoice::Inline] {
        let scratch = Scratch::new(&folders()[0]);
        let Some(mut disk) = open(&scratch, engine, true, 64) else { continue };
        std::fs::OpenOptions::new().write(true).open(&scratch.0).unwrap().set_len(10 * 4096).unwrap();
        disk.read(1, 0, Buffer::zeroed(64));
        assert!(matches!(wait_for(&mut disk).result, Err(MediaError::Io { operation: "read", blocks: 64, .. })));
    }
}

#[test]
fn the_first_small_write_to_a_hole_fills_its_chunk() {
    let allocated = |scratch: &Scratch| std::fs::metadata(&scratch.0).unwrap().blocks() * 512;
    let chunk_bytes = crate::holes::CHUNK_BLOCKS * 4096;
    for engine in [EngineChoice::Uring, EngineChoice::Threads, EngineChoice::Inline] {
        let scratch = Scratch::new(&folders()[0]);
        let Some(mut disk) = open(&scratch, engine, true, 5000) else { continue };
        if disk.memory() {
            return println!("skipped: {} is in memory", scratch.0.display());
        }
        // Two writes to one chunk and one across two others, concurrently: the zeros overwrite none
        // of them.
        let writes = [(100, 1), (101, 3), (2040, 20), (4990, 10)];
        for (ticket, &(block, blocks)) in writes.iter().enumerate() {
            disk.write(ticket as u64, block, filled(blocks, ticket as u64 + 1), ticket % 2 == 0);
        }
        for _ in writes {
            wait_for(&mut disk).result.unwrap();
        }
        assert_eq!(disk.outstanding(), 0);
        let filled_bytes = allocated(&scratch);
        assert!(filled_bytes >= 3 * chunk_bytes, "{filled_bytes}");
        // A large write starts at once, without a fill.
        disk.write(9, 3200, filled(200, 9), false);
        wait_for(&mut disk).result.unwrap();
        assert!(allocated(&scratch) < filled_bytes + chunk_bytes);
        for (ticket, &(block, blocks)) in writes.iter().enumerate() {
            disk.read(1, block - 1, Buffer::zeroed(blocks + 1));
            let Ok(Done::Read(buffer)) = wait_for(&mut disk).result else { panic!("not read") };
            let before = if ticket == 1 { filled(1, 1) } else { Buffer::zeroed(1) };
            assert!(buffer[..4096] == before[..]);
            assert!(buffer[4096..] == filled(blocks, ticket as u64 + 1)[..], "{engine:?} block {block}");
        }
    }
}

/// Large writes are durable on their own only where the file has no holes.
#[test]
fn blocks_have_room_once_their_chunks_are_written_and_until_they_are_discarded() {
    let chunk_blocks = crate::holes::CHUNK_BLOCKS;
    for folder in folders() {
        let scratch = Scratch::new(&folder);
        let Some(mut disk) = open(&scratch, EngineChoice::Auto, true, 4 * chunk_blocks) else { continue };
        if disk.memory() {
            assert!(!disk.has_room(0, 1), "memory");
            continue;
        }
        assert!(!disk.has_room(0, 1));
        // The two halves of a chunk, and then the next one.
        let half = usize::try_from(chunk_blocks / 2).unwrap();
        disk.write(1, 0, filled(half, 7), true);
        wait_for(&mut disk);
        assert!(!disk.has_room(0, 1), "half of the chunk is a hole");
        for (ticket, at) in [(2, 1), (3, 2), (4, 3)] {
            disk.write(ticket, at * chunk_blocks / 2, filled(half, 7), true);
            wait_for(&mut disk);
        }
        assert!(disk.has_room(0, 2 * chunk_blocks));
        assert!(!disk.has_room(2 * chunk_blocks - 1, 2));
        disk.discard(5, 3, 1);
        wait_for(&mut disk);
        let punched = disk.backing.is_hole(3, 1);
        assert_eq!(disk.has_room(5, 1), !punched, "the chunk has a hole");
        assert!(disk.has_room(chunk_blocks, 1));
    }
}

#[test]
fn a_chunk_that_was_discarded_is_filled_again() {
    let allocated = |scratch: &Scratch| std::fs::metadata(&scratch.0).unwrap().blocks() * 512;
    let chunk_blocks = crate::holes::CHUNK_BLOCKS;
    for engine in [EngineChoice::Uring, EngineChoice::Threads, EngineChoice::Inline] {
        let scratch = Scratch::new(&folders()[0]);
        let Some(mut disk) = open(&scratch, engine, true, 5000) else { continue };
        if disk.memory() {
            return println!("skipped: {} is in memory", scratch.0.display());
        }
        disk.write(1, 10, filled(1, 1), false);
        wait_for(&mut disk).result.unwrap();
        disk.write(2, chunk_blocks + 10, filled(1, 2), false);
        wait_for(&mut disk).result.unwrap();
        let before = allocated(&scratch);
        // Half of one chunk and all of another.
        disk.discard(3, chunk_blocks / 2, chunk_blocks / 2 + chunk_blocks);
        wait_for(&mut disk).result.unwrap();
        let freed = before.saturating_sub(allocated(&scratch));
        if freed == 0 {
            return println!("skipped: {} punches no holes", scratch.0.display());
        }
        disk.write(4, chunk_blocks + 700, filled(1, 3), false);
        wait_for(&mut disk).result.unwrap();
        assert!(allocated(&scratch) >= before - chunk_blocks * 2048, "{engine:?}");
        disk.read(5, chunk_blocks + 699, Buffer::zeroed(2));
        let Ok(Done::Read(buffer)) = wait_for(&mut disk).result else { panic!("not read") };
        assert!(buffer[..4096].iter().all(|byte| *byte == 0) && buffer[4096..] == filled(1, 3)[..]);
        disk.read(6, 10, Buffer::zeroed(1));
        let Ok(Done::Read(buffer)) = wait_for(&mut disk).result else { panic!("not read") };
        assert!(buffer[..] == filled(1, 1)[..]);
    }
}

#[test]
fn a_pool_is_made_and_found_again_by_every_engine() {
    each_disk(4096, |disk| {
        let options = FormatOptions { uuid: [7; 16], log_bytes: 1 << 20, root: b"first".to_vec(), overwrite: false };
        let mut media = LocalMedia::format(disk, options).unwrap();
        let fence = crate::Fence { epoch: 1 };
        media.swap_root(&fence, 9, 1, b"second");
        media.submit();
        media.wait();
        assert_eq!(media.poll().unwrap().ticket, 9);
        let media = LocalMedia::open(media.into_disk()).unwrap();
        assert_eq!(media.uuid(), [7; 16]);
        assert!(media.damaged_copies().is_empty());
    });
}

#[test]
fn a_file_that_is_cut_off_while_in_use_is_an_error_of_the_next_flush() {
    for folder in folders() {
        let scratch = Scratch::new(&folder);
        let disk = open(&scratch, EngineChoice::Auto, true, 4096).unwrap();
        let format = FormatOptions { uuid: [3; 16], log_bytes: 64 << 10, root: vec![1], overwrite: false };
        let mut media = LocalMedia::format(disk, format).unwrap();
        std::fs::OpenOptions::new().write(true).open(&scratch.0).unwrap().set_len(1000 * 4096).unwrap();
        media.swap_root(&crate::Fence { epoch: 1 }, 1, 1, &[2]);
        let completion = loop {
            match media.poll() {
                Some(completion) => break completion,
                None => media.wait(),
            }
        };
        let error = completion.result.unwrap_err().to_string();
        assert!(error.contains("was truncated while in use"), "{error}");
        // The file was not extended again: the next start reports the truncation.
        drop(media);
        assert_eq!(std::fs::metadata(&scratch.0).unwrap().len(), 1000 * 4096);
    }
}
