//! Array of one test, in its own directory, with access by command line, REST and sessions.

use array_process::array::{Array, ArrayOptions, free_portal};
use conformance::commands::CommandError;
use conformance::initiator::{Session, SessionOptions};
use conformance::sense::Sense;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Prefix of the name of every host in the tests.
const INITIATOR_PREFIX: &str = "iqn.2026-01.org.example";

/// Longest wait for a condition: a machine that is busy with builds must not fail a test.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until the condition holds. `what` names it in the panic after [`PATIENCE`].
#[track_caller]
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs host code on a local runtime, as the host kit does.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

pub(crate) struct Fixture {
    directory: TempDir,
    pub(crate) array: Array,
}

impl Fixture {
    /// Starts an array with a pool of `pool_size` ("256M") and further arguments of the daemon.
    pub(crate) fn start(pool_size: &str, arguments: &[&str]) -> Self {
        Self::start_over(pool_size, arguments, |_| {})
    }

    /// Like [`Self::start`], after `prepare` has put files into the state directory.
    pub(crate) fn start_over(pool_size: &str, arguments: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        let directory = TempDir::new().unwrap();
        let state_directory = directory.path().join("state");
        std::fs::create_dir(&state_directory).unwrap();
        prepare(&state_directory);
        let array = Array::start(ArrayOptions {
            executable: PathBuf::from(env!("CARGO_BIN_EXE_windlass")),
            state_directory,
            portals: vec![free_portal().unwrap()],
            pool_size: pool_size.into(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        })
        .unwrap();
        Self { directory, array }
    }

    /// Directory for files of the test; those of the array are below `state`.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn kill_and_restart(&mut self) {
        self.array.kill().unwrap();
        self.array.restart().unwrap();
    }

    /// Log of the process since its last start.
    pub(crate) fn log_of_last_start(&self) -> String {
        let log = std::fs::read_to_string(self.directory().join("state/serve.log")).unwrap();
        log.rsplit("--- starting").next().unwrap_or_default().to_owned()
    }

    /// Output of a command, which must succeed.
    pub(crate) fn ok(&self, words: &[&str]) -> String {
        self.array.command(words).unwrap()
    }

    /// Output of a command with `-o json`.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        self.array.json(words).unwrap()
    }

    /// A numeric field of the output of a command with `-o json`.
    pub(crate) fn number(&self, words: &[&str], field: &str) -> u64 {
        let shown = self.json(words);
        shown[field].as_u64().unwrap_or_else(|| panic!("no {field} in {shown}"))
    }

    /// Runs a command that is allowed to fail.
    pub(crate) fn try_run(&self, words: &[&str]) -> Output {
        let server = self.array.server();
        Command::new(env!("CARGO_BIN_EXE_windlass")).args(["--server", &server]).args(words).output().unwrap()
    }

    /// GETs a path over the administrative socket, without the CLI.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = UnixStream::connect(self.directory().join("state/windlass.sock")).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: windlass\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Value of the first metric whose line begins with `start`.
    pub(crate) fn metric(&self, start: &str) -> f64 {
        let text = self.get("/metrics") + &self.get("/metrics/volumes");
        let line = text.lines().find(|line| line.starts_with(start));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("no {start} in {text}"))
    }

    /// Bytes that hosts have written to a volume since the array started: measures the progress of
    /// other processes.
    pub(crate) fn written(&self, volume: &str) -> u64 {
        let start = format!("windlass_volume_io_bytes_total{{volume=\"{volume}\",op=\"write\"");
        let text = self.get("/metrics/volumes?active=true");
        let line = text.lines().find(|line| line.starts_with(&start));
        // No line exists before the first write. The value is a whole number below 2^53.
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).map_or(0, |bytes| bytes as u64)
    }

    /// Waits until hosts have written this many bytes to a volume.
    #[track_caller]
    pub(crate) fn wait_for_written(&self, volume: &str, bytes: u64) {
        wait_for(&format!("{bytes} bytes written to {volume}"), || self.written(volume) >= bytes);
    }

    /// Logs in to a volume and clears the unit attentions of the new session.
    pub(crate) fn log_in(&self, volume: &str) -> Session {
        self.connect(volume, &SessionOptions::default())
    }

    /// Logs in to a volume as the host `host`, and clears the unit attentions.
    pub(crate) fn log_in_as(&self, host: &str, volume: &str) -> Session {
        let initiator_name = format!("{INITIATOR_PREFIX}:{host}");
        self.connect(volume, &SessionOptions { initiator_name, ..SessionOptions::default() })
    }

    fn connect(&self, volume: &str, options: &SessionOptions) -> Session {
        let url = self.array.volume(volume).unwrap().url().parse().unwrap();
        let mut session = Session::connect(&url, options).unwrap();
        session.clear_unit_attentions().unwrap();
        session
    }
}

/// Sense key, additional sense code and qualifier of a failed command.
#[track_caller]
pub(crate) fn sense(error: &CommandError) -> (u8, u8, u8) {
    match error {
        CommandError::Status { sense: Some(Sense { key, code, qualifier, .. }), .. } => (*key, *code, *qualifier),
        other => panic!("{other}"),
    }
}
