//! `nas-reserve`: thick disks on a file server. Off, the host reserves space by writing zeros; on,
//! fallocate or ALLOCATE does: lazy (allocated blocks that read as zeros) and eager (zeroed ones).
//! Then a file system is filled, and the reserved space must be writable to the last byte.
//!
//! Only a small file system, created for tests, is filled: the directory's own if its size is at
//! most [`SMALL`] times that of the case, else a tmpfs of the case where the user may mount one. A
//! machine's disk is never filled.

use super::content::{self, BLOCK, Found, MIB};
use super::files::{Files, Reserve, Room};
use super::findings::Findings;
use super::{Bench, NasError};
use crate::results::{Better, Paper};
use std::time::Instant;

pub(super) const TITLE: &str =
    "Thick disks on a file server are reserved, lazily and eagerly; then the file system is filled";

/// A file system of at most this many times the size of the case counts as created for tests.
const SMALL: u64 = 8;

pub(super) fn paper() -> Paper {
    Paper {
        test: "P4, reserve space".into(),
        system: "EMC VNX for File, NFSv3, ESXi 5.0".into(),
        words: "Thick lazy and eager disks can be created on NFS, where only thin ones existed before; the reservation holds.".into(),
        figures: Vec::new(),
    }
}

pub(super) fn run(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    for round in bench.rounds() {
        let mut turns = [Reserve::WriteZeros, Reserve::Lazy, Reserve::Eager];
        if round % 2 == 0 {
            turns.reverse();
        }
        for how in turns {
            bench.check_cancelled()?;
            match once(bench, findings, how) {
                Ok(()) => {}
                Err(error @ NasError::Unsupported { .. }) if how == Reserve::Lazy => {
                    findings.skipped = Some(error.to_string())
                }
                Err(error @ NasError::Unsupported { .. }) => findings.note(error.to_string()),
                Err(error) => return Err(error),
            }
        }
    }
    if findings.skipped.is_some() {
        return Ok(());
    }
    findings.goal_faster(20.0);
    fill(bench, findings)
}

fn reserve(bench: &Bench<'_>, how: Reserve, files: &dyn Files, name: &str, bytes: u64) -> Result<(), NasError> {
    match how {
        Reserve::Lazy | Reserve::Eager => files.reserve(how, name, bytes)?,
        Reserve::WriteZeros => {
            let zeros = vec![0; 1 << 20];
            for offset in (0..bytes).step_by(1 << 20) {
                bench.check_cancelled()?;
                files.write(name, offset, &zeros)?;
            }
        }
    }
    files.sync(name)
}

fn once(bench: &Bench<'_>, findings: &mut Findings, how: Reserve) -> Result<(), NasError> {
    let (files, name) = (bench.files(), "thick");
    let call = files.call_of_reserve(how);
    let server_before = files.server_bytes();
    let began = Instant::now();
    files.create(name)?;
    let reserved = reserve(bench, how, files, name, bench.size());
    let time = began.elapsed().as_secs_f64();
    let server = server_before.zip(files.server_bytes()).map(|(before, after)| after.saturating_sub(before));
    if let Err(error) = reserved {
        files.remove(name)?;
        return Err(error);
    }
    let usage = files.usage(name)?;
    let size = bench.size();
    let values = match how {
        Reserve::WriteZeros => &mut findings.off,
        Reserve::Lazy => &mut findings.on,
        Reserve::Eager => findings.others.entry("eager").or_default(),
    };
    values.seconds("seconds", time);
    values.bytes("used_bytes", usage.used, Better::Neither);
    if let Some(server) = server {
        values.bytes("server_bytes", server, Better::Lower);
    }
    let who = if how == Reserve::WriteZeros { "zeros written by this host" } else { "offloaded" };
    values.moved_bytes = [(who.to_owned(), size)].into();
    findings
        .check(usage.capacity == size, || format!("{call}: the disk has {} bytes, expected {size}", usage.capacity));
    // A file system that compresses may store none of the written zeros; reserved space
    // must be allocated.
    let reserved = usage.used >= size || how == Reserve::WriteZeros;
    findings.check(reserved, || format!("{call}: only {} of {size} bytes are reserved", usage.used));
    if how == Reserve::WriteZeros && usage.used < size {
        findings.note(format!(
            "The file system keeps {} bytes of written zeros: writing them reserves nothing here.",
            usage.used
        ));
    }
    let wrong = content::verify(bench, files, name, |_| Found::Zeros)?;
    findings
        .check(wrong.is_none(), || format!("{call}: a new disk does not read as zeros: {}", wrong.unwrap_or_default()));
    files.remove(name)
}

/// Fills a small file system, and then writes the reserved disk.
fn fill(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    let ran = on_small(bench, findings, "the reservation", |bench, findings, files, room| {
        full(bench, findings, files, room.free / 2)
    })?;
    if let Err(reason) = ran {
        findings.note(format!("Whether a reservation holds when the file system is full was not tested: {reason}."));
    }
    Ok(())
}

/// Runs a test that fills a file system on the directory's own if that is small, else on a small one of the
/// case. Returns the reason when there is none.
pub(super) fn on_small(
    bench: &Bench<'_>,
    findings: &mut Findings,
    what: &str,
    test: impl FnOnce(&Bench<'_>, &mut Findings, &dyn Files, Room) -> Result<(), NasError>,
) -> Result<Result<(), String>, NasError> {
    let bound = SMALL.saturating_mul(bench.size());
    let files = bench.files();
    if let Some(room) = files.room().filter(|room| room.size <= bound) {
        findings.note(format!("All of the file system ({} bytes) was filled for the test of {what}.", room.size));
        return test(bench, findings, files, room).map(Ok);
    }
    let small = match files.small() {
        Ok(small) => small,
        Err(error @ NasError::Unsupported { .. }) => {
            return Ok(Err(format!("that of the directory is larger than {bound} bytes, and {error}")));
        }
        Err(error) => return Err(error),
    };
    let Some(room) = small.room() else {
        small.close()?;
        return Ok(Err("the small one does not report its room".into()));
    };
    findings.note(format!(
        "The directory's file system is larger than {bound} bytes and was not filled: {what} was tested on one of {} bytes in memory.",
        room.size
    ));
    let tested = test(bench, findings, &*small, room);
    small.close()?;
    tested.map(Ok)
}

/// Reserves space, fills the rest of the file system, and writes the reserved space.
fn full(bench: &Bench<'_>, findings: &mut Findings, files: &dyn Files, reserved: u64) -> Result<(), NasError> {
    let bytes = reserved / MIB * MIB;
    let (name, rest) = ("reserved", "rest");
    files.create(name)?;
    reserve(bench, Reserve::Lazy, files, name, bytes)?;
    let filled = until_full(bench, files, rest)?;
    findings.on.bytes("filled_bytes", filled, Better::Neither);
    findings.on.bytes("reserved_bytes", bytes, Better::Neither);
    // No space is left for other files.
    let written = content::fill(bench, files, name, 0..bytes).and_then(|()| files.sync(name));
    match written {
        Err(NasError::Cancelled) => return Err(NasError::Cancelled),
        written => findings.check(written.is_ok(), || {
            format!(
                "the reservation did not hold on a full file system: {}",
                written.err().map(|error| error.to_string()).unwrap_or_default()
            )
        }),
    }
    files.forget(name);
    let wrong = content::difference(&content::inspect(bench, files, name)?, |_| Found::Stamp(0));
    findings
        .check(wrong.is_none(), || format!("data written into the reservation differs: {}", wrong.unwrap_or_default()));
    files.remove(rest)?;
    files.remove(name)
}

/// Writes a new file until no space is left. Syncs, so that delayed allocation cannot hide a full file system.
pub(super) fn until_full(bench: &Bench<'_>, files: &dyn Files, name: &str) -> Result<u64, NasError> {
    files.create(name)?;
    let mut offset = 0;
    for step in [MIB, BLOCK] {
        loop {
            bench.check_cancelled()?;
            let data: Vec<u8> =
                (offset / BLOCK..(offset + step) / BLOCK).flat_map(|number| content::block(number, 1)).collect();
            let written = files.write(name, offset, &data);
            match written.and_then(|()| if offset % (32 * MIB) == 0 { files.sync(name) } else { Ok(()) }) {
                Ok(()) => offset += step,
                Err(NasError::Full { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        match files.sync(name) {
            Err(NasError::Full { .. }) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(offset)
}
