//! Steps, one file each.

pub(super) mod connect;
pub(super) mod copies;
pub(super) mod differential;
pub(super) mod file_systems;
pub(super) mod fio;
pub(super) mod killed;
pub(super) mod login;
pub(super) mod multipath;
pub(super) mod probes;
pub(super) mod reservations;

use super::lab::Lab;
use super::run::Step;

/// All steps, in order.
pub(super) const ALL: &[Step<Lab>] = &[
    Step { name: "login", asks: "discovery, CHAP, digests, and the ways a login fails", run: login::run },
    Step {
        name: "connect",
        asks: "what `windlass connect` prints, entered as it stands: from a wrong secret to a mounted file system",
        run: connect::run,
    },
    Step {
        name: "multipath",
        asks: "dm-multipath over two portals that fail in turns under verifying I/O",
        run: multipath::run,
    },
    Step {
        name: "probes",
        asks: "sg3_utils: what the array says of itself, and every command it has",
        run: probes::run,
    },
    Step { name: "reservations", asks: "sg_persist, every action; fencing with mpathpersist", run: reservations::run },
    Step { name: "copies", asks: "ddpt and sg_xcopy: EXTENDED COPY; tokens", run: copies::run },
    Step {
        name: "file-systems",
        asks: "fsx and fio on XFS and ext4; space back; growth; snapshots of a mounted file system",
        run: file_systems::run,
    },
    Step { name: "killed", asks: "kill -9 of the array under verifying I/O", run: killed::run },
    Step {
        name: "differential",
        asks: "the same commands to the array and to LIO: same answers, or a reason",
        run: differential::run,
    },
];
