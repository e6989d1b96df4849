//! Administration of a whole array, run as a process, while a host is logged in.

use crate::fixture::{Fixture, sense, wait_for};
use array_process::administration::Client;
use conformance::commands::CommandError;
use conformance::initiator::Session;
use conformance::sense::Sense;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const GIB: u64 = 1 << 30;

/// Sense key, additional sense code and qualifier of a TEST UNIT READY; `None` when it is GOOD.
fn unit_ready(session: &mut Session) -> Option<(u8, u8, u8)> {
    session.test_unit_ready().err().map(|error| sense(&error))
}

#[test]
fn a_session_gets_a_unit_attention_for_each_administrative_change() {
    let fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "1G").unwrap();
    let mut session = fixture.log_in("v1");
    assert_eq!(unit_ready(&mut session), None);

    fixture.ok(&["volume", "grow", "v1", "--size", "2G"]);
    assert_eq!(unit_ready(&mut session), Some((6, 0x2a, 0x09)), "CAPACITY DATA HAS CHANGED");
    assert_eq!(session.read_capacity().unwrap().blocks * 512, 2 * GIB);

    fixture.ok(&["volume", "set", "v1", "--write-cache", "on"]);
    assert_eq!(unit_ready(&mut session), Some((6, 0x2a, 0x01)), "MODE PARAMETERS CHANGED");
    assert_eq!(unit_ready(&mut session), Some((6, 0x3f, 0x03)), "INQUIRY DATA HAS CHANGED, for V_SUP");

    fixture.array.create_volume("v2", "1G").unwrap();
    assert_eq!(unit_ready(&mut session), Some((6, 0x3f, 0x0e)), "REPORTED LUNS DATA HAS CHANGED");
    assert_eq!(session.report_luns().unwrap().len(), 2);

    // Two things keep the volume in use: its access, and the session that sees it.
    let refused = fixture.try_run(&["volume", "delete", "v2", "--yes"]);
    assert_eq!(refused.status.code(), Some(4));
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("is in use") && words.contains("session") && words.contains("access revoke v2"), "{words}");

    fixture.ok(&["access", "revoke", "v2", "--all", "--yes"]);
    assert_eq!(unit_ready(&mut session), Some((6, 0x3f, 0x0e)));
    assert_eq!(session.report_luns().unwrap().len(), 1);
    fixture.ok(&["volume", "delete", "v2", "--yes"]);

    fixture.ok(&["access", "revoke", "v1", "--all", "--yes"]);
    assert_eq!(unit_ready(&mut session), Some((5, 0x25, 0x00)), "LOGICAL UNIT NOT SUPPORTED");

    let sessions = fixture.array.json(&["session", "list"]).unwrap();
    assert_ne!(sessions[0]["last_io"], Value::Null, "{sessions}");
    fixture.ok(&["session", "drop", &sessions[0]["id"].to_string(), "--yes"]);
    assert!(session.test_unit_ready().is_err());
}

#[test]
fn offloaded_work_is_counted() {
    let fixture = Fixture::start("256M", &[]);
    let volume = fixture.array.create_volume("v1", "1G").unwrap();
    let mut session = fixture.log_in(&volume.name);
    session.write16(0, vec![7; 64 << 10].into()).unwrap();
    session.read16(0, 128).unwrap();
    session.unmap(&[(0, 64)]).unwrap();
    // An UNMAP below the mapping unit succeeds and deallocates nothing.
    session.unmap(&[(65, 1)]).unwrap();
    for _ in 0..3 {
        session.unmap(&[(GIB / 512, 8)]).unwrap_err();
    }
    let stats = fixture.array.json(&["offload", "stats", "v1"]).unwrap();
    let row = &stats[0];
    for (field, value) in [("volume", "v1"), ("primitive", "unmap")] {
        assert_eq!(row[field], value);
    }
    for (field, value) in [("commands", 5), ("ok", 2), ("refused", 3), ("errors", 0)] {
        assert_eq!(row[field], value, "{field} in {row}");
    }
    assert_eq!((&row["refusals"][0]["reason_code"], &row["refusals"][0]["count"]), (&"out-of-range".into(), &3.into()));
    assert_eq!(row["ineffective"][0]["reason_code"], "below-grain");
    let histogram = row["latency"]["histogram"].as_array().unwrap();
    assert_eq!(histogram.iter().filter_map(|bucket| bucket["count"].as_u64()).sum::<u64>(), 5, "{row}");
    let log = fixture.array.json(&["offload", "log", "v1", "--limit", "2"]).unwrap();
    assert_eq!(log.as_array().unwrap().len(), 2);
    let endings = |words: &[&str]| {
        let log = fixture.json(&[&["offload", "log", "v1"], words].concat());
        log.as_array().unwrap().iter().map(|entry| entry["ending"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(endings(&[]), ["ineffective", "refused"]);
    assert_eq!((&log[0]["count"], &log[0]["bytes"]), (&1.into(), &512.into()));
    assert_eq!((&log[1]["count"], &log[1]["bytes"]), (&3.into(), &0.into()), "equal commands are one entry: {log}");
    assert_eq!(endings(&["--ending", "ineffective"]).len(), 1);
    for (metric, value) in [
        (r#"windlass_volume_offload_refusals_total{volume="v1",primitive="unmap",reason="out-of-range"}"#, 3.0),
        (r#"windlass_volume_offload_commands_total{volume="v1",primitive="unmap",outcome="ok"}"#, 2.0),
        (r#"windlass_offload_duration_seconds_count{primitive="unmap"}"#, 5.0),
        (r#"windlass_volume_unmap_bytes_total{volume="v1",outcome="deallocated"}"#, 32768.0),
        (r#"windlass_volume_unmap_bytes_total{volume="v1",outcome="unaligned"}"#, 512.0),
        (r#"windlass_volume_io_duration_seconds_count{volume="v1",op="read"}"#, 1.0),
        (r#"windlass_volume_io_duration_seconds_count{volume="v1",op="write"}"#, 1.0),
        ("windlass_commands_in_flight{}", 0.0),
    ] {
        assert_eq!(fixture.metric(metric), value, "{metric}");
    }
}

/// The log said `(deleted)` for the volume's name, and the statistics forgot the volume.
#[test]
fn offload_statistics_of_a_deleted_volume_keep_its_name() {
    let fixture = Fixture::start("256M", &[]);
    let volume = fixture.array.create_volume("v1", "1G").unwrap();
    let mut session = fixture.log_in(&volume.name);
    session.unmap(&[(GIB / 512, 8)]).unwrap_err();
    drop(session);
    fixture.ok(&["volume", "set", "v1", "--name", "renamed"]);
    let mut session = fixture.log_in("renamed");
    session.unmap(&[(GIB / 512, 8)]).unwrap_err();
    drop(session);
    fixture.ok(&["access", "revoke", "renamed", "--all", "--yes"]);
    fixture.ok(&["volume", "delete", "renamed", "--yes"]);
    let names = |words: &[&str]| {
        let rows = fixture.json(words);
        let name = |row: &Value| (row["volume"].as_str().unwrap().to_owned(), row["deleted"].as_bool().unwrap());
        rows.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    let deleted = |name: &str| (name.to_owned(), true);
    assert_eq!(names(&["offload", "log"]), [deleted("v1"), deleted("renamed")]);
    assert_eq!(names(&["offload", "stats"]), [deleted("renamed")]);
    assert_eq!(names(&["offload", "stats", "renamed"]), [deleted("renamed")]);
    assert!(fixture.ok(&["offload", "stats"]).contains("renamed (deleted)"));
    assert_eq!(fixture.try_run(&["offload", "stats", "nothing"]).status.code(), Some(3));
    // Series of a volume end with it: another one may get its name.
    assert!(!fixture.get("/metrics/volumes").contains("windlass_volume_offload_commands_total{"));
}

#[test]
fn a_restart_keeps_everything_and_a_stop_does_not_wait_for_hosts() {
    let mut fixture = Fixture::start("256M", &["--http", "127.0.0.1:0"]);
    fixture.array.create_volume("v1", "1G").unwrap();
    fixture.ok(&["volume", "set", "v1", "--write-cache", "on"]);
    fixture.ok(&["snapshot", "create", "v1", "monday"]);
    // A clone larger than its source is two catalog changes in one commit.
    fixture.ok(&["volume", "clone", "v1@monday", "v2", "--size", "3G"]);
    fixture.ok(&["host", "create", "h1", "--iqn", "iqn.2026-01.org.example:h1", "--chap-user", "h1"]);
    fixture.ok(&["access", "grant", "v2", "--host", "h1", "--lun", "7"]);
    let mut session = fixture.log_in("v1");
    session.write16(8, vec![9; 4096].into()).unwrap();
    session.synchronize_cache().unwrap();
    let nouns: [&[&str]; 4] = [&["volume", "list"], &["snapshot", "list"], &["host", "list"], &["access", "list"]];
    let seen = |fixture: &Fixture| {
        nouns.map(|words| {
            let mut list = fixture.array.json(words).unwrap();
            // No host is logged in after the restart.
            for item in list.as_array_mut().unwrap() {
                item.as_object_mut().unwrap().remove("sessions");
            }
            list
        })
    };
    let before = seen(&fixture);
    assert_eq!(before[0][1]["size_bytes"], 3 * GIB);
    let state = fixture.directory().join("state");
    let mode = |name: &str| std::fs::metadata(state.join(name)).unwrap().permissions().mode() & 0o777;
    for private in ["windlass.sock", "p0.pool", "admin.token", "tls/key.pem"] {
        assert_eq!(mode(private), 0o600, "{private}");
    }
    // The host stays logged in. A stop that waited for it would not end within the limit of `stop`.
    fixture.array.stop().unwrap();
    assert!(session.test_unit_ready().is_err());
    assert!(!state.join("windlass.sock").exists());
    fixture.array.restart().unwrap();
    assert_eq!(seen(&fixture), before);
    let mut session = fixture.log_in("v1");
    assert_eq!(session.read16(8, 8).unwrap(), vec![9; 4096]);
}

/// Regression: a damaged file of the management plane stopped storage too, and the message was
/// "peer sent no certificates".
#[test]
fn a_damaged_certificate_does_not_stop_storage() {
    let mut fixture = Fixture::start("256M", &["--http", "127.0.0.1:0"]);
    fixture.array.create_volume("v1", "1G").unwrap();
    let state = fixture.directory().join("state");
    for name in ["tls/cert.pem", "tls/key.pem", "admin.token.sha256"] {
        fixture.array.stop().unwrap();
        let path = state.join(name);
        let content = std::fs::read(&path).unwrap();
        std::fs::write(&path, "garbage\n").unwrap();
        fixture.array.restart().unwrap();
        fixture.log_in("v1").test_unit_ready().unwrap();
        // Lines of the log come from a thread of their own.
        wait_for(name, || {
            let log = fixture.log_of_last_start();
            log.contains("ready iscsi=") && log.contains("ERROR")
        });
        let log = fixture.log_of_last_start();
        let error = log.lines().find(|line| line.contains("ERROR")).unwrap_or_else(|| panic!("{name}: {log}"));
        assert!(error.contains("REST over TLS is not served") && error.contains(name), "{error}");
        assert!(error.contains("help=") && !error.contains("peer"), "{error}");
        assert!(!log.contains("http=https"), "{log}");
        for list in ["alert", "event"] {
            let told = fixture.ok(&[list, "list"]);
            assert!(told.contains("REST over TLS is not served") && told.contains(name), "{told}");
        }
        std::fs::write(&path, content).unwrap();
    }
    fixture.array.stop().unwrap();
    fixture.array.restart().unwrap();
    wait_for("REST over TLS", || fixture.log_of_last_start().contains("http=https"));
    assert!(!fixture.ok(&["alert", "list"]).contains("REST over TLS"));
}

/// Regression: a key, token or pool that every user of the machine could read was accepted in
/// silence.
#[test]
fn private_files_that_others_can_read_are_in_the_log() {
    let mut fixture = Fixture::start("256M", &["--http", "127.0.0.1:0"]);
    let state = fixture.directory().join("state");
    let warned = |fixture: &Fixture| {
        let log = fixture.log_of_last_start();
        let warning = |line: &&str| line.contains("WARN") && line.contains("other users of this machine");
        log.lines().filter(warning).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(warned(&fixture), [""; 0]);
    fixture.array.stop().unwrap();
    let names = ["p0.pool", "admin.token", "tls/key.pem"];
    for name in names {
        std::fs::set_permissions(state.join(name), std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    fixture.array.restart().unwrap();
    wait_for("a warning of each file", || warned(&fixture).len() >= names.len());
    let lines = warned(&fixture);
    assert_eq!(lines.len(), names.len(), "{lines:?}");
    for (line, name) in lines.iter().zip(names) {
        assert!(line.contains(&format!("chmod 600 {}", state.join(name).display())), "{line}");
    }
}

/// A full pool refuses volumes with a message, and still accepts deletions.
#[test]
fn a_full_pool_is_reported_and_can_be_emptied() {
    let fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("v1", "1G").unwrap();
    let mut session = fixture.log_in("v1");
    let mut lba = 0;
    let full = loop {
        assert!(lba < GIB / 512, "a pool of 256 MiB took 1 GiB");
        let data: Vec<u8> = (0..1_u32 << 18).flat_map(|word| (word ^ lba as u32).to_le_bytes()).collect();
        match session.write16(lba, data.into()) {
            Ok(()) => lba += 2048,
            // A threshold, reported once.
            Err(CommandError::Status { sense: Some(Sense { key: 6, code: 0x38, .. }), .. }) => {}
            Err(error) => break error,
        }
    };
    match full {
        CommandError::Status { sense: Some(Sense { key: 7, code: 0x27, qualifier: 7, .. }), .. } => {}
        other => panic!("{other}"),
    }
    let pool = fixture.array.json(&["pool", "show"]).unwrap();
    let number = |field: &str| pool[field].as_u64().unwrap();
    assert_eq!(number("size_bytes"), number("used_bytes") + number("free_bytes"));
    let mut client = Client::connect(&fixture.directory().join("state/windlass.sock")).unwrap();
    let mut create = |at: u32| {
        let body = format!(r#"{{"name": "x{at}", "size_bytes": {GIB}}}"#);
        client.send("POST", "/api/v1/volumes", &body).unwrap().0
    };
    let made = (0..200).take_while(|at| create(*at) == 201).count();
    if made < 200 {
        let refused = fixture.try_run(&["volume", "create", "y", "--size", "1G"]);
        assert_eq!(refused.status.code(), Some(6));
        assert!(String::from_utf8(refused.stderr).unwrap().contains("no space"));
    }
    drop(session);
    fixture.ok(&["access", "revoke", "v1", "--all", "--yes"]);
    fixture.ok(&["volume", "delete", "v1", "--now", "--yes"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while fixture.array.pool_number("free_bytes").unwrap() < 128 << 20 {
        assert!(Instant::now() < deadline, "the space does not come back: {pool}");
        std::thread::sleep(Duration::from_millis(50));
    }
    fixture.ok(&["volume", "create", "z", "--size", "1G"]);
}

/// The array notifies systemd when the portals accept connections, and when it begins to stop.
#[test]
fn the_service_manager_gets_ready_watchdog_and_stopping() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let told = || {
        let mut buffer = [0; 4096];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let mut process = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["serve", "--iscsi", "127.0.0.1:0", "--pool-size", "64M", "--log", "error", "--state-dir"])
        .arg(directory.path().join("state"))
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "1000000")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let ready = told();
    assert!(ready.contains("READY=1") && ready.contains("STATUS=ready iscsi=127.0.0.1:"), "{ready}");
    assert!(told().contains("WATCHDOG=1"));
    let pid = rustix::process::Pid::from_child(&process);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    while !told().contains("STOPPING=1") {}
    assert!(process.wait().unwrap().success());
}
