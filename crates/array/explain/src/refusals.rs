//! Reasons why an offload command was refused, or had no benefit.

use crate::Entry;
use crate::Step::{Do, Run};
use crate::explained as of;

const REPORT: &str =
    "Note the versions of the host and of its driver, and report it with the examples of the offload log.";

pub(crate) const ENTRIES: &[Entry] = &[
    of(
        "aborted",
        "The host gave the command up before it ended, or another host's command aborted it.",
        &["A timeout in the host.", "A reset of the path or of the logical unit."],
        &[Do("Compare the times of the primitive with the timeouts of the host:"), Run("windlass offload stats")],
    ),
    of(
        "bad-descriptor",
        "A descriptor of the command's parameter list is malformed, or of a type that the array does not support.",
        &["A defect of the host's driver.", "A copy between kinds of devices that no array supports."],
        &[Do(REPORT)],
    ),
    of(
        "bad-length",
        "The parameter list or the data has another length than the command needs.",
        &["A defect of the host's driver."],
        &[Do(REPORT)],
    ),
    of(
        "bad-stateid",
        "The stateid of the request names no open, lock or copy of this client.",
        &["The server restarted, or the client's lease ran out while it was silent.", "A defect of the client."],
        &[Do("The client opens the file again by itself; if it does not, unmount the share there and mount it again.")],
    ),
    of(
        "below-grain",
        "All ranges to be freed were smaller than the 4 KiB in which the pool maps space: nothing could be freed.",
        &["The guest frees small pieces one by one.", "A partition that does not begin at a multiple of 4 KiB."],
        &[Do("Run fstrim, or the like, in the guest from time to time: it frees whole pieces.")],
    ),
    of(
        "beyond-end",
        "The range of the request does not lie in the file.",
        &["The file was cut while the copy was in progress.", "The program asks for more than the file has."],
        &[Do("Repeat the copy with the present size of the file.")],
    ),
    of(
        "cleared",
        "The volume was rolled back or sanitized while the command was in progress.",
        &[],
        &[Do("The host repeats it. Unmount a volume in the host before it is rolled back.")],
    ),
    of(
        "cross-share",
        "Source and destination are in different shares, and blocks are only shared within one.",
        &[],
        &[Do("Copy within one share, or let the host move the data.")],
    ),
    of(
        "file-too-large",
        "The file would become larger than a file can be.",
        &[],
        &[Do("Use several files, or a volume.")],
    ),
    of(
        "internal-error",
        "The engine could not carry the command out, although the pool works.",
        &["A defect of the array."],
        &[Do("Report it with the log of the array at that time:"), Run("journalctl -u windlass --since -1h")],
    ),
    of(
        "invalid-field",
        "A field of the command is not supported, or has a value that the standard does not allow.",
        &["The host tries whether the array has a feature; then it goes on without.", "A defect of the host's driver."],
        &[Do(REPORT)],
    ),
    of(
        "invalid-token",
        "The token of an offloaded copy cannot be used.",
        &["It is older than its life.", "It belongs to another host.", "The array restarted after it was made."],
        &[Do(
            "Nothing: the host copies the data itself instead. If it happens often, look for slow copies in the host.",
        )],
    ),
    of(
        "list-id-in-use",
        "Another copy with the same list identifier is in progress.",
        &["Two programs of one host copy at the same time."],
        &[Do("Nothing: the host repeats it with another identifier.")],
    ),
    of(
        "locked",
        "Another client has locked the range of the file, or denies others the access to it.",
        &["A virtual machine is running from the file on another host."],
        &[Do("End the use of the file on the other host. What the clients hold:"), Run("windlass nfs client list")],
    ),
    of(
        "media-error",
        "Stored data could not be read, or its checksum is wrong.",
        &["A defect of the disk below the pool."],
        &[
            Run("windlass status"),
            Run("windlass pool scrub POOL"),
            Do("Replace the disk, and restore what is damaged."),
        ],
    ),
    of(
        "medium-not-present",
        "A host has ejected the medium of the volume.",
        &["START STOP UNIT with the eject bit, as by the command eject."],
        &[Do("Load the medium again from a host, as by: eject -t /dev/DISK.")],
    ),
    of(
        "misaligned",
        "The range does not begin or end at a multiple of the pool's 4 KiB, so that blocks could not be shared.",
        &["A partition or virtual disk that does not begin at a multiple of 4 KiB."],
        &[Do("New partitions and virtual disks are aligned. An old one has to be moved to a new one to profit.")],
    ),
    of(
        "no-space",
        "The pool is full.",
        &[],
        &[
            Do("See what frees space, and grow the pool or delete what is not needed:"),
            Run("windlass pool show POOL"),
            Run("windlass trash list"),
        ],
    ),
    of(
        "no-space-for-reservation",
        "The pool has room, but not enough to promise it all.",
        &["Reserved volumes, shares and files have promises for most of the free space."],
        &[Do("Reserve less, or free space:"), Run("windlass pool show POOL")],
    ),
    of(
        "not-accessible",
        "The state of the target port group does not permit the command.",
        &["An administrator or a host has set the group to standby or unavailable."],
        &[Run("windlass portal list"), Do("Set the group active again, or let the host use its other paths.")],
    ),
    of(
        "not-granted",
        "The copy names a volume that the initiator may not see, or that does not exist.",
        &["Source and destination are granted to different hosts."],
        &[
            Do("Grant both source and destination to the host that copies:"),
            Run("windlass access grant VOLUME --host HOST"),
        ],
    ),
    of(
        "open-mode",
        "The file is not open for what the request does to it.",
        &["A program opened the destination for reading, or the source for writing alone."],
        &[Do("Open the files for what is done to them.")],
    ),
    of(
        "out-of-range",
        "The range lies beyond the end of the volume.",
        &["The host still has the size from before a rollback.", "A copy to a smaller volume."],
        &[Do("Rescan the host after the size of a volume changed.")],
    ),
    of(
        "over-limit",
        "A count of the command is above the limit that the array announces.",
        &["The host does not heed the limits, or has those of another array."],
        &[Do("Rescan the host, so that it reads the limits. ESXi needs the claim rules of the README, too.")],
    ),
    of("overlap", "Source and destination of the copy overlap.", &[], &[Do("Copy to another place.")]),
    of(
        "permission-denied",
        "The user has no permission for the file.",
        &["Root of the client is mapped to another user (squash)."],
        &[
            Do("See owner and mode of the file in the client, and how the share maps users:"),
            Run("windlass access list --share SHARE"),
        ],
    ),
    of(
        "pool-stopped",
        "The pool has stopped after a failure of its medium.",
        &[],
        &[Run("windlass status"), Do("Do what the alert says.")],
    ),
    of(
        "quota",
        "The share has used its quota.",
        &[],
        &[Run("windlass share set SHARE --quota SIZE"), Do("Or free space in the share.")],
    ),
    of(
        "read-only",
        "The share, or this host's access to it, is read-only.",
        &["The share is a snapshot.", "The access was granted with --read-only."],
        &[Run("windlass access list --share SHARE")],
    ),
    of(
        "reserved-by-another",
        "Another initiator holds a reservation of the volume.",
        &["A cluster uses the volume.", "A host that is gone has left its reservation."],
        &[
            Do("See who holds it:"),
            Run("windlass reservation show VOLUME"),
            Do("If that host is gone, and no cluster runs:"),
            Run("windlass reservation clear VOLUME"),
        ],
    ),
    of(
        "sanitizing",
        "The volume is being sanitized, or that has failed.",
        &[],
        &[Do("Wait for the end of the job, or delete the volume:"), Run("windlass job list")],
    ),
    of(
        "stale-handle",
        "The file or its share no longer exists.",
        &["It was deleted, or rolled back to a time before it was there."],
        &[Do("Unmount the share in the client and mount it again, if it does not notice by itself.")],
    ),
    of(
        "too-many-allocations",
        "The file has too many reserved ranges that do not touch.",
        &["A program reserves many small pieces of a sparse file."],
        &[Do("Reserve the whole file at once.")],
    ),
    of(
        "try-later",
        "Not possible at present.",
        &["After a restart clients claim their locks first.", "Another change of the same file is in progress."],
        &[Do("Nothing: the client tries again.")],
    ),
    of(
        "unsupported",
        "The server does not support the operation.",
        &["A copy from another server.", "A client that asks for an optional operation, and goes on without."],
        &[Do("Nothing: the client moves the data itself.")],
    ),
    of(
        "volume-gone",
        "The volume was deleted.",
        &["The host still has the device of a deleted volume."],
        &[
            Do("Remove the device in the host and rescan it. If it was deleted by mistake:"),
            Run("windlass trash list"),
            Run("windlass trash restore VOLUME"),
        ],
    ),
    of(
        "write-protected",
        "A host has set the write protection of the volume.",
        &["SWP in the control mode page, as by the command iscsi-swp."],
        &[Do("Clear it from a host, as by: iscsi-swp --swp=off URL.")],
    ),
    of(
        "wrong-type",
        "The operation needs a regular file.",
        &["A copy of a directory or a link."],
        &[Do("Copy the files in it.")],
    ),
];
