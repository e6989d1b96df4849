//! Steps, one file each. A script beside it has the checks.

mod copies;
mod exercisers;
mod exports;
mod files;
mod full_pool;
mod killed;
mod mounts;
mod refusals;
mod restarted;
mod sharing;
mod snapshots;
mod software;
mod trimmed;
mod wire;

pub(super) use exercisers::archive;

use super::lab::Lab;
use crate::vm::run::Step;

/// Names of the steps that need [`archive`].
pub(super) const WITH_ARCHIVE: [&str; 2] = [EXERCISERS, POSIX];
const EXERCISERS: &str = "exercisers";
const POSIX: &str = "posix";

/// All steps, in order.
pub(super) const ALL: &[Step<Lab>] = &[
    Step { name: "mounts", asks: "NFSv4.2, 4.1 and 3 are mounted as documented; others are refused", run: mounts::run },
    Step { name: "files", asks: "names, attributes, links, directories and extended attributes", run: files::run },
    Step { name: "copies", asks: "CLONE, COPY, ALLOCATE, DEALLOCATE and SEEK are used and correct", run: copies::run },
    Step { name: "sharing", asks: "two mounts: locks, and files that the other changes or removes", run: sharing::run },
    Step { name: "refusals", asks: "a read-only share, and a full one", run: refusals::run },
    Step { name: "software", asks: "git, sqlite3, tar, rsync and others", run: software::run },
    Step { name: EXERCISERS, asks: "random operations: fsx, and fio, which verifies", run: exercisers::run },
    Step { name: POSIX, asks: "the rules of POSIX: pjdfstest", run: exercisers::posix },
    Step { name: "exports", asks: "rules of access change under a mount", run: exports::run },
    Step { name: "full-pool", asks: "the pool fills up under a share, and has room again", run: full_pool::run },
    Step { name: "trimmed", asks: "fstrim in a file gives blocks back to the pool", run: trimmed::run },
    Step { name: "snapshots", asks: "a snapshot, a clone of it and roll-back under a mount", run: snapshots::run },
    Step { name: "restarted", asks: "the array starts again under open files and locks", run: restarted::run },
    Step { name: "killed", asks: "kill -9 of the server under eight writers with journals", run: killed::run },
    Step { name: "wire", asks: "packets: nothing malformed, nothing sent again", run: wire::run },
];
