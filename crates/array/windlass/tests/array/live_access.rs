//! Grants that change while hosts are logged in.

use crate::fixture::{Fixture, wait_for};
use conformance::cdb;
use conformance::initiator::{Session, SessionOptions};
use conformance::kit::wire::{Pdu, Received, Wire};
use conformance::url::Url;
use std::time::{Duration, Instant};

const BLOCKS: u32 = 32;

/// A WRITE waits for its data while its LUN is given to another volume.
#[test]
fn a_write_is_for_the_volume_that_stood_there_when_it_came() {
    let fixture = Fixture::start("256M", &[]);
    let url: Url = fixture.array.create_volume("v1", "16M").unwrap().url().parse().unwrap();
    fixture.ok(&["volume", "create", "v2", "--size", "16M"]);
    let keys = [("InitialR2T", "Yes"), ("ImmediateData", "No")];
    let (mut wire, _) = Wire::full_feature(&url, &SessionOptions::default(), &keys).unwrap();
    wire.clear_unit_attentions().unwrap();
    let bytes = BLOCKS * 512;
    let write = wire.command(200, 0xa0, bytes, &cdb::write16(0, BLOCKS, false));
    wire.send(&write).unwrap();
    let asked = wire.must_receive().unwrap();
    assert_eq!(asked.opcode(), 0x31, "an R2T");

    let lun = url.lun.to_string();
    fixture.ok(&["access", "revoke", "v1", "--all", "--yes"]);
    fixture.ok(&["access", "grant", "v2", "--any", "--lun", &lun]);
    // The host gets the unit attention, and sends the data nevertheless.
    wire.clear_unit_attentions().unwrap();
    let data = vec![0xa5; bytes as usize];
    wire.send(&Pdu::new(0x05, 0x80, 200).word(20, asked.get(20)).word(28, wire.exp_stat_sn).data(data)).unwrap();
    let Received::Pdu(answer) = wire.receive().unwrap() else { panic!("no answer to the write") };
    assert_eq!((answer.opcode(), answer.header[3]), (0x21, 0x02), "CHECK CONDITION");
    assert_eq!(
        (answer.data[4] & 0xf, answer.data[14], answer.data[15]),
        (0x05, 0x25, 0x00),
        "LOGICAL UNIT NOT SUPPORTED"
    );
    drop(wire);

    let mut session = Session::connect(&url, &SessionOptions::default()).unwrap();
    session.clear_unit_attentions().unwrap();
    let zeros = vec![0; bytes as usize];
    assert_eq!(session.read16(0, BLOCKS).unwrap(), zeros, "v2");
    fixture.ok(&["access", "revoke", "v2", "--all", "--yes"]);
    fixture.ok(&["access", "grant", "v1", "--any", "--lun", &lun]);
    session.clear_unit_attentions().unwrap();
    assert_eq!(session.read16(0, BLOCKS).unwrap(), zeros, "v1");
}

/// A session that used a grant to any host must not become the session of a host that has to
/// authenticate.
#[test]
fn who_did_not_prove_it_is_not_the_host() {
    let fixture = Fixture::start("256M", &[]);
    let volume = fixture.array.create_volume("open", "16M").unwrap();
    let url: Url = volume.url().parse().unwrap();
    let named = |name: &str| SessionOptions {
        initiator_name: format!("iqn.2026-01.org.example:{name}"),
        ..SessionOptions::default()
    };
    let mut stranger = Session::connect(&url, &named("victim")).unwrap();
    let mut other = Session::connect(&url, &named("other")).unwrap();
    for session in [&mut stranger, &mut other] {
        session.clear_unit_attentions().unwrap();
    }
    let secret = fixture.directory().join("secret");
    std::fs::write(&secret, "twelve-chars-and-more").unwrap();
    let source = format!("file:{}", secret.display());
    let iqn = "iqn.2026-01.org.example:victim";
    fixture.ok(&["host", "create", "victim", "--iqn", iqn, "--chap-user", "victim", "--chap-secret", &source]);
    fixture.ok(&["volume", "create", "secret", "--size", "16M"]);
    fixture.ok(&["access", "grant", "secret", "--host", "victim", "--lun", "7"]);
    assert!(stranger.report_luns().is_err(), "its session has ended");
    assert_eq!(other.report_luns().unwrap().len(), 1);
    assert!(Session::connect(&url, &named("victim")).is_err(), "a login without CHAP");

    // An authenticated session survives a new secret of its host; the next login needs the new one.
    let mut proving = url.clone();
    proving.chap = Some(conformance::url::UserSecret { user: "victim".into(), secret: "twelve-chars-and-more".into() });
    let mut proven = Session::connect(&proving, &named("victim")).unwrap();
    proven.clear_unit_attentions().unwrap();
    assert_eq!(proven.report_luns().unwrap().len(), 2);
    std::fs::write(&secret, "another-secret-now").unwrap();
    fixture.ok(&["host", "set", "victim", "--chap-user", "victim", "--chap-secret", &source]);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(200) {
        assert_eq!(proven.report_luns().unwrap().len(), 2);
    }
    let mut again = named("victim");
    again.qualifier = 2;
    assert!(Session::connect(&proving, &again).is_err(), "the old secret");
}

/// Regression: a wrong CHAP secret, and an initiator that belongs to no host, left no line in the
/// log.
#[test]
fn a_refused_login_is_logged_with_its_reason() {
    let mut fixture = Fixture::start("256M", &[]);
    let volume = fixture.array.create_volume("open", "16M").unwrap();
    let mut url: Url = volume.url().parse().unwrap();
    let secret = fixture.directory().join("secret");
    std::fs::write(&secret, "twelve-chars-and-more").unwrap();
    let source = format!("file:{}", secret.display());
    let iqn = "iqn.2026-01.org.example:known";
    fixture.ok(&["host", "create", "known", "--iqn", iqn, "--chap-user", "known", "--chap-secret", &source]);
    fixture.ok(&["access", "revoke", "open", "--all", "--yes"]);
    fixture.ok(&["access", "grant", "open", "--host", "known"]);
    let refused = |fixture: &Fixture, url: &Url, name: &str, reason: &str| {
        let initiator_name = format!("iqn.2026-01.org.example:{name}");
        let options = SessionOptions { initiator_name: initiator_name.clone(), ..SessionOptions::default() };
        Session::connect(url, &options).unwrap_err();
        wait_for(reason, || {
            let log = fixture.log_of_last_start();
            let named =
                |line: &&str| line.contains("WARN") && line.contains(&initiator_name) && line.contains("127.0.0.1:");
            log.lines().filter(named).any(|line| line.contains("login refused") && line.contains(reason))
        });
    };
    refused(&fixture, &url, "unknown", "no host with this name");
    // One line in ten seconds, but the first one after a start.
    fixture.kill_and_restart();
    url.chap = Some(conformance::url::UserSecret { user: "known".into(), secret: "another-secret-now".into() });
    refused(&fixture, &url, "known", "wrong CHAP name or response");
}

/// Members of a host group see its volumes at the same LUN from joining to leaving, also after a
/// crash.
#[test]
fn a_host_group_s_members_see_the_same_lun_at_once() {
    let mut fixture = Fixture::start("256M", &[]);
    fixture.array.create_volume("open", "16M").unwrap();
    fixture.ok(&["volume", "create", "shared", "--size", "16M"]);
    for host in ["one", "two"] {
        fixture.ok(&["host", "create", host, "--iqn", &format!("iqn.2026-01.org.example:{host}")]);
    }
    fixture.ok(&["host-group", "create", "cluster", "one"]);
    fixture.ok(&["access", "grant", "shared", "--group", "cluster", "--lun", "9"]);
    let mut sessions = ["one", "two"].map(|host| fixture.log_in_as(host, "open"));
    let sees = |session: &mut Session| {
        session.clear_unit_attentions().unwrap();
        session.report_luns().unwrap().len()
    };
    assert_eq!(sessions.each_mut().map(sees), [2, 1]);
    fixture.ok(&["host-group", "set", "cluster", "--add", "two"]);
    assert_eq!(sessions.each_mut().map(sees), [2, 2]);
    fixture.ok(&["volume", "create", "own", "--size", "16M"]);
    let taken = fixture.try_run(&["access", "grant", "own", "--host", "two", "--lun", "9"]);
    assert_eq!(taken.status.code(), Some(4));
    fixture.ok(&["host-group", "set", "cluster", "--remove", "one", "--yes"]);
    assert_eq!(sessions.each_mut().map(sees), [1, 2]);
    drop(sessions);
    fixture.kill_and_restart();
    let mut sessions = ["one", "two"].map(|host| fixture.log_in_as(host, "open"));
    assert_eq!(sessions.each_mut().map(sees), [1, 2]);
}
