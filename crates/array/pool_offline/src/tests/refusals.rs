//! Files that hold no pool, or that cannot be opened: message, exit status, and an unchanged file.

use super::fixture::{Fixture, POOL_BYTES};
use crate::{CheckArguments, EXIT_FAILED, EXIT_IN_USE, EXIT_NOT_FOUND, OutputFormat, run_check};
use media::{FileDisk, OpenOptions};

fn refused(pool: &Fixture, status: u8, words: &[&str]) {
    let ran = pool.run(false);
    assert_eq!((ran.status, ran.output.as_str()), (status, ""), "{}", ran.errors);
    let first = ran.errors.lines().next().unwrap();
    assert!(first.starts_with("error: ") && first.contains(&pool.path.display().to_string()), "{first}");
    for words in words {
        assert!(first.contains(words), "{first}");
    }
    assert!(ran.errors.lines().nth(1).unwrap().starts_with("help: "), "{}", ran.errors);
}

#[test]
fn a_missing_file_is_not_found_and_not_made() {
    let folder = Fixture::of(b"");
    let path = folder.path.with_file_name("other.pool");
    let arguments = CheckArguments { file: path.clone(), quick: false, memory: None };
    let mut errors = Vec::new();
    let status = run_check(&arguments, OutputFormat::Text, &mut std::io::sink(), &mut errors, false);
    let errors = String::from_utf8(errors).unwrap();
    assert_eq!(status, EXIT_NOT_FOUND);
    assert!(errors.contains("other.pool: no such file or device (code: not-found)\nhelp: "), "{errors}");
    assert!(!path.exists());
}

#[test]
fn a_folder_is_refused() {
    let inside = Fixture::of(b"");
    let arguments = CheckArguments { file: inside.path.with_file_name(""), quick: false, memory: None };
    let mut errors = Vec::new();
    let status = run_check(&arguments, OutputFormat::Text, &mut std::io::sink(), &mut errors, false);
    assert_eq!(status, EXIT_FAILED);
    assert!(String::from_utf8(errors).unwrap().contains("neither a regular file nor a block device"));
}

#[test]
fn a_pool_that_is_open_elsewhere_is_refused_in_the_words_of_media() {
    let pool = Fixture::checkpointed();
    let owner = FileDisk::open(&pool.path, &OpenOptions::default()).unwrap();
    refused(&pool, EXIT_IN_USE, &["is in use by another process", "(code: in-use)"]);
    // Regression: the help named a copy of the file, and not the check of a pool in use.
    assert!(pool.run(false).errors.contains("windlass pool check NAME"));
    drop(owner);
    assert_eq!(pool.run(false).status, 0);
}

#[test]
fn an_empty_and_a_blank_file_hold_no_pool() {
    refused(&Fixture::of(b""), EXIT_FAILED, &["(code: no-pool)"]);
    refused(&Fixture::of(&vec![0; 1 << 20]), EXIT_FAILED, &["blank", "holds no pool"]);
}

#[test]
fn a_foreign_file_is_not_a_pool() {
    let image: Vec<u8> = (0..4 << 20).map(|i: u32| i.to_le_bytes()[usize::try_from(i % 3).unwrap()] | 1).collect();
    refused(&Fixture::of(&image), EXIT_FAILED, &["this is not a pool"]);
    refused(&Fixture::of(b"short"), EXIT_FAILED, &["(code: no-pool)"]);
}

#[test]
fn a_truncated_pool_was_cut_off() {
    let mut pool = Fixture::checkpointed();
    pool.truncate(POOL_BYTES / 2);
    refused(&pool, EXIT_FAILED, &["it was cut off, or only partly copied"]);
    pool.truncate(6000);
    refused(&pool, EXIT_FAILED, &["(code: no-pool)"]);
}
