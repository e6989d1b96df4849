//! Files that hold no pool, a damaged one, or one of another release: the message and exit status
//! of each command. The file stays unchanged, and the array refuses to serve it, with a message
//! too.

use super::fixture::{DATA_START, Fixture, POOL_BYTES};
use crate::{
    DumpArguments, DumpWhat, EXIT_CLEAN, EXIT_FAILED, EXIT_FINDINGS, EXIT_IN_USE, OutputFormat, RepairArguments,
    Streams, run_dump, run_repair,
};
use media::{LocalMedia, OpenOptions, Span};
use pool::{Core, Options};

const COPIES: [u64; 4] = [0, 4096, (256 + 256) * 4096, POOL_BYTES - 4096];

/// Changes a superblock copy and corrects its checksum.
fn rewrite(pool: &mut Fixture, copy: usize, change: impl FnOnce(&mut [u8; 4096])) {
    pool.change(COPIES[copy], |block| {
        change(block);
        let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &block[..4088]);
        block[4088..].copy_from_slice(&sum.to_le_bytes());
    });
}

fn rewrite_all(pool: &mut Fixture, change: impl Fn(&mut [u8; 4096])) {
    for copy in 0..4 {
        rewrite(pool, copy, &change);
    }
}

/// File with the marks of a file system or partition table, as `mkfs` and `parted` write them.
fn foreign(marks: &[(usize, &[u8])]) -> Fixture {
    let mut content = vec![0; 16 << 20];
    for (offset, mark) in marks {
        content[*offset..*offset + mark.len()].copy_from_slice(mark);
    }
    Fixture::of(&content)
}

fn noise() -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..4 << 20).map(|_| next()).collect()
}

fn changed(change: impl FnOnce(&mut Fixture)) -> Fixture {
    let mut pool = Fixture::checkpointed();
    change(&mut pool);
    pool
}

/// Opens the pool as the array does at start, without the daemon.
fn serve(pool: &Fixture) -> Result<(), String> {
    let disk = Span::open(&pool.path, &OpenOptions::default()).map_err(|error| error.to_string())?;
    let media = LocalMedia::open(disk).map_err(|error| error.to_string())?;
    Core::open(media, Options::default(), &mut |_| {}).map(|_| ()).map_err(|error| error.to_string())
}

/// Runs every command; returns the exit status of the check, and all output.
fn all_commands(pool: &Fixture) -> (u8, String) {
    let ran = pool.run(false);
    let mut said = ran.errors + &ran.output;
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let arguments = RepairArguments { file: pool.path.clone(), dry_run: true, yes: false };
    let mut streams = Streams {
        input: &mut std::io::empty(),
        output: &mut output,
        errors: &mut errors,
        interactive: false,
        terminal: false,
    };
    run_repair(&arguments, OutputFormat::Text, &mut streams);
    for what in [
        DumpWhat::Superblock,
        DumpWhat::Root,
        DumpWhat::Objects,
        DumpWhat::Log { limit: 100 },
        DumpWhat::Object { id: 16, limit: 100 },
        DumpWhat::Page { address: 2050 },
        DumpWhat::Block { address: 2048 + 20 },
    ] {
        run_dump(&DumpArguments { file: pool.path.clone(), what }, OutputFormat::Text, &mut output, &mut errors);
    }
    pool.assert_unchanged();
    said.push_str(&String::from_utf8_lossy(&errors));
    (ran.status, said)
}

fn version(block: &mut [u8; 4096], version: u32) {
    block[8..12].copy_from_slice(&version.to_le_bytes());
}

#[test]
fn what_cannot_be_opened_says_what_it_is_and_stays_as_it_is() {
    let gpt: &[(usize, &[u8])] = &[(510, b"\x55\xaa"), (512, b"EFI PART"), ((16 << 20) - 512, b"EFI PART")];
    let ext4: &[(usize, &[u8])] = &[(1080, b"\x53\xef"), (1024, b"\0\0\x01\0")];
    let half_made = |pool: &mut Fixture| {
        // Formatting writes the far copies first, then those at the start.
        for copy in [0, 1] {
            pool.change(COPIES[copy], |block| block.fill(0));
        }
    };
    let cases: Vec<(&str, Fixture, &str)> = vec![
        ("empty", Fixture::of(b""), "the file is empty: it holds no pool"),
        ("blank", Fixture::of(&vec![0; 16 << 20]), "the device is blank: it holds no pool"),
        ("ext4", foreign(ext4), "this is not a pool: it holds other data"),
        ("GPT", foreign(gpt), "this is not a pool: it holds other data"),
        ("random", Fixture::of(&noise()), "this is not a pool: it holds other data"),
        ("text", Fixture::of(&[b'x'; 5000]), "it is too small to hold one"),
        ("cut to a half", changed(|pool| pool.truncate(POOL_BYTES / 2)), "it was cut off, or only partly copied"),
        ("cut by a block", changed(|pool| pool.truncate(POOL_BYTES - 4096)), "it was cut off, or only partly copied"),
        ("cut in copy 0", changed(|pool| pool.truncate(3000)), ""),
        ("newer", changed(|pool| rewrite_all(pool, |block| version(block, 7))), "format version 7; this release reads"),
        ("older", changed(|pool| rewrite_all(pool, |block| version(block, 0))), "format version 0 does not exist"),
        (
            "unknown features",
            changed(|pool| rewrite_all(pool, |block| block[16 + 5] = 0x80)),
            "incompatible feature bits 0x800000000000",
        ),
        (
            "newer root",
            changed(|pool| rewrite_all(pool, |block| block[512 + 8..512 + 12].copy_from_slice(&99u32.to_le_bytes()))),
            "format version 99",
        ),
        (
            "root of something else",
            changed(|pool| rewrite_all(pool, |block| block[512] ^= 1)),
            "the root is not of a Windlass pool",
        ),
        (
            "a root that claims more than the device",
            changed(|pool| {
                rewrite_all(pool, |block| block[512 + 96..512 + 104].copy_from_slice(&(1u64 << 36).to_le_bytes()))
            }),
            "the pool's data area is blocks",
        ),
        (
            "members that do not fit",
            changed(|pool| rewrite_all(pool, |block| block[96] = 3)),
            "its feature bits and its list of members do not fit",
        ),
        ("half made", changed(half_made), ""),
        (
            "copies of four minds",
            changed(|pool| (0..4).for_each(|copy| rewrite(pool, copy, |block| block[80] = copy as u8 + 50))),
            "two intact superblock copies of one version are needed",
        ),
    ];
    for (name, pool, words) in cases {
        let (status, said) = all_commands(&pool);
        if name == "half made" {
            // Both far copies agree: this is a pool that lost its first copies.
            assert_eq!(status, EXIT_FINDINGS, "{name}: {said}");
            assert_eq!(serve(&pool), Ok(()), "{name}");
            continue;
        }
        assert_eq!(status, EXIT_FAILED, "{name}: {said}");
        let file = pool.path.display().to_string();
        assert!(said.contains(words) && said.contains(&file) && said.contains("help: "), "{name}: {said}");
        let refused = serve(&pool).unwrap_err();
        assert!(refused.contains(words), "{name}: {refused}");
        pool.assert_unchanged();
    }
}

#[test]
fn features_that_only_writers_must_know_allow_a_check() {
    let pool = changed(|pool| rewrite_all(pool, |block| block[24] = 2));
    let ran = pool.run(false);
    assert_eq!(ran.status, EXIT_CLEAN, "{}", ran.errors);
    assert!(serve(&pool).unwrap_err().contains("read-only compatible feature bits 0x2"));
    let pool = changed(|pool| rewrite_all(pool, |block| block[32] = 2));
    assert_eq!((pool.run(false).status, serve(&pool)), (EXIT_CLEAN, Ok(())));
}

#[test]
fn the_newest_root_of_two_copies_counts() {
    // State after a crash in the middle of a swap: two copies of the new root, two of the old one.
    let pool = changed(|pool| {
        for copy in [1, 3] {
            rewrite(pool, copy, |block| {
                block[80] -= 1;
                block[600] ^= 1;
            });
        }
    });
    assert_eq!(pool.run(false).status, EXIT_CLEAN);
}

#[test]
fn a_pool_in_use_is_refused_by_every_command() {
    let pool = Fixture::checkpointed();
    let owner = Span::open(&pool.path, &OpenOptions::default()).unwrap();
    let (status, said) = all_commands(&pool);
    assert_eq!(status, EXIT_IN_USE);
    assert!(said.matches("is in use by another process").count() >= 3, "{said}");
    assert!(serve(&pool).unwrap_err().contains("is in use by another process"));
    drop(owner);
    assert_eq!(serve(&pool), Ok(()));
}

/// Flips one bit in each of the stored blocks in turn: every command ends without a panic, and
/// read-only commands never change the pool.
#[test]
fn any_flipped_bit_leads_to_an_answer_of_every_command() {
    let whole = Fixture::killed();
    let stored = whole.stored();
    let content = std::fs::read(&whole.path).unwrap();
    for (number, offset) in stored.into_iter().enumerate().step_by(5) {
        let mut pool = Fixture::of(&content);
        let place = (number * 997) % 4096;
        pool.change(offset, |block| block[place] ^= 1 << (number % 8));
        let (status, said) = all_commands(&pool);
        assert!([EXIT_CLEAN, EXIT_FINDINGS, EXIT_FAILED].contains(&status), "{offset}: {said}");
        if let Err(refused) = serve(&pool) {
            assert!(offset < DATA_START || !refused.is_empty());
        }
    }
}
