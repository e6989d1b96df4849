//! `nas-thick-clone`: a thick disk is cloned, and the clone made thick too. Then the file system is filled, and
//! both disks are overwritten to the last byte: the space of each was promised, also for blocks that they share.

use super::content::{self, BLOCK, Found, MIB};
use super::files::{Files, Method, Reserve, Room};
use super::findings::Findings;
use super::reserve::{on_small, until_full};
use super::{Bench, NasError};
use crate::results::{Better, Paper};
use std::time::Instant;

pub(super) const TITLE: &str = "A thick disk is cloned, the file system is filled, and both disks are overwritten";

/// Part of the free space that each disk takes.
const PART: u64 = 8;

pub(super) fn paper() -> Paper {
    Paper {
        test: "P4, reserve space and full file clone".into(),
        system: "EMC VNX for File, NFSv3, ESXi 5.0".into(),
        words: "The paper clones disks and reserves space, but does not report whether a clone of a thick disk keeps its space.".into(),
        figures: Vec::new(),
    }
}

pub(super) fn run(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    bench.check_cancelled()?;
    if let Err(reason) = on_small(bench, findings, "thick clones", test)? {
        findings.skipped = Some(format!("the case fills a file system: {reason}"));
    }
    Ok(())
}

fn test(bench: &Bench<'_>, findings: &mut Findings, files: &dyn Files, room: Room) -> Result<(), NasError> {
    let bytes = (room.free / PART / MIB * MIB).max(MIB);
    let (source, clone, rest) = ("source", "clone", "rest");
    files.create(source)?;
    files.reserve(Reserve::Lazy, source, bytes)?;
    content::fill(bench, files, source, 0..bytes)?;
    files.sync(source)?;
    files.create(clone)?;
    let began = Instant::now();
    files.share(source, clone)?;
    findings.on.seconds("seconds", began.elapsed().as_secs_f64());
    let call = files.call_of(Method::Clone);
    let found = content::inspect(bench, files, clone)?;
    let wrong = content::difference(&found, |_| Found::Stamp(0));
    findings.check(wrong.is_none() && found.len() as u64 == bytes / BLOCK, || {
        format!("{call}: the copy has {} blocks and differs: {}", found.len(), wrong.unwrap_or_default())
    });
    files.reserve(Reserve::Lazy, clone, bytes)?;
    files.sync(clone)?;
    findings.on.bytes("disk_bytes", bytes, Better::Neither);
    findings.on.moved_bytes = [("offloaded".to_owned(), bytes)].into();
    findings.on.bytes("filled_bytes", until_full(bench, files, rest)?, Better::Neither);
    for (name, stamp) in [(clone, 1), (source, 2)] {
        match overwrite(bench, files, name, bytes, stamp) {
            Err(NasError::Cancelled) => return Err(NasError::Cancelled),
            written => findings.check(written.is_ok(), || {
                let error = written.err().map(|error| error.to_string()).unwrap_or_default();
                format!(
                    "after {call} of a thick disk, the {name} could not be overwritten on a full file system: {error}"
                )
            }),
        }
    }
    for (name, stamp) in [(clone, 1), (source, 2)] {
        files.forget(name);
        let found = content::inspect(bench, files, name)?;
        let wrong = content::difference(&found, |_| Found::Stamp(stamp));
        findings.check(wrong.is_none() && found.len() as u64 == bytes / BLOCK, || {
            format!("the {name} differs from what was written: {}", wrong.unwrap_or_default())
        });
    }
    for name in [rest, clone, source] {
        files.remove(name)?;
    }
    Ok(())
}

/// Writes every block with a stamp.
fn overwrite(bench: &Bench<'_>, files: &dyn Files, name: &str, bytes: u64, stamp: u64) -> Result<(), NasError> {
    for first in (0..bytes / BLOCK).step_by(256) {
        bench.check_cancelled()?;
        let last = (first + 256).min(bytes / BLOCK);
        let data: Vec<u8> = (first..last).flat_map(|number| content::block(number, stamp)).collect();
        files.write(name, first * BLOCK, &data)?;
    }
    files.sync(name)
}
