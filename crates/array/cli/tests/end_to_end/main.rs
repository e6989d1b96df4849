//! Commands as a person types them, over a Unix socket and over TLS, against the management plane
//! with an array in memory.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod channels;
mod config;
mod connect;
mod effect;
mod hosts;
mod jobs;
mod observed;
mod people;
mod pools;
mod portals;
mod reaching;
mod shares;
mod snapshots;
mod volumes;

use clap::Parser;
use cli::{Console, Globals, Noun};
use control::memory::live::MemoryNfs;
use control::{
    Ending, Knock, LatencyHistogram, LogEntry, LoginOutcome, OffloadCounters, OffloadRow, Primitive, Reason,
    SessionInfo, SessionParameters, SessionSeen, VolumeId,
};
use daemon::ServeOptions;
use daemon::memory::{TemporaryDirectory, starter};
use pool::{ObjectId, Place};
use std::net::TcpListener;
use std::time::{Duration, Instant};

const ESX01: &str = "iqn.1998-01.com.vmware:esx01";

#[derive(Parser)]
#[command(name = "windlass")]
struct Arguments {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    noun: Noun,
}

/// Daemon over an array in memory, with one session, offload rows and a refusal.
struct Array {
    directory: TemporaryDirectory,
    https_port: u16,
}

/// Result of a command.
#[derive(Debug)]
struct Ran {
    status: u8,
    out: String,
    err: String,
}

impl Array {
    fn start() -> Self {
        Self::start_with(Vec::new())
    }

    /// Starts an array whose medium has lost these places.
    fn start_with(bad: Vec<Place>) -> Self {
        let directory = TemporaryDirectory::new();
        // The port was free just before. The daemon prints its port on standard output, which a
        // test cannot read.
        let https_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let array = Self { directory, https_port };
        let options = ServeOptions {
            state_dir: Some(array.directory.path().to_owned()),
            iscsi: vec!["127.0.0.1:3260".parse().unwrap()],
            http: Some(format!("127.0.0.1:{https_port}").parse().unwrap()),
            log: Some("error".to_owned()),
            ..ServeOptions::default()
        };
        std::thread::spawn(move || {
            daemon::serve(
                options,
                starter(move |_, live, catalog| {
                    catalog.bad.replace(bad);
                    live.sessions.replace(vec![session()]);
                    (0..2).for_each(|_| live.logins.borrow_mut().add(knock(), false, jiff::Timestamp::UNIX_EPOCH));
                    live.offload.replace(vec![offload()]);
                    live.refusals.replace(vec![refusal()]);
                    let portals = vec!["127.0.0.1:2049".to_owned()];
                    live.nfs.replace(Some(MemoryNfs { portals, ..MemoryNfs::default() }));
                }),
            )
        });
        let deadline = Instant::now() + Duration::from_secs(20);
        while array.run(&["status"]).status != 0 {
            assert!(Instant::now() < deadline, "{:?}", array.run(&["status"]));
            std::thread::sleep(Duration::from_millis(20));
        }
        array
    }

    /// Runs a command over the Unix socket.
    fn run(&self, words: &[&str]) -> Ran {
        let server = format!("unix:{}", self.directory.path().join("windlass.sock").display());
        run(&[&["--server", &server], words].concat())
    }

    /// Runs a command whose output is a terminal with lines of so many cells.
    fn on_terminal(&self, width: usize, words: &[&str]) -> Ran {
        let server = format!("unix:{}", self.directory.path().join("windlass.sock").display());
        run_on(&[&["--server", &server], words].concat(), Some(width))
    }

    /// Runs a command that must succeed, and returns its output.
    fn ok(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
        ran.out
    }
}

fn run(words: &[&str]) -> Ran {
    run_on(words, None)
}

/// Runs a command whose output is a terminal of that width, if there is one.
fn run_on(words: &[&str], width: Option<usize>) -> Ran {
    let parsed = match Arguments::try_parse_from([&["windlass"], words].concat()) {
        Ok(parsed) => parsed,
        Err(error) => return Ran { status: 2, out: String::new(), err: error.to_string() },
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = match width {
        Some(width) => Console::captured_terminal(width, &mut out, &mut err),
        None => Console::captured(&mut out, &mut err),
    };
    let status = cli::run(&parsed.globals, &parsed.noun, &mut console);
    Ran { status, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

/// A login of an initiator that no host is.
fn knock() -> Knock {
    Knock {
        initiator: "iqn.2026-01.org.example:stranger".to_owned(),
        from: [10, 0, 0, 15].into(),
        portal: "127.0.0.1:3260".parse().unwrap(),
        discovery: false,
        outcome: LoginOutcome::UnknownInitiator,
        detail: "no host with this name",
    }
}

fn session() -> SessionInfo {
    SessionInfo {
        id: 7,
        target_port: 1,
        initiator: ESX01.to_owned(),
        portal: "127.0.0.1:3260".parse().unwrap(),
        peer_address: "10.0.0.11:40312".parse().unwrap(),
        // Of today: one that is silent for a week gets a warning.
        since: jiff::Timestamp::now(),
        last_io: None,
        commands: 1204,
        read_bytes: 3 << 20,
        written_bytes: 512,
        mss_bytes: Some(1448),
        parameters: SessionParameters::default(),
        seen: SessionSeen::default(),
    }
}

fn offload() -> OffloadRow {
    let mut latency = LatencyHistogram::default();
    (0..1204).for_each(|_| latency.record(500_000));
    let mut counters = OffloadCounters {
        commands: 1204,
        ok: 1190,
        refused: 14,
        bytes: 12 << 30,
        deallocated_bytes: 1024,
        unaligned_bytes: 512,
        latency,
        ..OffloadCounters::default()
    };
    (0..14).for_each(|_| counters.refusals.add(Reason::BelowGrain));
    OffloadRow { volume: ObjectId(1), name: "v1".to_owned(), primitive: Primitive::Unmap, counters }
}

fn refusal() -> LogEntry {
    LogEntry {
        sequence: 41,
        count: 1,
        first_unix_ms: 1_795_255_201_000,
        unix_ms: 1_795_255_201_000,
        volume: VolumeId(1),
        volume_name: "v1".to_owned(),
        snapshot: None,
        ending: Ending::Refused,
        initiator: ESX01.to_owned(),
        primitive: Primitive::Xcopy,
        command: "EXTENDED COPY",
        reason: Reason::NotGranted,
        holder: None,
        bytes: 0,
        detail: "naa.602574c0".to_owned(),
    }
}
