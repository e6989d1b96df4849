//! Commands as a person types them, over a Unix socket and over TLS, against the management plane
//! with an array in memory.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod channels;
mod config;
mod connect;
mod effect;
mod people;
mod shares;

use clap::Parser;
use cli::{Console, Globals, Noun};
use control::memory::MemoryNfs;
use control::{
    Ending, Knock, LatencyHistogram, LogEntry, LoginOutcome, OffloadCounters, OffloadRow, Primitive, Reason,
    SessionInfo, SessionSeen, VolumeId,
};
use daemon::ServeOptions;
use daemon::memory::{TemporaryDirectory, starter};
use pool::{BlockId, ObjectId, Place};
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

    /// Runs a command that must succeed, and returns its output.
    fn ok(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
        ran.out
    }
}

fn run(words: &[&str]) -> Ran {
    let parsed = match Arguments::try_parse_from([&["windlass"], words].concat()) {
        Ok(parsed) => parsed,
        Err(error) => return Ran { status: 2, out: String::new(), err: error.to_string() },
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = cli::run(&parsed.globals, &parsed.noun, &mut Console::captured(&mut out, &mut err));
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
        since: "2026-11-21T10:00:00Z".parse().unwrap(),
        last_io: None,
        commands: 1204,
        read_bytes: 3 << 20,
        written_bytes: 512,
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
        unix_ms: 1_795_255_201_000,
        volume: VolumeId(1),
        volume_name: "v1".to_owned(),
        snapshot: None,
        ending: Ending::Refused,
        initiator: ESX01.to_owned(),
        primitive: Primitive::Xcopy,
        command: "EXTENDED COPY",
        reason: Reason::NotGranted,
        detail: "naa.602574c0".to_owned(),
    }
}

#[test]
fn a_day_with_volumes() {
    let array = Array::start();
    assert_eq!(
        array.ok(&["volume", "create", "tmpl-win", "--size", "100G"]),
        "NAME         SIZE  MAPPED  UNIQUE  SNAPS  THIN  LUNS\n\
         tmpl-win  100 GiB     0 B     0 B    0 B  100%  –\n"
    );
    let again = array.run(&["volume", "create", "tmpl-win", "--size", "100G"]);
    assert_eq!(
        (again.status, again.err.as_str()),
        (0, "note: volume tmpl-win already existed, with the same parameters\n")
    );
    let other = array.run(&["volume", "create", "tmpl-win", "--size", "50G"]);
    assert_eq!(other.status, 4);
    assert_eq!(
        other.err,
        "error: volume tmpl-win exists already with 100 GiB (code: exists)\n\
         help: choose another name, or use the existing volume:  windlass volume show tmpl-win\n"
    );

    array.ok(&["snapshot", "create", "tmpl-win", "monday"]);
    array.ok(&["volume", "clone", "tmpl-win@monday", "win-dc1"]);
    let again = array.run(&["volume", "clone", "tmpl-win@monday", "win-dc1"]);
    assert_eq!(again.status, 4, "{again:?}");
    assert!(again.err.starts_with("error: volume win-dc1 exists already, created 20"), "{}", again.err);
    array.ok(&["volume", "grow", "win-dc1", "--size", "1.5TiB"]);
    array.ok(&["volume", "set", "win-dc1", "--write-cache", "on"]);
    array.ok(&["host", "create", "esx01", "--iqn", ESX01]);
    let granted = array.ok(&["access", "grant", "win-dc1", "--host", "esx01", "--columns", "volume,host,lun"]);
    assert_eq!(granted, "VOLUME   HOST   LUN\nwin-dc1  esx01    0\n");
    assert_eq!(
        array.ok(&["volumes", "list"]),
        "NAME         SIZE  MAPPED  UNIQUE  SNAPS  THIN  LUNS\n\
         tmpl-win  100 GiB     0 B     0 B    0 B  100%  –\n\
         win-dc1   1.5 TiB     0 B     0 B    0 B  100%  esx01:0\n"
    );
    assert_eq!(array.ok(&["volume", "list", "-o", "name"]), "tmpl-win\nwin-dc1\n");
    let csv = array.ok(&["volume", "list", "-o", "csv", "--columns", "name,size,cache,source"]);
    assert_eq!(csv, "name,size,cache,source\ntmpl-win,107374182400,off,\nwin-dc1,1649267441664,on,tmpl-win@monday\n");
    let json = array.ok(&["volume", "show", "win-dc1", "-o", "json"]);
    for part in [
        "\"size_bytes\": 1649267441664",
        "\"lun\": 0",
        "\"host\": \"esx01\"",
        "\"iscsi_url\": \"iscsi://127.0.0.1:3260/iqn.",
    ] {
        assert!(json.contains(part), "{json}");
    }
    let yaml = array.ok(&["volume", "show", "win-dc1", "-o", "yaml"]);
    // The same fields in the same order, and the same numbers.
    let fields = |text: &str, end: &str| -> Vec<String> {
        let name = |line: &str| Some(line.trim_start_matches([' ', '-', '"']).split_once(end)?.0.to_owned());
        text.lines().filter_map(name).collect()
    };
    assert_eq!(fields(&yaml, ":"), fields(&json, "\":"), "{yaml}");
    assert!(yaml.contains("\nsize_bytes: 1649267441664\n") && yaml.contains("\nwrite_cache: true\n"), "{yaml}");

    let refused = array.run(&["volume", "delete", "win-dc1", "--yes"]);
    assert_eq!(refused.status, 4);
    assert_eq!(
        refused.err,
        "error: volume win-dc1 is in use (code: in-use)\n  \
           access    host esx01, LUN 0\n  \
           session   iqn.1998-01.com.vmware:esx01 from 10.0.0.11, no I/O yet (id 7)\n\
         help: revoke access first:  windlass access revoke win-dc1 --all\n"
    );
    let revoked = array.run(&["access", "revoke", "win-dc1", "--all", "--yes"]);
    assert_eq!((revoked.status, revoked.err.as_str()), (0, "access of everybody to volume win-dc1 revoked\n"));
    array.ok(&["volume", "delete", "win-dc1", "-q", "--yes"]);
    let kept = array.run(&["volume", "delete", "tmpl-win", "--yes"]);
    assert!(
        kept.err.starts_with("error: volume tmpl-win has 1 snapshot (code: has-snapshots)\n  snapshot  monday of 20")
    );
    array.ok(&["snapshot", "delete", "tmpl-win", "monday", "--yes"]);
    array.ok(&["volume", "delete", "tmpl-win", "--yes"]);
    assert_eq!(array.ok(&["volume", "list", "-o", "yaml"]), "[]\n");
    assert_eq!(array.ok(&["volume", "list", "-o", "json"]), "[]\n");
}

/// Regression: without a terminal (`</dev/null`, cron, ssh) these commands deleted at once, as with
/// `--yes`.
#[test]
fn what_cannot_be_undone_needs_a_confirmation() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    array.ok(&["access", "grant", "v1", "--any"]);
    array.ok(&["host", "create", "h", "--iqn", "iqn.2026-01.org.example:h"]);
    array.ok(&["host-group", "create", "g", "h"]);
    for words in [
        &["volume", "delete", "v1"] as &[&str],
        &["volume", "rollback", "v1", "monday"],
        &["snapshot", "delete", "v1", "monday"],
        &["access", "revoke", "v1", "--any"],
        &["host", "delete", "h"],
        &["session", "drop", "7"],
        &["host-group", "set", "g", "--remove", "h"],
    ] {
        let refused = array.run(words);
        assert_eq!(refused.status, 2, "{words:?}: {refused:?}");
        assert!(refused.err.ends_with("(code: unconfirmed)\nhelp: confirm with  --yes\n"), "{}", refused.err);
    }
    // Regression: a misspelt name was noticed only after the question.
    for words in [
        &["volume", "delete", "nosuch"] as &[&str],
        &["snapshot", "delete", "v1", "nosuch"],
        &["host", "delete", "nosuch"],
        &["host-group", "delete", "nosuch"],
        &["volume", "rollback", "nosuch", "monday"],
        &["volume", "rollback", "v1", "nosuch"],
        &["access", "revoke", "nosuch", "--any"],
        &["access", "revoke", "nosuch", "--all"],
        &["access", "revoke", "v1", "--host", "nosuch"],
        &["access", "revoke", "v1", "--host", "h"],
        &["access", "revoke", "v1", "--group", "nosuch"],
        &["session", "drop", "99"],
        &["host-group", "set", "nosuch", "--remove", "h"],
        &["host-group", "set", "g", "--remove", "h,nosuch"],
    ] {
        let refused = array.run(words);
        assert_eq!(refused.status, 3, "{words:?}: {refused:?}");
        assert!(!refused.err.contains('?'), "{}", refused.err);
    }
    for (noun, name) in [("volume", "v1"), ("snapshot", "v1@monday"), ("host", "h"), ("session", "7")] {
        assert_eq!(array.ok(&[noun, "list", "-o", "name"]).lines().filter(|line| *line == name).count(), 1, "{noun}");
    }
    assert!(array.ok(&["access", "list"]).contains("v1"));
}

/// Regression: a rollback shrank a volume that had grown since the snapshot without a word.
#[test]
fn a_rollback_states_the_sizes() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    array.ok(&["volume", "grow", "v1", "--size", "2G"]);
    let id = array.ok(&["snapshot", "list", "v1", "-o", "csv", "--columns", "id", "--no-headers"]);
    for snapshot in ["monday", "v1@monday", id.trim()] {
        let asked = array.run(&["volume", "rollback", "v1", snapshot]);
        assert!(asked.err.contains("; it shrinks from 2 GiB to 1 GiB; what it has now is lost"), "{}", asked.err);
    }
    let rolled = array.run(&["volume", "rollback", "v1", "monday", "--yes"]);
    let warning = "warning: volume v1 shrank from 2 GiB to 1 GiB, its size in snapshot monday (code: size-changed)";
    assert!(rolled.status == 0 && rolled.err.contains(warning), "{rolled:?}");
    let asked = array.run(&["volume", "rollback", "v1", "monday"]);
    assert!(!asked.err.contains("GiB"), "{}", asked.err);
}

#[test]
fn a_host_group_is_granted_as_one() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    for host in ["esx01", "esx02"] {
        array.ok(&["host", "create", host, "--iqn", &format!("iqn.1998-01.com.vmware:{host}-g")]);
    }
    array.ok(&["host-group", "create", "c1", "esx01", "esx02"]);
    array.ok(&["access", "grant", "v1", "--group", "c1", "--lun", "3"]);
    assert_eq!(array.ok(&["host-group", "list"]), "NAME  HOSTS        LUNS\nc1    esx01 esx02  3:v1\n");
    assert_eq!(
        array.ok(&["access", "list", "--group", "c1", "--columns", "volume,host,lun"]),
        "VOLUME  HOST      LUN\nv1      group:c1    3\n"
    );
    let refused = array.run(&["host-group", "delete", "c1", "--yes"]);
    assert_eq!(refused.status, 4);
    assert!(refused.err.contains("windlass access revoke VOLUME --group c1"), "{}", refused.err);
    let refused = array.run(&["host", "delete", "esx01", "--yes"]);
    assert!(refused.err.contains("windlass host-group set GROUP --remove esx01"), "{}", refused.err);
    assert_eq!(array.run(&["host-group", "set", "c1"]).status, 2);
    array.ok(&["host-group", "set", "c1", "--remove", "esx02", "--name", "c2", "--yes"]);
    array.ok(&["access", "revoke", "v1", "--group", "c2", "--yes"]);
    array.ok(&["host-group", "delete", "c2", "--yes"]);
    assert_eq!(array.run(&["host-group", "show", "c2"]).status, 3);
}

#[test]
fn hosts_and_their_secrets() {
    let array = Array::start();
    let made =
        array.run(&["host", "create", "esx01", "--iqn", ESX01, "--chap-user", "esx", "--mutual-chap-user", "arr"]);
    assert_eq!(made.status, 0, "{made:?}");
    assert!(made.err.starts_with("generated for this host; not shown again:\n  CHAP secret: "), "{}", made.err);
    assert!(made.err.contains("\n  CHAP secret of the array: "));
    assert_eq!(
        array.ok(&["host", "list"]),
        "NAME   IQNS                          CHAP             SESSIONS  LUNS\n\
         esx01  iqn.1998-01.com.vmware:esx01  esx, mutual arr         1  –\n"
    );
    let secret = array.directory.path().join("secret");
    std::fs::write(&secret, "a-secret-of-mine\n").unwrap();
    let source = format!("file:{}", secret.display());
    let set = array.run(&["host", "set", "esx01", "--chap-user", "esx", "--chap-secret", &source, "-o", "json"]);
    assert_eq!(set.status, 0, "{set:?}");
    assert!(!set.out.contains("a-secret-of-mine") && !set.err.contains("a-secret-of-mine"));
    assert_eq!(array.run(&["host", "set", "esx01"]).status, 2);
    // A new user name keeps the secret; a new secret has to be asked for.
    let renamed = array.run(&["host", "set", "esx01", "--chap-user", "esx-new"]);
    assert_eq!((renamed.status, renamed.err.as_str()), (0, "the present CHAP secret stays\n"));
    let generated = array.run(&["host", "set", "esx01", "--chap-user", "esx-new", "--chap-secret", "generate"]);
    assert!(generated.err.starts_with("generated for this host"), "{}", generated.err);
    let refused = array.run(&["host", "delete", "esx01", "--yes"]);
    assert!(
        refused.err.contains("help: log out on esx01 first, or drop its sessions:  windlass session drop ID"),
        "{}",
        refused.err
    );
    array.ok(&["session", "drop", "7", "--yes"]);
    array.ok(&["host", "delete", "esx01", "--yes"]);
    assert_eq!(array.run(&["host", "show", "esx01"]).status, 3);
}

#[test]
fn what_the_array_tells() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "64G"]);
    array.ok(&["host", "create", "esx01", "--iqn", ESX01]);
    assert_eq!(
        array.ok(&["offload", "stats"]),
        "VOLUME  PRIMITIVE  COMMANDS    OK  REFUSED   BYTES  HOST BYTES AVOIDED     AVG     P99  TOP REFUSAL\n\
         v1      UNMAP          1204  1190       14  12 GiB  –                   500 µs  500 µs  below-grain (14)\n"
    );
    assert_eq!(
        array.ok(&["offload", "log", "v1"]),
        "TIME                  VOLUME  PRIMITIVE  HOST   ENDING   REASON       DETAIL\n\
         2026-11-21T10:00:01Z  v1      XCOPY      esx01  refused  not-granted  naa.602574c0\n"
    );
    assert_eq!(array.ok(&["offload", "log", "--ending", "failed", "--no-headers"]), "");
    assert_eq!(array.ok(&["offload", "log", "--ending", "refused", "-o", "name"]), "41\n");
    assert_eq!(
        array.ok(&["session", "list"]),
        "ID  HOST   INITIATOR                     FROM             PORTAL          COMMANDS   READ  WRITTEN\n \
         7  esx01  iqn.1998-01.com.vmware:esx01  10.0.0.11:40312  127.0.0.1:3260      1204  3 MiB    512 B\n"
    );
    let json = array.ok(&["offload", "stats", "-o", "json"]);
    for part in ["\"primitive\": \"unmap\"", "\"commands\": 1204", "\"host_bytes_avoided\": 0", "\"volume\": \"v1\""] {
        assert!(json.contains(part), "{json}");
    }
    let pool = array.ok(&["pool", "show", "-o", "json"]);
    for part in ["\"size_bytes\": 68719476736", "\"used_bytes\"", "\"free_bytes\"", "\"metadata_bytes\": 67108864"] {
        assert!(pool.contains(part), "{pool}");
    }
    assert_eq!(
        array.ok(&["pool", "list"]),
        "NAME  STATE      SIZE    USED      FREE  SHARED  PROVISIONED  COMMIT\n\
         p0    healthy  64 GiB  64 MiB  63.9 GiB     0 B       64 GiB  100%\n"
    );
    let status = array.ok(&["status"]);
    assert!(status.contains("pool     p0 healthy · used 64 MiB of 64 GiB (0%)"), "{status}");
    assert!(status.contains("UNMAP 1204 commands · 14 refused (see: windlass offload log)"), "{status}");
    assert!(status.starts_with("array    healthy · "), "{status}");
    // Regression: the array was called healthy beside an alert.
    array.ok(&["volume", "create", "big", "--size", "55G", "--reserve", "thick"]);
    let status = array.ok(&["status"]);
    assert!(status.starts_with("array    serving, with 1 warning · "), "{status}");
    assert!(status.contains("pool     p0 low-space · "), "{status}");
}

#[test]
fn over_tls_the_token_and_the_certificate_count() {
    let array = Array::start();
    let url = format!("https://127.0.0.1:{}", array.https_port);
    let file = |name: &str| array.directory.path().join(name).display().to_string();
    let (token, certificate) = (file("admin.token"), file("tls/cert.pem"));
    let good = run(&["--server", &url, "--ca", &certificate, "--token-file", &token, "volume", "list", "--no-headers"]);
    assert_eq!((good.status, good.out.as_str()), (0, ""), "{good:?}");
    assert_eq!(run(&["--server", &url, "--insecure", "--token-file", &token, "status"]).status, 0);
    let untrusted = run(&["--server", &url, "--token-file", &token, "status"]);
    assert_eq!(untrusted.status, 7);
    assert!(untrusted.err.contains("help: trust the certificate with  --ca"), "{}", untrusted.err);
    let stranger = run(&["--server", &url, "--ca", &certificate, "status"]);
    assert_eq!(stranger.status, 5);
    assert!(
        stranger.err.starts_with("error: a valid token is needed (code: unauthorized)\nhelp: "),
        "{}",
        stranger.err
    );
    let plain = run(&["--server", &url.replace("https", "http"), "status"]);
    assert_eq!(plain.status, 2);
}

#[test]
fn mistakes_are_told_with_their_status() {
    let array = Array::start();
    for (words, status, text) in [
        (
            &["volume", "show", "nothing"][..],
            3,
            "error: there is no volume nothing (code: not-found)\nhelp: list the volumes:  windlass volume list",
        ),
        (&["volume", "show", "../hosts"], 3, "there is no volume ../hosts"),
        (&["volume", "create", "v1", "--size", "100GB"], 2, "\"100GB\" is ambiguous"),
        (&["volume", "create", "v1", "--size", "1"], 2, "(code: invalid-size)"),
        (&["volume", "create", "a b", "--size", "1G"], 2, "(code: invalid-name)"),
        (
            &["volume", "list", "--columns", "name,colour"],
            2,
            "there is no column \"colour\"; the columns are name,size,",
        ),
        (&["volume", "list", "-o", "xml"], 2, "[possible values: table, wide, json, yaml, csv, name]"),
        (&["volume", "set", "v1"], 2, "--write-cache"),
        (&["access", "grant", "v1"], 2, "--host"),
        (&["access", "grant", "v1", "--any", "--host", "x"], 2, "cannot be used with"),
        (&["session", "drop", "99", "--yes"], 3, "there is no session 99"),
        (&["pool", "show", "p9"], 3, "there is no pool p9"),
        (&["host", "create", "h", "--iqn", "x"], 2, "(code: invalid-initiator-name)"),
        (&["host", "create", "h", "--iqn", ESX01, "--chap-user", "u", "--chap-secret", "hunter2"], 2, "env:NAME"),
        (&["status", "-o", "csv"], 2, "status has no rows"),
    ] {
        let ran = array.run(words);
        assert_eq!(ran.status, status, "{words:?}: {ran:?}");
        assert!(ran.err.contains(text), "{words:?}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
    let nobody = run(&["--server", "unix:/nonexistent/windlass.sock", "status"]);
    assert_eq!(nobody.status, 7);
    assert!(nobody.err.contains("help: start it with  windlass serve"), "{}", nobody.err);
}

#[test]
fn space_is_kept_free_limited_and_watched() {
    let array = Array::start();
    array.ok(&["volume", "create", "db", "--size", "4G", "--reserve", "thick", "--overwrite-reserve", "20%"]);
    let columns = ["--columns", "name,reserve,promised,zeros,warn"];
    assert_eq!(
        array.ok(&[&["volume", "list"][..], &columns].concat()),
        "NAME  RESERVE                       PROMISED  ZEROS     WARN\n\
         db    thick, 20% of what is shared     4 GiB  detected  –\n"
    );
    let set = array.run(&["volume", "set", "db", "--reserve", "thin", "--zero-detection", "off", "--warn", "75%"]);
    assert_eq!((set.status, set.err.as_str()), (0, "db is thin; zeros are stored\n"), "{set:?}");
    let refused = array.run(&["volume", "set", "db", "--overwrite-reserve", "50"]);
    assert_eq!(
        (refused.status, refused.err.as_str()),
        (
            4,
            "error: volume db is thin: only a thick volume has an overwrite reserve (code: not-thick)\n\
             help: make the volume thick:  windlass volume set db --reserve thick --overwrite-reserve 50\n"
        )
    );
    let limited = array.run(&["pool", "set", "p0", "--commitment", "100%", "--warn", "70", "--critical", "85%"]);
    assert_eq!(
        (limited.status, limited.err.as_str()),
        (0, "warns at 70%, critical at 85%, limit of over-commitment 100%\n")
    );
    let refused = array.run(&["volume", "create", "v2", "--size", "61G"]);
    assert_eq!(refused.status, 6);
    assert_eq!(
        refused.err,
        "error: the volumes would have 65 GiB together, and the limit is 64 GiB (100 % of the pool) \
         (code: over-commitment)\nhelp: grow the pool, or raise the limit:  windlass pool set p0 --commitment 102%\n"
    );
    array.ok(&["pool", "grow", "p0", "--size", "70G"]);
    array.ok(&["volume", "create", "v2", "--size", "61G"]);
    let refused = array.run(&["pool", "grow", "p0", "--size", "1G"]);
    assert_eq!(refused.status, 4);
    assert!(
        refused
            .err
            .starts_with("error: the pool cannot grow: the pool has 75161927680 bytes already (code: cannot-grow)")
    );
    array.ok(&["pool", "set", "p0", "--commitment", "off"]);
    let pool = array.ok(&["pool", "show"]);
    for line in ["LIMIT        off", "WARN         70%", "CRITICAL     85%", "SHARED       0 B", "SCRUB        –"] {
        assert!(pool.contains(line), "{pool}");
    }
    let json = array.ok(&["pool", "show", "-o", "json"]);
    for part in ["\"promised_bytes\": 0", "\"warn_percent\": 70", "\"shared_bytes\": 0", "\"commitment_percent\": 92"] {
        assert!(json.contains(part), "{json}");
    }
    let events = array.ok(&["event", "list", "--since", "1h", "--columns", "code,message"]);
    for line in ["pool-grown      pool p0 grown to 70 GiB", "volume-created  volume db created"] {
        assert!(events.contains(line), "{events}");
    }
    assert_eq!(array.ok(&["event", "list", "--limit", "1", "-o", "name"]).lines().count(), 1);
    // The array refuses these limits.
    assert_eq!(array.ok(&["event", "list", "--limit", "0", "-o", "name"]), "");
    let all = array.ok(&["event", "list", "-o", "name"]);
    assert_eq!(array.ok(&["event", "list", "--limit", "20000", "-o", "name"]), all);
    let codes = |words: &[&str]| {
        let list = ["event", "list", "--columns", "code", "--no-headers"];
        let text = array.ok(&[&list[..], words].concat());
        text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&["--subject", "db"]), ["volume-created", "volume-changed"]);
    assert_eq!(codes(&["--since", "1h", "--subject", "db", "--code", "volume-changed"]), ["volume-changed"]);
    assert_eq!(codes(&["--severity", "critical"]), [""; 0]);
    assert!(codes(&["--severity", "info"]).len() > 4);
    assert_eq!(array.run(&["event", "list", "--severity", "bad"]).status, 2);
    assert_eq!(array.ok(&["alert", "list", "--no-headers"]), "");
}

#[test]
fn jobs_are_waited_for_or_not() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "64M"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    let reclaim = array.run(&["volume", "reclaim", "v1"]);
    assert_eq!((reclaim.status, reclaim.err.as_str()), (0, ""), "{reclaim:?}");
    let (first, rest) = reclaim.out.split_once('\n').unwrap();
    assert!(first.starts_with("reclaim of v1 done in 0 s · 0 B given back of 64 MiB scanned"), "{first}");
    assert_eq!(
        rest,
        "unmapped by hosts since the start: 1190 commands, 12 GiB\n  \
           deallocated  1 KiB\n  \
           unaligned    512 B  at the edges: reads as zeros, stays allocated\n  \
           below grain  0 commands\n  \
           kept by      v1@monday  0 B\n  \
           kept by all snapshots together: 0 B\n"
    );
    assert!(array.ok(&["volume", "reclaim", "v1", "--report"]).starts_with("unmapped by hosts"));
    assert!(array.ok(&["volume", "reclaim", "v1", "--report", "-o", "json"]).contains("\"unaligned_bytes\": 512"));
    let started = array.ok(&["pool", "scrub", "--no-wait", "--share", "50%", "-o", "json"]);
    let id = started.split("\"id\": \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(started.contains("\"share_percent\": 50"), "{started}");
    let waited = array.ok(&["job", "wait", &id[28..]]);
    assert!(
        waited.starts_with("scrub of p0 done in 0 s · ") && waited.ends_with("verified, no bad block\n"),
        "{waited}"
    );
    let again = array.run(&["job", "cancel", id]);
    assert_eq!(again.status, 4);
    assert!(again.err.contains("is done already (code: job-ended)"), "{}", again.err);
    assert!(array.ok(&["pool", "check", "p0"]).starts_with("check of p0 done in 0 s · clean\n"));
    assert!(array.ok(&["volume", "reclaim", "--all", "-o", "json"]).contains("\"volumes\": 1"));
    let jobs = array.ok(&["job", "list", "--columns", "kind,subject,state,done"]);
    assert_eq!(
        jobs,
        "KIND     SUBJECT  STATE  DONE\n\
         reclaim  p0       done   100%\n\
         check    p0       done   100%\n\
         scrub    p0       done   100%\n\
         reclaim  v1       done   100%\n"
    );
    assert_eq!(array.run(&["job", "show", "0000"]).status, 3);
    assert_eq!(array.run(&["pool", "check", "p0", "--quick"]).status, 2);
    assert_eq!(array.run(&["pool", "check", "p9"]).status, 3);
    let pool = array.ok(&["pool", "show"]);
    assert!(pool.contains("verified, no bad block") && pool.contains(": clean\n"), "{pool}");
}

#[test]
fn what_a_scrub_finds_is_named() {
    let place = |block| Place { object: ObjectId(1), offset_bytes: 4096 * block, block: BlockId(block) };
    let array = Array::start_with(vec![place(1), place(2)]);
    array.ok(&["volume", "create", "bad-1", "--size", "64M"]);
    let scrub = array.run(&["pool", "scrub", "p0"]);
    assert_eq!(scrub.status, 9, "{scrub:?}");
    assert!(scrub.out.ends_with("2 bad blocks\n  bad  bad-1  LBA 8 to 23\n"), "{}", scrub.out);
    assert!(scrub.err.starts_with("error: content of the pool is lost (code: findings)\nhelp: "), "{}", scrub.err);
    let alerts = array.run(&["alert", "list"]);
    assert_eq!(
        alerts.out,
        "SEVERITY  ALERT       SUBJECT  MESSAGE                           ACKNOWLEDGED  TOLD\n\
         critical  bad-blocks  p0       2 blocks of 4 KiB cannot be read  –             –\n"
    );
    assert!(array.ok(&["status"]).contains("alert    critical · p0: 2 blocks of 4 KiB cannot be read\n"));
    assert!(array.ok(&["pool", "show"]).ends_with("  bad  bad-1  LBA 8 to 23\n"));
}

#[test]
fn a_volume_is_critical_above_where_it_warns_and_a_lossy_pool_is_damaged() {
    let place = Place { object: ObjectId(1), offset_bytes: 4096, block: BlockId(1) };
    let array = Array::start_with(vec![place]);
    array.ok(&["volume", "create", "v1", "--size", "64M"]);
    assert!(array.ok(&["pool", "list"]).contains("healthy"));
    let thresholds =
        |words: &[&str]| array.run(&[&["volume", "set", "v1", "--columns", "warn,critical"], words].concat());
    assert_eq!(thresholds(&["--warn", "75%", "--critical", "90%"]).out, "WARN  CRITICAL\n75%   90%\n");
    let refused = thresholds(&["--critical", "75%"]);
    assert!(refused.status != 0 && refused.err.contains("critical is above warn"), "{refused:?}");
    assert_eq!(thresholds(&["--warn", "none"]).out, "WARN  CRITICAL\n–     90%\n");
    assert!(array.ok(&["volume", "show", "v1", "-o", "json"]).contains("\"critical_percent\": 90"));
    assert_eq!(array.run(&["pool", "scrub", "p0"]).status, 9);
    assert!(array.ok(&["pool", "list"]).contains("damaged") && array.ok(&["status"]).contains("p0 damaged"));
    array.ok(&["snapshot", "create", "v1", "s"]);
    let deleted = |words: &[&str]| -> String { array.ok(words).split_whitespace().collect() };
    assert_eq!(deleted(&["snapshot", "delete", "v1@s", "-o", "json", "--yes"]), "{\"deleted\":[\"v1@s\"]}");
    assert_eq!(deleted(&["volume", "delete", "v1", "-o", "json", "--yes"]), "{\"deleted\":[\"v1\"]}");
}

#[test]
fn snapshots_of_a_group_a_tree_and_a_way_back() {
    let array = Array::start();
    for volume in ["data", "log"] {
        array.ok(&["volume", "create", volume, "--size", "1G"]);
    }
    let group = ["snapshot", "create", "--group", "data", "log", "--name", "nightly"];
    assert_eq!(
        array.ok(&[&group[..], &["--columns", "volume,name"]].concat()),
        "VOLUME  NAME\ndata    nightly\nlog     nightly\n"
    );
    for again in
        [&group[..], &["snapshot", "create", "data", "nightly"], &["snapshot", "create", "data", "nightly", "-q"]]
    {
        let refused = array.run(again);
        assert!(refused.status == 4 && refused.err.contains("snapshot data@nightly exists already"), "{refused:?}");
    }
    array.ok(&["volume", "clone", "data@nightly", "test"]);
    assert_eq!(
        array.ok(&["snapshot", "tree", "data"]),
        "NAME            KIND      MAPPED  UNIQUE  DEPENDENTS\n\
         data            volume       0 B     0 B           1\n  \
           data@nightly  snapshot     0 B     0 B           1\n    \
             test        volume       0 B     0 B           0\n"
    );
    let back = array.run(&["volume", "rollback", "data", "nightly", "--keep", "before", "--yes"]);
    assert_eq!((back.status, back.err.as_str()), (0, "volume data is as it was in snapshot nightly\n"), "{back:?}");
    assert_eq!(array.ok(&["snapshot", "list", "data", "-o", "name"]), "data@before\ndata@nightly\n");
    array.ok(&["access", "grant", "data", "--any"]);
    let refused = array.run(&["volume", "rollback", "data", "nightly", "--yes"]);
    assert_eq!(refused.status, 4);
    assert!(refused.err.ends_with("windlass volume rollback data nightly --force\n"), "{}", refused.err);
    array.ok(&["volume", "rollback", "data", "nightly", "--force", "--yes"]);
    for words in [
        &["snapshot", "create", "data"][..],
        &["snapshot", "create", "--group", "data"],
        &["snapshot", "create", "data", "x", "--group", "log", "--name", "y"],
    ] {
        assert_eq!(array.run(words).status, 2, "{words:?}");
    }
}

#[test]
fn portals_their_groups_and_where_they_send_logins() {
    let array = Array::start();
    let list = array.ok(&["portal", "list", "-o", "csv"]);
    let portal =
        list.lines().nth(1).and_then(|line| line.strip_prefix("1,127.0.0.1:3260,127.0.0.1:3260,1,active-optimized,,"));
    assert!(portal.is_some_and(|target| target.starts_with("iqn.2026-01.org.windlass:")), "{list}");
    // One group with one session: no command may take its last path.
    let refused = array.run(&["portal-group", "set", "1", "--state", "standby"]);
    assert_eq!(refused.status, 4, "{refused:?}");
    assert!(refused.err.contains("no port of the array would be active"), "{refused:?}");
    assert!(refused.err.contains("windlass portal-group set 1 --state standby --force"), "{refused:?}");
    array.ok(&["portal-group", "set", "1", "--state", "standby", "--force"]);
    let group = array.ok(&["portal-group", "list", "-o", "csv"]);
    assert_eq!(group.lines().nth(1), Some("1,standby,no,127.0.0.1:3260,1"));
    array.ok(&["portal-group", "set", "1", "--state", "active-optimized", "--preferred", "on"]);
    array.ok(&["portal", "set", "127.0.0.1:3260", "--group", "7", "--redirect", "10.0.0.9:3260"]);
    let shown = array.ok(&["portal", "show", "1", "-o", "json"]);
    for line in ["\"group\": 7", "\"redirect\": \"10.0.0.9:3260\"", "\"redirect_permanently\": false"] {
        assert!(shown.contains(line), "{shown}");
    }
    array.ok(&["portal", "set", "1", "--no-redirect"]);
    for (words, status) in [
        (&["portal", "set", "1"][..], 2),
        (&["portal", "set", "1", "--group", "0"], 2),
        (&["portal", "set", "1", "--redirect", "nowhere"], 2),
        (&["portal", "show", "10.0.0.1:3260"], 3),
        (&["portal-group", "show", "9"], 3),
        (&["portal-group", "set", "7", "--state", "offline"], 2),
    ] {
        let ran = array.run(words);
        assert_eq!(ran.status, status, "{words:?}: {ran:?}");
    }
}

/// A long list comes in parts of 500.
#[test]
fn a_long_list_is_complete() {
    let array = Array::start();
    for at in 0..501 {
        array.ok(&["host", "create", &format!("h{at:03}"), "--iqn", &format!("iqn.2026-01.org.example:h{at}")]);
    }
    let shown = array.ok(&["host", "list", "-o", "name"]);
    let expected: String = (0..501).map(|at| format!("h{at:03}\n")).collect();
    assert_eq!(shown, expected);
}

#[test]
fn a_volume_is_created_in_a_pool_by_name() {
    let array = Array::start();
    let pool = array.ok(&["pool", "list", "-o", "name"]);
    array.ok(&["volume", "create", "v1", "--size", "1G", "--pool", pool.trim()]);
    assert_eq!(array.ok(&["volume", "list", "--columns", "name,pool"]), format!("NAME  POOL\nv1    {pool}"));
    let refused = array.run(&["volume", "create", "v2", "--size", "1G", "--pool", "other"]);
    assert_eq!(refused.status, 3);
    assert!(refused.err.ends_with("help: list the pools:  windlass pool list\n"), "{}", refused.err);
}

#[test]
fn what_is_deleted_comes_back_from_the_trash() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    array.ok(&["access", "grant", "v1", "--any"]);
    let deleted = array.run(&["volume", "delete", "v1", "--with-snapshots", "--revoke", "--yes"]);
    assert_eq!(deleted.status, 0, "{deleted:?}");
    assert!(deleted.err.starts_with("volume v1 deleted; until 20"), "{}", deleted.err);
    assert!(deleted.err.ends_with(":  windlass trash restore v1\n"), "{}", deleted.err);
    let listed = array.ok(&["trash", "list", "--no-headers", "--columns", "name,kind,snapshots,grants"]);
    assert_eq!(listed.split_whitespace().collect::<Vec<_>>(), ["v1", "volume", "1", "1"]);
    let restored = array.run(&["volume", "restore", "v1", "--name", "v2", "--grants"]);
    assert_eq!(restored.err, "volume v2 restored with 1 snapshot\n1 grant made again\n");
    assert_eq!(array.ok(&["access", "list", "--no-headers", "--columns", "volume,host"]).split_whitespace().count(), 2);
    array.ok(&["snapshot", "delete", "v2@monday", "--yes"]);
    assert_eq!(array.run(&["trash", "empty", "--all"]).status, 2);
    let emptied = array.run(&["trash", "empty", "--all", "--yes"]);
    assert_eq!((emptied.status, emptied.err.as_str()), (0, "v2@monday deleted for good\n"));
    let set = array.run(&["pool", "set", "p0", "--trash", "off"]);
    assert!(set.err.ends_with("the trash keeps what is deleted: off\n"), "{}", set.err);
    array.ok(&["access", "revoke", "v2", "--all", "--yes"]);
    assert_eq!(array.run(&["volume", "delete", "v2", "--yes"]).err, "volume v2 deleted\n");
    assert_eq!(array.run(&["trash", "restore", "v2"]).status, 3);
}

#[test]
fn schedules_are_managed() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["volume", "set", "v1", "--label", "tier=gold"]);
    let create =
        ["schedule", "create", "gold", "--every", "15m", "--keep", "hourly=24,daily=30", "--label", "tier=gold"];
    array.ok(&create);
    assert_eq!(array.run(&create).status, 4);
    assert_eq!(array.run(&["schedule", "create", "x", "--every", "15m", "--daily", "02:00"]).status, 2);
    let columns = ["--no-headers", "--columns", "when,zone,members,keep"];
    let listed = array.ok(&[&["schedule", "list"], &columns[..]].concat());
    assert_eq!(listed.split_whitespace().collect::<Vec<_>>().join(" "), "every 15m UTC 1 24 hourly, 30 daily, last 3");
    array.ok(&["schedule", "run", "gold"]);
    let name = array.ok(&["snapshot", "list", "-o", "name"]);
    let name = name.trim();
    assert!(name.starts_with("v1@gold.20") && name.ends_with('Z'), "{name}");
    array.ok(&["snapshot", "pin", name]);
    assert_eq!(array.run(&["snapshot", "lock", name, "--until", "30d"]).status, 2, "a lock cannot be undone");
    array.ok(&["snapshot", "lock", name, "--until", "30d", "--yes"]);
    let refused = array.run(&["snapshot", "delete", name, "--now", "--yes"]);
    assert_eq!(refused.status, 4);
    assert!(refused.err.contains("is locked until 20") && refused.err.contains("(code: locked)"), "{}", refused.err);
    array.ok(&["schedule", "set", "gold", "--weekly", "sun@03:00", "--zone", "Europe/Berlin", "--pause", "on"]);
    assert!(array.ok(&["schedule", "show", "gold"]).contains("paused"));
    array.ok(&["schedule", "delete", "gold", "--yes"]);
    assert_eq!(array.ok(&["snapshot", "list", "-o", "name"]).trim(), name);
}
