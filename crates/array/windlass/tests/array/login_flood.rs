//! A login flood: connections without a session are limited, and neither logged-in hosts nor hosts
//! that log in are affected.

use crate::fixture::Fixture;
use array_process::observe;
use conformance::initiator::{Session, SessionOptions};
use conformance::url::Url;
use loads::chaos::flood::{self, FloodOptions};
use loads::chaos::witness;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Deadline for a command or a login of a well-behaved host, far beyond what a busy machine needs.
/// The well-behaved hosts must not notice the flood: none of their commands and logins may fail.
const PATIENCE: Duration = Duration::from_secs(60);
/// Memory that the flood may add: 256 connections with their received bytes, and slack for the
/// allocator.
const MEMORY: u64 = 64 << 20;
/// Largest number of log lines that a flood may cause.
const LINES: usize = 40;
/// Number of connections of a flood.
const CONNECTIONS: u64 = 3_000;
/// Deadline of a flood.
const TIME: Duration = Duration::from_secs(180);

/// Statistics of a well-behaved host that logs in repeatedly.
struct Logins {
    longest: Duration,
    succeeded: u32,
    failed: u32,
}

/// Logs in and out until `stop` is set. A failed login is retried, as hosts do.
fn log_in_again_and_again(url: &Url, stop: &AtomicBool) -> Logins {
    let mut logins = Logins { longest: Duration::ZERO, succeeded: 0, failed: 0 };
    let name = "iqn.2026-01.org.example:newcomer";
    let options =
        SessionOptions { initiator_name: name.into(), qualifier: 7, timeout: PATIENCE, ..SessionOptions::default() };
    while !stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        loop {
            match Session::connect(url, &options) {
                Ok(mut session) => {
                    session.clear_unit_attentions().unwrap();
                    session.logout().unwrap();
                    break;
                }
                Err(error) => {
                    logins.failed += 1;
                    assert!(started.elapsed() < PATIENCE, "no login within {PATIENCE:?}: {error}");
                }
            }
        }
        logins.succeeded += 1;
        logins.longest = logins.longest.max(started.elapsed());
        thread::sleep(Duration::from_millis(50));
    }
    logins
}

/// Waits until the number of sessions is `count`.
fn wait_for_sessions(fixture: &Fixture, count: usize) {
    let started = Instant::now();
    while fixture.metric("windlass_connections{stage=\"session\"}") < count as f64 {
        assert!(started.elapsed() < PATIENCE, "{count} hosts have not logged in within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Floods from an address while two hosts work and a third one logs in repeatedly.
fn flood_from(fixture: &Fixture, from: Ipv4Addr) -> Logins {
    let url = |volume: &str| fixture.array.volume(volume).unwrap().url().parse::<Url>().unwrap();
    let (one, other) = (url("v1"), url("v2"));
    let stop = AtomicBool::new(false);
    let options = FloodOptions {
        url: one.clone(),
        from: Some(IpAddr::V4(from)),
        connections: CONNECTIONS,
        time: TIME,
        open_each: 400,
        threads: 2,
        seed: 1,
    };
    thread::scope(|scope| {
        let behaved = |url, name| {
            let stop = &stop;
            let name = format!("iqn.2026-01.org.example:{name}");
            scope.spawn(move || witness::run(url, &name, 1, PATIENCE, stop))
        };
        let witnesses = [behaved(&one, "one"), behaved(&other, "other")];
        // Of connections that are still in login, a flood from the same address may displace some.
        wait_for_sessions(fixture, witnesses.len());
        let newcomer = scope.spawn(|| log_in_again_and_again(&other, &stop));
        let flood = scope.spawn(|| flood::run(&options, &stop));
        let mut resident = 0;
        let limit = fixture.metric("windlass_connections_limit{stage=\"login\"}");
        let mut most: f64 = 0.0;
        while !flood.is_finished() {
            thread::sleep(Duration::from_millis(20));
            most = most.max(fixture.metric("windlass_connections{stage=\"login\"}"));
            resident = observe::memory(fixture.array.pid()).unwrap().resident_bytes.max(resident);
        }
        let report = flood.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        println!("from {from}: {report}; {} MiB resident", resident >> 20);
        // Of a queue of connections to accept that was full, the kernel drops some: those of the flood need
        // not all be opened.
        assert_eq!(report.opened + report.refused, CONNECTIONS, "{report}");
        assert!(report.refused < CONNECTIONS / 10, "{report}");
        // The flood closes its oldest connections itself, so the number that the target closes
        // depends on the machine. The open ones are counted all the time: at most the limit, plus
        // those that the target has asked to close and that are still open.
        assert!(report.closed > 100, "the target keeps what says nothing: {report}");
        assert!(most > 0.0 && most <= 2.0 * limit, "{most} connections without a session at a time, {limit} allowed");
        for witness in witnesses {
            let testimony = witness.join().unwrap().unwrap();
            println!("  {testimony}");
            assert!(testimony.commands() > 50, "{testimony}");
        }
        newcomer.join().unwrap()
    })
}

fn lines(fixture: &Fixture) -> Vec<String> {
    let log = std::fs::read_to_string(fixture.directory().join("state/serve.log")).unwrap();
    log.lines().filter(|line| !line.contains("session opened")).map(str::to_owned).collect()
}

#[test]
fn a_login_flood_is_not_noticed_by_those_who_behave() {
    let fixture = Fixture::start("1G", &["--memory", "256M"]);
    for volume in ["v1", "v2"] {
        fixture.array.create_volume(volume, "64M").unwrap();
    }
    let limit = fixture.metric("windlass_connections_limit{stage=\"login\"}");
    let idle = observe::memory(fixture.array.pid()).unwrap().resident_bytes;
    let lines_before = lines(&fixture).len();

    // A flood from another address displaces only its own connections.
    let logins = flood_from(&fixture, Ipv4Addr::new(127, 0, 0, 2));
    println!("  {} logins, {} failed, longest {:?}", logins.succeeded, logins.failed, logins.longest);
    assert!(logins.succeeded > 5 && logins.failed == 0, "{} of {}", logins.failed, logins.succeeded);
    // A flood from the address of the hosts may displace them; they succeed when they retry.
    let logins = flood_from(&fixture, Ipv4Addr::LOCALHOST);
    println!("  {} logins, {} failed, longest {:?}", logins.succeeded, logins.failed, logins.longest);
    assert!(logins.succeeded > 5);

    let peak = observe::memory(fixture.array.pid()).unwrap().peak_resident_bytes;
    println!("resident: {} MiB before, {} MiB at most", idle >> 20, peak >> 20);
    assert!(peak <= idle + MEMORY, "{peak} bytes resident at most, {idle} before");
    // The flood is reported in metrics and in a few lines of the log.
    let displaced = fixture.metric("windlass_connections_closed_total{reason=\"displaced\"}");
    assert!(displaced > 1_000.0, "{displaced}");
    assert!(fixture.metric("windlass_connections{stage=\"login\"}") <= limit);
    let lines = lines(&fixture);
    let told: Vec<_> = lines.iter().skip(lines_before).collect();
    assert!(told.iter().any(|line| line.contains("have no session")), "{told:?}");
    assert!(told.len() <= LINES, "{} lines: {told:#?}", told.len());
    // The flood is over: its open connections are gone.
    let started = Instant::now();
    while fixture.metric("windlass_connections{stage=\"login\"}") > 0.0 {
        assert!(started.elapsed() < Duration::from_secs(30), "connections that were closed are still there");
        thread::sleep(Duration::from_millis(100));
    }
}
