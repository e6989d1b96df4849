//! Repairs that succeed, repairs that are refused, and no change without confirmation.

use super::fixture::{DATA_START, Fixture, POOL_BYTES, Ran};
use crate::{
    CheckOptions, EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, EXIT_UNCONFIRMED, OutputFormat, RepairArguments, Streams,
    check, run_repair,
};

fn repair(pool: &Fixture, dry_run: bool, yes: bool, answer: Option<&str>) -> Ran {
    let arguments = RepairArguments { file: pool.path.clone(), dry_run, yes };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut input = answer.unwrap_or_default().as_bytes();
    let mut streams = Streams {
        input: &mut input,
        output: &mut output,
        errors: &mut errors,
        interactive: answer.is_some(),
        terminal: false,
    };
    let status = run_repair(&arguments, OutputFormat::Text, &mut streams);
    Ran { status, output: String::from_utf8(output).unwrap(), errors: String::from_utf8(errors).unwrap() }
}

fn flip(pool: &mut Fixture, offset: u64) {
    pool.change(offset, |block| block[1234] ^= 0x10);
}

/// Offsets of the used blocks of the space map: index of zones, index of groups, counts.
fn space_map(pool: &Fixture) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    let stored = pool.stored();
    let within = |range: std::ops::Range<u64>| {
        let range = DATA_START + range.start * 4096..DATA_START + range.end * 4096;
        stored.iter().copied().filter(|offset| range.contains(offset)).collect::<Vec<_>>()
    };
    (within(0..2), within(2..4), within(16..2048))
}

fn mends(damage: impl Fn(&mut Fixture), words: &str) {
    for make in [Fixture::checkpointed as fn() -> Fixture, Fixture::killed] {
        let mut pool = make();
        damage(&mut pool);
        let ran = repair(&pool, true, false, None);
        pool.assert_unchanged();
        if ran.status == EXIT_CLEAN {
            // A killed pool may not have such a block yet.
            assert!(pool.stored().len() < 200, "{}", ran.output);
            continue;
        }
        assert_eq!(ran.status, EXIT_FINDINGS, "{}{}", ran.output, ran.errors);
        assert!(
            ran.output.contains(words) && ran.output.contains("can be repaired; the file was not"),
            "{}",
            ran.output
        );
        assert!(!ran.output.contains("left after"), "{}", ran.output);
        let ran = repair(&pool, false, true, None);
        assert_eq!(ran.status, EXIT_CLEAN, "{}{}", ran.output, ran.errors);
        assert!(ran.output.contains(words) && ran.output.contains(": repaired, "), "{}", ran.output);
        let outcome = check(&pool.path, CheckOptions::default(), &mut |_| {}).unwrap();
        assert!(outcome.clean, "{:?}", outcome.findings);
        assert_eq!((outcome.volumes, outcome.snapshots, outcome.documents), (2, 1, 1));
        let ran = repair(&pool, false, true, None);
        assert!(ran.output.contains("nothing to repair"), "{}", ran.output);
    }
}

/// Pages of the index of documents are blocks of a stream, and counted as such.
#[test]
fn counts_of_a_pool_with_many_documents_are_made_anew() {
    let mut pool = Fixture::indexed();
    space_map(&pool).2.iter().for_each(|offset| flip(&mut pool, *offset));
    let ran = repair(&pool, false, true, None);
    assert_eq!(ran.status, EXIT_CLEAN, "{}{}", ran.output, ran.errors);
    let outcome = check(&pool.path, CheckOptions::default(), &mut |_| {}).unwrap();
    assert!(outcome.clean, "{:?}", outcome.findings);
    assert_eq!(outcome.documents, 202);
}

#[test]
fn damaged_counts_and_indexes_are_made_anew() {
    mends(|pool| space_map(pool).2.iter().for_each(|offset| flip(pool, *offset)), "fail their checksum");
    mends(|pool| space_map(pool).0.iter().for_each(|offset| flip(pool, *offset)), "the space index: block ");
    mends(|pool| space_map(pool).1.iter().for_each(|offset| flip(pool, *offset)), "the upper space index: block ");
    mends(
        |pool| {
            let (a, b, c) = space_map(pool);
            a.iter().chain(&b).chain(&c).for_each(|offset| flip(pool, *offset));
        },
        "fails its checksum",
    );
}

#[test]
fn lost_superblock_copies_are_written_again() {
    let last = POOL_BYTES - 4096;
    for copies in [[0, 4096], [0, last], [4096, last]] {
        mends(
            |pool| copies.iter().for_each(|offset| pool.change(*offset, |block| block.fill(0xff))),
            "superblock copy",
        );
    }
    // The loss of more than two copies is not repaired, because nothing can be proven.
    let mut pool = Fixture::checkpointed();
    for offset in [0, 4096, last] {
        flip(&mut pool, offset);
    }
    let ran = repair(&pool, false, true, None);
    assert_eq!(ran.status, EXIT_FAILED);
    assert!(ran.errors.contains("two intact superblock copies") && ran.errors.contains("help: "), "{}", ran.errors);
    pool.assert_unchanged();
}

#[test]
fn a_map_page_that_cannot_be_read_is_refused_by_volume_and_lba() {
    let clean = Fixture::checkpointed();
    let pages = clean.find(|block| block.starts_with(b"WLpg"));
    let mut told = 0;
    for page in pages {
        let mut pool = Fixture::of(&std::fs::read(&clean.path).unwrap());
        flip(&mut pool, page);
        let checked = pool.run(true);
        if checked.status == EXIT_CLEAN {
            continue; // of an earlier checkpoint
        }
        let ran = repair(&pool, false, true, None);
        assert_eq!(ran.status, EXIT_FAILED, "{}", ran.output);
        pool.assert_unchanged();
        if ran.errors.contains("(code: unprovable)") {
            let volume = ran.errors.contains("volume db (object 16): LBA ") || ran.errors.contains("volume 17: LBA ");
            assert!(volume || ran.errors.contains("snapshot 18: LBA "), "{}", ran.errors);
            told += 1;
        } else {
            assert!(ran.errors.contains("(code: damaged)"), "{}", ran.errors);
        }
    }
    assert!(told >= 4, "{told}");
}

#[test]
fn data_that_cannot_be_read_is_not_called_nothing() {
    let mut pool = Fixture::checkpointed();
    for byte in [40, 41] {
        let large = pool.find(|block| block.iter().all(|found| *found == byte));
        pool.change(*large.first().unwrap(), |block| block[9] ^= 1);
    }
    for dry_run in [true, false] {
        let ran = repair(&pool, dry_run, !dry_run, None);
        assert_eq!((ran.status, ran.errors.as_str()), (EXIT_FINDINGS, ""), "{}", ran.output);
        let words = "the metadata needs no repair, and 2 data blocks cannot be read; the file was not changed\nfindings:\n  object 18: data block ";
        assert!(ran.output.contains(words), "{}", ran.output);
        pool.assert_unchanged();
    }
}

#[test]
fn nothing_is_repaired_without_agreement() {
    let clean = Fixture::checkpointed();
    for arguments in [(true, false), (false, true), (false, false)] {
        let ran = repair(&clean, arguments.0, arguments.1, None);
        assert_eq!(ran.status, EXIT_CLEAN, "{}", ran.errors);
        assert!(ran.output.contains("nothing to repair; the file was not changed"));
        clean.assert_unchanged();
    }
    let mut pool = Fixture::checkpointed();
    flip(&mut pool, 0);
    let ran = repair(&pool, false, false, None);
    assert_eq!((ran.status, ran.output.as_str()), (EXIT_UNCONFIRMED, ""));
    assert!(ran.errors.contains("not repaired without agreement (code: unconfirmed)\nhelp: give --yes"));
    let ran = repair(&pool, false, false, Some("n\n"));
    assert!(ran.status == EXIT_FAILED && ran.errors.contains("[y/N] ") && ran.errors.ends_with("was not changed\n"));
    assert_eq!(repair(&pool, false, false, Some("")).status, EXIT_FAILED);
    pool.assert_unchanged();
    let ran = repair(&pool, false, false, Some("yes\n"));
    assert!(
        ran.status == EXIT_CLEAN && ran.output.contains("superblock copy 0 (block 0) is unusable"),
        "{}",
        ran.output
    );
}

#[test]
fn a_check_in_little_memory_finds_the_same() {
    let mut pool = Fixture::killed();
    for memory_bytes in [1, 10_000, 1 << 30] {
        let outcome = |pool: &Fixture| {
            check(&pool.path, CheckOptions { memory_bytes, ..CheckOptions::default() }, &mut |_| {}).unwrap()
        };
        let all = check(&pool.path, CheckOptions::default(), &mut |_| {}).unwrap();
        assert_eq!(outcome(&pool), all);
        assert_eq!((all.clean, all.data_blocks), (true, super::fixture::DATA_BLOCKS));
    }
    let block = pool.find(|block| block.iter().all(|byte| *byte == 9))[0];
    pool.change(block, |block| block[9] = 0);
    let all = check(&pool.path, CheckOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(all.finding_count, 1);
    assert_eq!(check(&pool.path, CheckOptions { memory_bytes: 1, data: true }, &mut |_| {}).unwrap(), all);
}
