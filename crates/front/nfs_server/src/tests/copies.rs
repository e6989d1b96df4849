//! CLONE, COPY, WRITE_SAME.

use super::kit::{Kit, OBJECT, any, end, read};
use crate::access::{Hosts, Rule, Rules};
use nfs::v4::attributes::Attribute;
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::names::CreateType;
use nfs::v4::offload::{
    CloneArguments, CopyArguments, CopyOk, CopyRequirements, DataBlocks, ServerLocation, WriteResponse,
    WriteSameArguments,
};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Stable, Stateid, Status};
use random::Random;
use vfs::memory::MemoryEngine;
use vfs::{FileSystem, SetAttributes};

const ANONYMOUS: Stateid = Stateid::ANONYMOUS;

/// Shares `s` and `t` of one pool, with the file `s/f` of 41 060 bytes and its content.
fn with_file() -> (Kit, Vec<u8>) {
    let kit = Kit::new();
    let random = Random::new(2);
    let content: Vec<u8> = (0..41_060).map(|_| random.byte().max(1)).collect();
    kit.file("f", &content);
    kit.file("g", b"");
    let other = kit.engine.create(kit.now());
    kit.file_in(&other, "h", b"");
    kit.publish("t", OBJECT + 1, &other, any());
    (kit, content)
}

fn clone(kit: &Kit, from: (&str, u64), to: (&str, u64), count_bytes: u64) -> Result<(), Status> {
    let arguments = CloneArguments {
        source_stateid: ANONYMOUS,
        destination_stateid: ANONYMOUS,
        source_offset_bytes: from.1,
        destination_offset_bytes: to.1,
        count_bytes,
    };
    kit.between(from.0, to.0, Operation::Clone(arguments)).status()
}

fn copy_with(kit: &Kit, from: (&str, u64), to: (&str, u64), count_bytes: u64, servers: Vec<ServerLocation>) -> Outcome {
    let arguments = CopyArguments {
        source_stateid: ANONYMOUS,
        destination_stateid: ANONYMOUS,
        source_offset_bytes: from.1,
        destination_offset_bytes: to.1,
        count_bytes,
        consecutive: true,
        synchronous: true,
        source_servers: servers.into(),
    };
    kit.between(from.0, to.0, Operation::Copy(Box::new(arguments)))
}

fn copy(kit: &Kit, from: (&str, u64), to: (&str, u64), count_bytes: u64) -> Result<u64, Status> {
    match copy_with(kit, from, to, count_bytes, Vec::new()) {
        Outcome::Copy(Ok(CopyOk { response, requirements })) => {
            assert_eq!(requirements, CopyRequirements { consecutive: true, synchronous: true });
            assert_eq!((response.callback, response.committed), (None, Stable::FileSync));
            Ok(response.count_bytes)
        }
        failed => Err(failed.status().err().unwrap_or(Status::SERVERFAULT)),
    }
}

fn change(kit: &Kit, path: &str) -> Attribute {
    kit.attribute(path, 3)
}

#[test]
fn a_clone_is_the_file_and_shares_its_space() {
    let (kit, content) = with_file();
    let (before, free) = (change(&kit, "s/f"), kit.attribute("s", 43));
    assert_eq!(clone(&kit, ("s/f", 0), ("s/g", 0), 0), Ok(()));
    assert_eq!(kit.read("s/g", 0, 1 << 20), (content.clone(), true));
    assert_eq!((change(&kit, "s/f"), kit.attribute("s", 43)), (before, free));
    kit.write("s/g", 0, b"other");
    assert_eq!(kit.read("s/f", 0, 1 << 20).0, content);
    assert_eq!(kit.attribute("s/g", 78), Attribute::SpaceFreed(4096));
}

#[test]
fn a_clone_is_aligned_or_ends_with_its_source() {
    let (kit, content) = with_file();
    let before = kit.attributes("s/g", &[3, 4]);
    assert_eq!(clone(&kit, ("s/f", 1), ("s/g", 0), 4096), Err(Status::INVAL));
    assert_eq!(clone(&kit, ("s/f", 0), ("s/g", 512), 4096), Err(Status::INVAL));
    assert_eq!(clone(&kit, ("s/f", 0), ("s/g", 0), 100), Err(Status::INVAL));
    assert_eq!(clone(&kit, ("s/f", 45_056), ("s/g", 0), 0), Err(Status::INVAL));
    assert_eq!(clone(&kit, ("s/f", 40_960), ("s/g", 0), 101), Err(Status::INVAL));
    assert_eq!(clone(&kit, ("s/f", 0), ("s/g", 1 << 44), 4096), Err(Status::FBIG));
    assert_eq!(kit.attributes("s/g", &[3, 4]), before);
    assert_eq!(clone(&kit, ("s/f", 40_960), ("s/g", 4096), 100), Ok(()));
    let mut expected = vec![0; 4096];
    expected.extend_from_slice(&content[40_960..]);
    assert_eq!(kit.read("s/g", 0, 1 << 20).0, expected);
}

#[test]
fn ranges_of_one_file_must_not_overlap() {
    let (kit, content) = with_file();
    assert_eq!(clone(&kit, ("s/f", 0), ("s/f", 4096), 8192), Err(Status::INVAL));
    assert_eq!(clone(&kit, ("s/f", 0), ("s/f", 8192), 8192), Ok(()));
    assert_eq!(kit.read("s/f", 8192, 8192).0, content[..8192]);
}

#[test]
fn a_clone_stays_in_its_share() {
    let (kit, _) = with_file();
    assert_eq!(clone(&kit, ("s/f", 0), ("t/h", 0), 0), Err(Status::XDEV));
    assert_eq!(clone(&kit, ("s", 0), ("s/g", 0), 0), Err(Status::ISDIR));
    assert_eq!(clone(&kit, ("s/f", 0), ("s", 0), 0), Err(Status::ISDIR));
    assert_eq!(clone(&kit, ("", 0), ("s/g", 0), 0), Err(Status::ISDIR));
    assert_eq!(kit.create("s", "l", CreateType::Link("f".into())).status(), Ok(()));
    assert_eq!(clone(&kit, ("s/l", 0), ("s/g", 0), 0), Err(Status::SYMLINK));
}

#[test]
fn a_clone_needs_permission_for_both_files() {
    let (kit, _) = with_file();
    kit.user.set(1000);
    assert_eq!(clone(&kit, ("s/f", 0), ("s/g", 0), 0), Err(Status::ACCESS));
    assert_eq!(copy(&kit, ("s/f", 0), ("s/g", 0), 0), Err(Status::ACCESS));
}

#[test]
fn a_clone_that_would_break_a_promise_is_refused() {
    let (kit, _) = with_file();
    let range = nfs::v4::offload::RangeArguments { stateid: ANONYMOUS, offset_bytes: 0, length_bytes: 41_060 };
    assert_eq!(kit.status_at("s/f", Operation::Allocate(range)), Ok(()));
    kit.engine.leave(0);
    assert_eq!(clone(&kit, ("s/f", 0), ("s/g", 0), 0), Err(Status::NOSPC));
    assert_eq!(kit.attribute("s/g", 4), Attribute::Size(0));
}

#[test]
fn a_copy_is_the_file_at_any_offsets() {
    let (kit, content) = with_file();
    assert_eq!(copy(&kit, ("s/f", 0), ("s/g", 0), 0), Ok(41_060));
    assert_eq!(kit.read("s/g", 0, 1 << 20).0, content);
    assert_eq!(copy(&kit, ("s/f", 100), ("s/g", 5000), 777), Ok(777));
    assert_eq!(kit.read("s/g", 5000, 777).0, content[100..877]);
}

#[test]
fn a_copy_refuses_ranges_files_and_servers() {
    let (kit, _) = with_file();
    assert_eq!(copy(&kit, ("s/f", 41_061), ("s/g", 0), 0), Err(Status::INVAL));
    assert_eq!(copy(&kit, ("s/f", 0), ("s/g", 0), 41_061), Err(Status::INVAL));
    assert_eq!(copy(&kit, ("s/f", 0), ("s/f", 1 << 20), 0), Err(Status::INVAL));
    let servers = vec![ServerLocation::Name("elsewhere".into())];
    assert_eq!(copy_with(&kit, ("s/f", 0), ("s/g", 0), 0, servers).status(), Err(Status::NOTSUPP));
    assert_eq!(kit.attribute("s/g", 4), Attribute::Size(0));
}

#[test]
fn a_copy_between_shares_shares_space() {
    let (kit, content) = with_file();
    let free = || match kit.attribute("s", 43) {
        Attribute::SpaceFree(bytes) => bytes,
        other => panic!("{other:?}"),
    };
    let before = free();
    assert_eq!(copy(&kit, ("s/f", 0), ("t/h", 0), 0), Ok(41_060));
    assert_eq!(kit.read("t/h", 0, 1 << 20).0, content);
    // The last block is not whole, and its bytes are copied.
    assert_eq!(free(), before - 4096);
}

/// Sets the mode of the root, so that every user may read or write.
fn chmod(kit: &Kit, fs: &vfs::memory::MemoryFileSystem, file: vfs::FileId, mode: u16) {
    let root = vfs::Caller::root();
    let set = SetAttributes { mode: Some(mode), ..Default::default() };
    assert!(end(fs.set_attributes(vfs::Call::new(&root, kit.now()), file, &set, None)).is_ok());
}

#[test]
fn the_source_of_a_copy_is_read_with_the_identity_that_its_share_gives() {
    let (kit, _) = with_file();
    let secret = kit.file("secret", b"secret");
    chmod(&kit, &kit.fs, secret, 0o600);
    assert_eq!(copy(&kit, ("s/secret", 0), ("t/h", 0), 0), Ok(6));
    // User 0 of the client is nobody in `s`, and user 0 in `t`.
    kit.publish("s", OBJECT, &kit.fs, Rules(vec![Rule::new(Hosts::Any)]));
    assert_eq!(kit.status_at("s/secret", read(0, 1)), Err(Status::ACCESS));
    assert_eq!(copy(&kit, ("s/secret", 0), ("t/h", 0), 0), Err(Status::ACCESS));
}

#[test]
fn a_copy_between_pools_moves_bytes() {
    let (kit, content) = with_file();
    let pool = MemoryEngine::new(None);
    let other = pool.create(kit.now());
    kit.file_in(&other, "h", b"");
    kit.publish("u", OBJECT + 2, &other, any());
    assert_eq!(copy(&kit, ("s/f", 3), ("u/h", 5), 41_000), Ok(41_000));
    assert_eq!(kit.read("u/h", 5, 1 << 20), (content[3..41_003].to_vec(), true));
    assert_eq!(copy(&kit, ("s/f", 41_061), ("u/h", 0), 0), Err(Status::INVAL));
    assert_eq!(copy(&kit, ("s/f", 0), ("u/h", 1 << 44), 1), Err(Status::FBIG));
    pool.leave(0);
    assert_eq!(copy(&kit, ("s/f", 0), ("u/h", 1 << 20), 0), Err(Status::NOSPC));
    // More than one call moves is a short copy.
    kit.file("long", &vec![5; 17 << 20]);
    pool.leave(1 << 30);
    assert_eq!(copy(&kit, ("s/long", 0), ("u/h", 0), 0), Ok(16 << 20));
    assert_eq!(copy(&kit, ("s/long", 16 << 20), ("u/h", 16 << 20), 0), Ok(1 << 20));
    assert_eq!(kit.read("u/h", (17 << 20) - 3, 10), (vec![5; 3], true));
}

/// Blocks of 4096 bytes with a pattern at their start and a number behind it.
fn blocks(block_count: u64, pattern: &[u8]) -> DataBlocks {
    DataBlocks {
        offset_bytes: 0,
        block_bytes: 4096,
        block_count,
        number_offset_bytes: u64::MAX,
        first_number: 0,
        pattern_offset_bytes: 0,
        pattern: pattern.into(),
    }
}

fn write_same(kit: &Kit, blocks: DataBlocks) -> Result<u64, Status> {
    let arguments = WriteSameArguments { stateid: ANONYMOUS, stable: Stable::Unstable, blocks };
    match kit.at("s/g", [Operation::WriteSame(Box::new(arguments))]) {
        Outcome::WriteSame(Ok(WriteResponse { callback: None, count_bytes, committed: Stable::FileSync, .. })) => {
            Ok(count_bytes)
        }
        failed => Err(failed.status().err().unwrap_or(Status::SERVERFAULT)),
    }
}

#[test]
fn zeros_take_one_step_and_no_space() {
    let (kit, content) = with_file();
    kit.write("s/g", 0, &content);
    assert_eq!(write_same(&kit, blocks(1 << 18, &[0; 512])), Ok(1 << 30));
    assert_eq!(kit.attributes("s/g", &[4, 45]), [Attribute::Size(1 << 30), Attribute::SpaceUsed(0)]);
    assert_eq!(kit.read("s/g", 0, 41_060).0, vec![0; 41_060]);
}

#[test]
fn each_block_has_the_pattern_and_its_number() {
    let (kit, _) = with_file();
    let numbered = DataBlocks {
        offset_bytes: 100,
        number_offset_bytes: 16,
        first_number: 7,
        pattern_offset_bytes: 100,
        ..blocks(8, &[0xaa; 512])
    };
    assert_eq!(write_same(&kit, numbered), Ok(8 * 4096));
    let mut expected = vec![0; 100];
    for number in 7_u32..15 {
        let mut block = vec![0; 4096];
        block[16..20].copy_from_slice(&number.to_be_bytes());
        block[100..612].fill(0xaa);
        expected.extend(block);
    }
    assert_eq!(kit.read("s/g", 0, 1 << 20), (expected, true));
}

#[test]
fn a_long_pattern_ends_with_a_block() {
    let (kit, _) = with_file();
    let long = DataBlocks { block_bytes: 5000, ..blocks(1 << 20, b"x") };
    let done = write_same(&kit, long).unwrap_or_else(|status| panic!("{status}"));
    assert!(done.is_multiple_of(5000) && done > 16_000_000 && done <= 16 << 20, "{done}");
    assert_eq!(kit.attribute("s/g", 4), Attribute::Size(done));
    assert_eq!(kit.read("s/g", done - 5000, 2).0, b"x\0");
}

#[test]
fn a_pattern_that_does_not_fit_the_pool_leaves_whole_blocks() {
    let (kit, _) = with_file();
    kit.engine.leave(3 << 20);
    let large = DataBlocks { block_bytes: 5000, ..blocks(2000, b"x") };
    let done = write_same(&kit, large).unwrap_or_else(|status| panic!("{status}"));
    assert!(done.is_multiple_of(5000) && (1 << 20..3 << 20).contains(&done), "{done}");
    kit.engine.leave(0);
    let nothing = DataBlocks { offset_bytes: 1 << 30, ..blocks(1, b"x") };
    assert_eq!(write_same(&kit, nothing), Err(Status::NOSPC));
}

#[test]
fn blocks_that_there_cannot_be_are_refused() {
    let (kit, _) = with_file();
    let fine = blocks(1, &[1; 512]);
    for (blocks, status) in [
        (DataBlocks { block_bytes: 0, ..fine.clone() }, Status::INVAL),
        (DataBlocks { block_bytes: 511, ..fine.clone() }, Status::INVAL),
        (DataBlocks { pattern_offset_bytes: 4096 - 511, ..fine.clone() }, Status::INVAL),
        (DataBlocks { pattern_offset_bytes: u64::MAX, ..fine.clone() }, Status::INVAL),
        (DataBlocks { number_offset_bytes: 4093, ..fine.clone() }, Status::INVAL),
        (DataBlocks { block_bytes: (16 << 20) + 1, ..fine.clone() }, Status::INVAL),
        (DataBlocks { block_count: u64::MAX, ..fine.clone() }, Status::FBIG),
        (DataBlocks { offset_bytes: 1 << 44, ..fine.clone() }, Status::FBIG),
    ] {
        assert_eq!(write_same(&kit, blocks.clone()), Err(status), "{blocks:?}");
    }
    assert_eq!(kit.attribute("s/g", 4), Attribute::Size(0));
    assert_eq!(write_same(&kit, DataBlocks { block_count: 0, ..fine }), Ok(0));
    let at_directory = WriteSameArguments { stateid: ANONYMOUS, stable: Stable::FileSync, blocks: blocks(0, b"") };
    assert_eq!(kit.status_at("s", Operation::WriteSame(Box::new(at_directory))), Err(Status::ISDIR));
}
