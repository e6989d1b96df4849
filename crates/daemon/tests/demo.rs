//! The demonstration over an array in memory: it has its volumes, and leaves nothing behind.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use daemon::memory::starter;
use daemon::{DemoOptions, demo};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The directory of this process's demonstration: the one whose lock file has our process id.
fn directory() -> Option<PathBuf> {
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap();
    entries.filter_map(|entry| Some(entry.ok()?.path())).find(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        let owner = std::fs::read_to_string(path.join("windlass.lock")).unwrap_or_default();
        name.starts_with("windlass-demo-") && owner.trim() == std::process::id().to_string()
    })
}

fn get(socket: &Path, path: &str) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: windlass\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn has_a_template_and_its_clones_and_leaves_nothing_behind() {
    let options = DemoOptions { iscsi: None, pool_size: 64 << 30, log: "error".to_owned() };
    let running = std::thread::spawn(move || demo(&options, starter(|_, _, _| {})));
    let deadline = Instant::now() + Duration::from_secs(60);
    let access = loop {
        let path = directory().map(|directory| directory.join("windlass.sock"));
        match path.map(|socket| get(&socket, "/api/v1/access")) {
            Some(Ok(answer)) if answer.contains("\"scratch\"") => break answer,
            _ => assert!(Instant::now() < deadline && !running.is_finished()),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    for volume in ["template", "vm-01", "vm-02"] {
        assert!(access.contains(&format!("\"volume\":\"{volume}\"")), "{access}");
    }
    let directory = directory().unwrap();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM).unwrap();
    running.join().unwrap().unwrap();
    assert!(!directory.exists());
}
