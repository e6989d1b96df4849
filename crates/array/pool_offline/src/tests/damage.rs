//! Damage in every part of a pool: the findings, and the pools that still open.

use super::fixture::{CATALOG_BLOCKS, DATA_BLOCKS, FIRST_BLOCK, Fixture, POOL_BYTES};
use crate::{EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, OutputFormat};
use random::Random;

const LAST_COPY: u64 = POOL_BYTES - 4096;

fn first_block(pool: &Fixture) -> u64 {
    match pool.find(|block| block.iter().all(|byte| *byte == FIRST_BLOCK)).as_slice() {
        [offset] => *offset,
        other => panic!("{other:?}"),
    }
}

fn is_page(block: &[u8]) -> bool {
    block.starts_with(b"WLpg")
}

#[test]
fn a_damaged_data_block_is_a_finding_that_a_quick_check_cannot_see() {
    let mut pool = Fixture::checkpointed();
    let offset = first_block(&pool);
    pool.change(offset, |block| block[100] ^= 4);
    let ran = pool.run(false);
    assert_eq!((ran.status, ran.errors.as_str()), (EXIT_FINDINGS, ""), "{}", ran.output);
    assert!(ran.output.contains(": damaged, 1 finding\n"), "{}", ran.output);
    assert!(ran.output.contains(&format!("data block {} fails its checksum", offset / 4096)), "{}", ran.output);
    assert!(ran.output.contains("volume db (object 16): data block "), "{}", ran.output);
    let quick = pool.run(true);
    assert_eq!(quick.status, EXIT_CLEAN, "{}", quick.output);
    assert!(quick.output.contains("their content not read (--quick)"), "{}", quick.output);
    let json = pool.run_as(false, OutputFormat::Json, false);
    let json: serde_json::Value = serde_json::from_str(&json.output).unwrap();
    assert_eq!((&json["clean"], &json["finding_count"]), (&false.into(), &1.into()));
    assert_eq!(json["data_blocks"], DATA_BLOCKS + CATALOG_BLOCKS);
}

#[test]
fn a_damaged_page_of_a_volume_is_a_finding_and_one_of_the_catalog_keeps_the_pool_closed() {
    let mut pool = Fixture::checkpointed();
    let (mut findings, mut closed) = (0, 0);
    for offset in pool.find(is_page) {
        pool.change(offset, |block| block[200] ^= 1);
        let ran = pool.run(true);
        match ran.status {
            EXIT_FINDINGS => {
                findings += 1;
                assert!(ran.output.contains(&format!("{}", offset / 4096)), "{}", ran.output);
            }
            EXIT_FAILED => {
                closed += 1;
                assert!(ran.errors.contains("the pool cannot be opened: damaged: "), "{}", ran.errors);
                assert!(ran.errors.contains("(code: damaged)\nhelp: keep the file as it is"), "{}", ran.errors);
            }
            EXIT_CLEAN => {} // a page that a later version replaced
            other => panic!("{other}: {} {}", ran.output, ran.errors),
        }
        pool.change(offset, |block| block[200] ^= 1);
    }
    assert!(findings > 0 && closed > 0, "{findings} {closed}");
}

/// Pages of the index are the catalog's: without one of them it is not known which documents there are.
#[test]
fn a_damaged_page_of_the_index_of_documents_keeps_the_pool_closed() {
    let mut pool = Fixture::indexed();
    let pages = pool.find(|block| block.starts_with(b"WLix") || block.starts_with(b"WLiv"));
    assert!(pages.len() > 12, "{pages:?}");
    for offset in pages {
        for at in [0, 13, 200] {
            pool.change(offset, |block| block[at] ^= 1);
            for quick in [false, true] {
                let ran = pool.run(quick);
                assert_eq!(ran.status, EXIT_FAILED, "{}", ran.output);
                assert!(
                    ran.errors.contains("the pool cannot be opened: damaged: the documents: index page ")
                        && ran.errors.contains(&format!("catalog block {} fails its checksum", offset / 4096)),
                    "{}",
                    ran.errors
                );
            }
            pool.change(offset, |block| block[at] ^= 1);
        }
    }
    assert_eq!(pool.run(false).status, EXIT_CLEAN);
}

#[test]
fn damaged_superblock_copies_are_findings_while_two_are_left() {
    let third = 272 * 4096 + ((1 << 20) - (64 << 10));
    let mut pool = Fixture::checkpointed();
    pool.change(0, |block| block[60] ^= 1);
    let ran = pool.run(false);
    assert_eq!((ran.status, ran.errors.as_str()), (EXIT_FINDINGS, ""), "{}", ran.output);
    assert!(ran.output.contains("superblock copy 0 (block 0) is unusable: "), "{}", ran.output);
    pool.change(LAST_COPY, |block| block.fill(0));
    let ran = pool.run(false);
    assert_eq!(ran.status, EXIT_FINDINGS);
    assert!(ran.output.contains(": damaged, 2 findings\n"), "{}", ran.output);
    assert!(ran.output.contains("superblock copy 3"), "{}", ran.output);
    pool.change(third, |block| block.fill(0x55));
    let ran = pool.run(false);
    assert_eq!((ran.status, ran.output.as_str()), (EXIT_FAILED, ""));
    assert!(ran.errors.contains("two intact superblock copies of one version are needed"), "{}", ran.errors);
}

#[test]
fn a_log_frame_lost_before_a_durable_one_keeps_the_pool_closed() {
    let mut pool = Fixture::killed();
    // The first frame of the ring; later frames state that its records were durable.
    pool.change(256 * 4096, |block| block.fill(0));
    let ran = pool.run(false);
    assert_eq!((ran.status, ran.output.as_str()), (EXIT_FAILED, ""));
    assert!(ran.errors.contains("the log is damaged at position 0"), "{}", ran.errors);
}

/// Damages a third of the blocks, one at a time: a check always ends with a verdict and does not
/// change the file.
#[test]
fn any_damaged_block_leads_to_a_verdict() {
    let random = Random::new(1);
    for make in [Fixture::checkpointed, Fixture::killed] {
        let mut pool = make();
        for offset in pool.stored().into_iter().step_by(3) {
            let mut whole = [0; 4096];
            pool.change(offset, |block| {
                whole = *block;
                match random.below(3) {
                    0 => block.fill(0),
                    1 => block[random.index(4096)] ^= 1 << random.below(8),
                    _ => block[random.index(4096)..].fill(0xff),
                }
            });
            let ran = pool.run(false);
            match ran.status {
                EXIT_CLEAN | EXIT_FINDINGS => assert_eq!(ran.errors, ""),
                EXIT_FAILED => assert!(ran.errors.contains("\nhelp: "), "{}", ran.errors),
                other => panic!("{other}: {}", ran.errors),
            }
            pool.change(offset, |block| *block = whole);
        }
        assert_eq!(pool.run(false).status, EXIT_CLEAN);
    }
}
