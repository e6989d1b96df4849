//! Memory that one host can make the array hold: at most the array's limit, and not the share of
//! other hosts.

use crate::fixture::Fixture;
use array_process::observe;
use bytes::Bytes;
use conformance::initiator::{Session, SessionOptions};
use conformance::url::Url;
use iscsi::initiator::TransferRequest;
use iscsi::pdu::{self, Opcode, ScsiCommand};
use std::thread;
use std::time::{Duration, Instant};

const BLOCK: usize = 512;

fn options(name: &str, qualifier: u16) -> SessionOptions {
    let initiator_name = format!("iqn.2026-01.org.example:{name}");
    SessionOptions { initiator_name, qualifier, ..SessionOptions::default() }
}

/// A session that sends unsolicited data as far as the protocol allows.
fn connect(url: &Url, options: &SessionOptions) -> Session {
    let mut config = Session::config(url, options);
    config.initial_r2t = false;
    config.immediate_data = true;
    config.first_burst_length = 1 << 20;
    let mut session = Session::connect_with(url, options, config).unwrap();
    session.clear_unit_attentions().unwrap();
    session
}

fn cdb16(opcode: u8, lba: u64, blocks: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = opcode;
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

fn url(fixture: &Fixture, volume: &str) -> Url {
    fixture.array.volume(volume).unwrap().url().parse().unwrap()
}

/// Hundreds of concurrent commands that need memory: the array stays within its limit.
#[test]
fn commands_of_all_hosts_work_in_bounded_memory() {
    let fixture = Fixture::start("2G", &["--memory", "256M"]);
    fixture.array.create_volume("v1", "1G").unwrap();
    let url = url(&fixture, "v1");
    let mut sessions: Vec<Session> = (0..4).map(|at| connect(&url, &options("many", at))).collect();
    let content: Bytes = (0..1 << 20).map(|at: u32| (at ^ (at >> 8)) as u8).collect();
    for at in 0..16 {
        let write = sessions[0].execute(cdb16(0x8a, at * 2048, 2048), TransferRequest::Out(content.clone())).unwrap();
        assert_eq!(write.status, 0);
    }
    for session in &mut sessions {
        for at in 0..100 {
            let (cdb, transfer) = match at % 2 {
                0 => (cdb16(0x8f, 0, 32768), TransferRequest::None),
                _ => (cdb16(0x93, 65536 + at * 2048, 2048), TransferRequest::Out(Bytes::from(vec![0xaa; BLOCK]))),
            };
            session.submit(cdb, transfer).unwrap();
        }
    }
    for session in &mut sessions {
        for _ in 0..100 {
            assert_eq!(session.wait_any().unwrap().status, 0);
        }
    }
    let peak = observe::memory(fixture.array.pid()).unwrap().peak_resident_bytes;
    assert!(peak < 256 << 20, "{} MiB", peak >> 20);
}

/// A host that announces seventy large writes and sends hardly any of their data does not affect
/// other hosts.
#[test]
fn writes_that_are_announced_and_never_sent_do_not_make_the_array_busy() {
    let fixture = Fixture::start("1G", &["--memory", "256M"]);
    for volume in ["v1", "v2"] {
        fixture.array.create_volume(volume, "256M").unwrap();
    }
    let mut silent = connect(&url(&fixture, "v1"), &options("silent", 1));
    let lun = silent.lun();
    for tag in 0..70_u32 {
        let machine = silent.machine();
        let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::WRITE, 0x7000 + tag));
        header.cmd_sn = machine.take_cmd_sn().into();
        header.lun = lun;
        header.cdb = cdb16(0x8a, u64::from(tag) * 2048, 2048);
        header.expected_data_transfer_length = (1 << 20).into();
        let mut raw = header.to_wire().to_vec();
        raw[5..8].copy_from_slice(&512_u32.to_be_bytes()[1..]);
        raw.extend_from_slice(&[0; BLOCK]);
        machine.send_raw(raw.into());
    }
    silent.ping(Bytes::from_static(b"all of it is there")).unwrap();
    let mut other = connect(&url(&fixture, "v2"), &options("other", 2));
    for _ in 0..8 {
        other.submit(cdb16(0x8a, 0, 512), TransferRequest::Out(Bytes::from(vec![1; 512 * BLOCK]))).unwrap();
    }
    for _ in 0..8 {
        assert_eq!(other.wait_any().unwrap().status, 0);
    }
}

/// Opens sessions that fill their windows with commands which wait for a missing CmdSN.
fn fill_windows(url: &Url, sessions: u16) -> Vec<Session> {
    (0..sessions)
        .map(|at| {
            let mut session = connect(url, &options("full", at));
            let lun = session.lun();
            for tag in 0..16_u32 {
                let machine = session.machine();
                let mut header = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::WRITE, 0x7000 + tag));
                if tag == 0 {
                    let _left_out = machine.take_cmd_sn();
                }
                header.cmd_sn = machine.take_cmd_sn().into();
                header.lun = lun;
                header.cdb = cdb16(0x8a, u64::from(tag) * 128, 128);
                header.expected_data_transfer_length = (64 << 10).into();
                let mut raw = header.to_wire().to_vec();
                raw[5..8].copy_from_slice(&(64_u32 << 10).to_be_bytes()[1..]);
                raw.resize(raw.len() + (64 << 10), 0xab);
                machine.send_raw(raw.into());
            }
            session.ping(Bytes::from_static(b"all of it is there")).unwrap();
            session
        })
        .collect()
}

/// Regression: the process kept the memory of hundreds of closed sessions: 275 of 297 MiB with
/// `--memory 128M`.
#[test]
fn memory_of_connections_is_returned_when_they_have_gone() {
    let fixture = Fixture::start("1G", &["--memory", "128M"]);
    fixture.array.create_volume("v1", "256M").unwrap();
    let resident = || observe::memory(fixture.array.pid()).unwrap().resident_bytes;
    let before = resident();
    let sessions = fill_windows(&url(&fixture, "v1"), 200);
    let full = resident();
    assert!(full > before + (64 << 20), "{} MiB, then {} MiB", before >> 20, full >> 20);
    drop(sessions);
    let deadline = Instant::now() + Duration::from_secs(120);
    while resident() > before + (32 << 20) {
        assert!(Instant::now() < deadline, "{} MiB, then {}, then {}", before >> 20, full >> 20, resident() >> 20);
        thread::sleep(Duration::from_millis(100));
    }
}
