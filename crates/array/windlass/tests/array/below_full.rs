//! A full file system below a sparse pool does not prevent the array from starting or from serving
//! reads.
//!
//! Regression: the array refused to start, even after a clean stop, because replay takes a
//! checkpoint, which found no room. All volumes were offline, for reads too, until an administrator
//! freed space. A clean stop failed as well.

use crate::fixture::{Fixture, sense, wait_for};
use conformance::initiator::Session;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const SECTORS: u64 = 2048;

/// Small file system in memory, unmounted on drop.
struct Small(PathBuf);

impl Small {
    /// Mounts it; as error, the reason why this machine cannot.
    fn mount(at: &Path) -> Result<Self, String> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256M", "windlass-test"]).arg(at);
        let output = mount.output().map_err(|error| format!("mount: {error}"))?;
        match output.status.success() {
            true => Ok(Self(at.to_owned())),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    /// Takes the rest of the space, as a log file does that is never rotated.
    fn fill(&self) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        for bytes in [1 << 20, 4096] {
            while file.write_all(&vec![1; bytes]).is_ok() {}
        }
    }

    fn enlarge(&self) {
        let status = Command::new("mount").args(["-o", "remount,size=1G"]).arg(&self.0).status().unwrap();
        assert!(status.success(), "cannot enlarge the file system");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _status = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// One MiB of data without zeros and without repetitions.
fn data(seed: u64) -> Vec<u8> {
    random::pattern(seed, SECTORS * 512)
}

/// Number of MiB written before the file system is full.
const WRITTEN: u64 = 100;

/// Writes MiB after MiB.
fn write(session: &mut Session) {
    for number in 0..WRITTEN {
        loop {
            match session.write16(number * SECTORS, data(number).into()) {
                Ok(()) => break,
                // The write crossed a threshold.
                Err(error) => assert_eq!(sense(&error).0, 6, "{error}"),
            }
        }
    }
}

fn has_alert(fixture: &Fixture) -> bool {
    fixture.ok(&["alert", "list"]).contains("below-full")
}

#[track_caller]
fn assert_reads(fixture: &Fixture, written: u64) {
    let mut session = fixture.log_in("v1");
    for number in 0..written {
        let stored = session.read16(number * SECTORS, SECTORS as u32).unwrap();
        assert!(stored == data(number), "MiB {number} is not what was acknowledged");
    }
    session.logout().unwrap();
}

#[test]
fn an_array_starts_and_serves_reads_while_the_file_system_below_is_full() {
    let mut mounted = Err("not tried".to_owned());
    let mut fixture = Fixture::start_over("1G", &[], |state| mounted = Small::mount(state));
    // Declared after the fixture, and so unmounted before its directory is removed.
    let small = match mounted {
        Ok(small) => small,
        Err(reason) => return println!("skipped: no small file system can be mounted here: {reason}"),
    };
    fixture.array.create_volume("v1", "2G").unwrap();
    let mut session = fixture.log_in("v1");
    write(&mut session);
    small.fill();
    // A small overwrite of a block that nothing shares needs no space.
    let block = || bytes::Bytes::from(data(0)[..4096].to_vec());
    session.write16(0, block()).unwrap();
    // Small writes that need blocks stay in the log; replay finds them there without room for the
    // blocks.
    let scattered = |number: u64| (1024 + number) * SECTORS;
    let small_writes = (0..512).take_while(|&number| session.write16(scattered(number), block()).is_ok()).count();
    assert!(small_writes > 0, "no small write was taken");
    let refused = |session: &mut Session| {
        let refused = session.write16(WRITTEN * SECTORS, data(WRITTEN).into()).unwrap_err();
        assert_eq!(sense(&refused), (7, 0x27, 7), "{refused}");
    };
    refused(&mut session);
    assert!(has_alert(&fixture), "a write was refused, and no alert says why");
    drop(session);

    fixture.kill_and_restart();
    // It does not wait for a host that writes.
    wait_for("the alert below-full after a start", || has_alert(&fixture));
    assert!(fixture.ok(&["pool", "list"]).contains("below-full"));
    // The event before the kill could not be stored; each start raises it anew.
    let has_event = || fixture.ok(&["event", "list", "--code", "below-full"]).contains("is full: nothing new");
    wait_for("the event below-full after a start", has_event);
    assert_reads(&fixture, WRITTEN);
    let mut session = fixture.log_in("v1");
    for number in 0..small_writes as u64 {
        assert_eq!(session.read16(scattered(number), 8).unwrap(), block(), "small write {number}");
    }
    refused(&mut session);
    drop(session);

    // A clean stop succeeds, and the pool that it leaves opens as well.
    fixture.array.stop().unwrap();
    fixture.array.restart().unwrap();
    assert_reads(&fixture, WRITTEN);

    // Writes continue without a restart once there is room.
    small.enlarge();
    let mut session = fixture.log_in("v1");
    wait_for("a write that needs space is taken", || session.write16(WRITTEN * SECTORS, data(WRITTEN).into()).is_ok());
    drop(session);
    assert_reads(&fixture, WRITTEN + 1);
    fixture.array.stop().unwrap();
}
