//! Refusals to start, with the real reactor: a message, advice and the exit status, without any
//! change.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use daemon::memory::TemporaryDirectory;
use daemon::{ServeOptions, serve};
use media::{FileDisk, FormatOptions, LocalMedia, OpenOptions};
use reactor::ServeError;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

/// Log size of the test pools.
const LOG_BYTES: usize = 4 << 20;

fn options(state_dir: &Path) -> ServeOptions {
    ServeOptions {
        state_dir: Some(state_dir.to_owned()),
        iscsi: vec!["127.0.0.1:0".parse().unwrap()],
        pool_size: Some(64 << 20),
        log: Some("off".to_owned()),
        ..ServeOptions::default()
    }
}

fn refused(options: ServeOptions, status: u8, words: &str) -> ServeError {
    let error = serve(options, reactor::run).unwrap_err();
    assert!(error.to_string().contains(words), "{error}");
    assert_eq!(error.exit_status(), status, "{error}");
    error
}

/// Creates a state directory with this content as its pool.
fn with_pool(directory: &TemporaryDirectory, content: &[u8]) -> (PathBuf, PathBuf) {
    let state_dir = directory.path().join("state");
    std::fs::create_dir_all(&state_dir).unwrap();
    let pool = state_dir.join("p0.pool");
    std::fs::write(&pool, content).unwrap();
    (state_dir, pool)
}

/// Regression: the pool was created and left behind if the port was in use.
#[test]
fn a_port_in_use_leaves_no_pool_behind() {
    let directory = TemporaryDirectory::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = refused(ServeOptions { iscsi: vec![address], ..options(directory.path()) }, 4, "is in use");
    assert!(error.help().unwrap().contains(&address.port().to_string()));
    assert!(!directory.path().join("p0.pool").exists());
}

/// Regression: a size of zero created an empty file, and the message was about log blocks.
#[test]
fn a_pool_of_an_impossible_size_is_not_begun() {
    let directory = TemporaryDirectory::new();
    for size in [0, 512, (64 << 20) - 1, (512 << 40) + 1, u64::MAX] {
        let options = ServeOptions { pool_size: Some(size), ..options(directory.path()) };
        refused(options, 2, "a pool cannot have");
    }
    // More than the file system supports.
    let error =
        serve(ServeOptions { pool_size: Some(512 << 40), ..options(directory.path()) }, reactor::run).unwrap_err();
    assert_ne!(error.exit_status(), 0);
    assert!(!directory.path().join("p0.pool").exists());
}

#[test]
fn a_file_that_is_no_pool_is_left_alone() {
    for (content, words) in
        [(b"hello world".to_vec(), "a new pool needs at least 64 MiB"), (vec![7; 1 << 20], "this is not a pool")]
    {
        let directory = TemporaryDirectory::new();
        let (state_dir, pool) = with_pool(&directory, &content);
        let error = refused(options(&state_dir), 1, words);
        assert!(error.help().unwrap().contains("windlass pool check"));
        assert_eq!(std::fs::read(pool).unwrap(), content);
    }
}

/// Creates an empty pool of 64 MiB and returns it open.
fn make_pool(path: &Path) -> LocalMedia<FileDisk> {
    let options = OpenOptions { create_bytes: Some(64 << 20), ..OpenOptions::default() };
    let root = pool::initial_root([7; 16]);
    let format = FormatOptions { uuid: [7; 16], log_bytes: LOG_BYTES as u64, root, overwrite: false };
    LocalMedia::format(FileDisk::open(path, &options).unwrap(), format).unwrap()
}

/// Changes every superblock copy; `seal` recomputes its checksum. Returns the changed pool.
fn patch_superblocks(path: &Path, at: usize, value: u8, seal: bool) -> Vec<u8> {
    let mut content = std::fs::read(path).unwrap();
    for copy in [0, 4096, (1 << 20) + LOG_BYTES, content.len() - 4096] {
        content[copy + at] = value;
        if seal {
            let checksum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &content[copy..copy + 4088]);
            content[copy + 4088..copy + 4096].copy_from_slice(&checksum.to_le_bytes());
        }
    }
    std::fs::write(path, &content).unwrap();
    content
}

#[test]
fn a_pool_in_use_damaged_or_of_another_version_is_refused_as_it_is() {
    let directory = TemporaryDirectory::new();
    let (state_dir, path) = with_pool(&directory, b"");
    let held = make_pool(&path);
    refused(options(&state_dir), 4, "is in use by another process");
    drop(held);
    // Byte 8 is the format version, byte 16 the incompatible features; byte 600 is in the root.
    for (at, value, seal, words) in [
        (8, 2, true, "format version 2"),
        (16, 4, true, "features this release does not know"),
        (600, 0xaa, false, "its checksum does not match"),
    ] {
        std::fs::write(&path, b"").unwrap();
        drop(make_pool(&path));
        let content = patch_superblocks(&path, at, value, seal);
        let error = refused(options(&state_dir), 1, words);
        assert!(error.help().is_some());
        assert!(std::fs::read(&path).unwrap() == content, "the pool was changed");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let directory = TemporaryDirectory::new();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    refused(options(&file.join("state")), 1, "cannot make the state directory");
}
