//! Memory that one host can make the array hold: at most the array's limit, and not the share of
//! other hosts.

use crate::fixture::Fixture;
use array_process::observe;
use bytes::Bytes;
use conformance::initiator::{Session, SessionOptions};
use conformance::url::Url;
use iscsi::initiator::TransferRequest;
use iscsi::pdu::{self, Opcode, ScsiCommand};
use random::Random;
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

/// Regression: freed buffers of large commands became small blocks, and each new one took new memory.
/// Eight sessions with commands of 1 MiB held 318 MiB with `--memory 128M`, of which 66 were in use.
#[test]
fn large_and_small_commands_together_stay_within_the_limit() {
    let fixture = Fixture::start("8G", &["--memory", "128M"]);
    fixture.array.create_volume("v1", "16G").unwrap();
    let url = url(&fixture, "v1");
    let mut sessions: Vec<Session> = (0..8).map(|at| connect(&url, &options("mixed", at))).collect();
    let [large, small] = [1 << 20, 4 << 10].map(|bytes| Bytes::from(vec![0xcd; bytes]));
    let random = Random::new(1);
    for round in 0..60 {
        if round % 10 == 9 {
            fixture.array.command(&["snapshot", "create", "v1", &format!("s{round}")]).unwrap();
        }
        for session in &mut sessions {
            for at in 0..32 {
                let (cdb, transfer) = match at % 8 {
                    0 | 1 => (cdb16(0x88, at * 2048, 2048), TransferRequest::In(1 << 20)),
                    2 => (cdb16(0x8a, at * 2048, 2048), TransferRequest::Out(large.clone())),
                    _ => (cdb16(0x8a, random.below(1 << 22) * 8, 8), TransferRequest::Out(small.clone())),
                };
                session.submit(cdb, transfer).unwrap();
            }
        }
        for session in &mut sessions {
            for _ in 0..32 {
                let status = session.wait_any().unwrap().status;
                assert!(status == 0 || status == 8, "{status}");
            }
        }
    }
    let memory = observe::memory(fixture.array.pid()).unwrap();
    // The program of a debug build is more than twice as large as a release, and grows with each feature: without it,
    // all has to be within the setting.
    let peak = memory.peak_resident_bytes - memory.program_bytes;
    assert!(peak < (128 << 20) + 8 * PER_CONNECTION, "{} MiB", peak >> 20);
    println!("{} MiB, and {} MiB of the program", peak >> 20, memory.program_bytes >> 20);
}

/// Most resident memory that each connection adds.
const PER_CONNECTION: u64 = 512 << 10;

/// Hundreds of sessions with a few small commands each stay near the limit: each one adds little.
/// Regression: each connection had a receive buffer of 128 KiB.
#[test]
fn hundreds_of_sessions_add_little() {
    let fixture = Fixture::start("4G", &["--memory", "128M"]);
    fixture.array.create_volume("v1", "16G").unwrap();
    let url = url(&fixture, "v1");
    let resident = || observe::memory(fixture.array.pid()).unwrap().resident_bytes;
    let small = Bytes::from(vec![0xcd; 4 << 10]);
    let mut sessions: Vec<Session> = (0..200).map(|at| connect(&url, &options("little", at))).collect();
    let run = |sessions: &mut [Session], round: u64| {
        for (at, session) in sessions.iter_mut().enumerate() {
            let write = cdb16(0x8a, (round * 200 + at as u64) * 4096, 8);
            assert_eq!(session.execute(write, TransferRequest::Out(small.clone())).unwrap().status, 0);
        }
    };
    // The pool has its blocks in memory before anything is compared.
    (0..40).for_each(|round| run(&mut sessions[..1], round));
    let before = resident();
    (0..40).for_each(|round| run(&mut sessions, round));
    let written = 40 * 200 * (4 << 10);
    let added = resident().saturating_sub(before).saturating_sub(written);
    assert!(added < 200 * (48 << 10), "{} KiB each", (added / 200) >> 10);
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
    let sessions = fill_windows(&url(&fixture, "v1"), 400);
    let full = resident();
    assert!(full > before + (64 << 20), "{} MiB, then {} MiB", before >> 20, full >> 20);
    drop(sessions);
    let deadline = Instant::now() + Duration::from_secs(120);
    while resident() > before + (32 << 20) {
        assert!(Instant::now() < deadline, "{} MiB, then {}, then {}", before >> 20, full >> 20, resident() >> 20);
        thread::sleep(Duration::from_millis(100));
    }
}
