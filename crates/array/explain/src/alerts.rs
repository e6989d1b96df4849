//! Conditions that need attention.

use crate::Entry;
use crate::Step::{Do, Run};
use crate::explained as of;

const FREE: &[crate::Step] = &[
    Do("See what uses the space, and what would free it:"),
    Run("windlass pool show POOL"),
    Run("windlass pool frees POOL"),
    Do("Delete what is not needed, run fstrim in the guests, or grow the pool:"),
    Run("windlass pool grow POOL --size SIZE"),
];

pub(crate) const ENTRIES: &[Entry] = &[
    of(
        "audit-not-forwarded",
        "The audit could not be forwarded to a channel for a minute. No line is lost while the files of the audit have it: it is forwarded when the receiver takes it.",
        &["The receiver of syslog is down, or refuses.", "A wrong address or certificate."],
        &[
            Do("See what the peer said, correct the channel, and test it:"),
            Run("windlass channel list"),
            Run("windlass channel test CHANNEL"),
        ],
    ),
    of(
        "audit-not-written",
        "The audit cannot be written, and so nothing can be changed, unless [audit] on_failure is continue. Hosts are served.",
        &["The file system of the state directory is full or read-only.", "The audit's chain does not verify."],
        &[Do("Free space in the state directory, or repair it. Then verify the audit:"), Run("windlass audit verify")],
    ),
    of(
        "bad-blocks",
        "Blocks of 4 KiB cannot be read, or have a wrong checksum. Reads of them fail; everything else is served.",
        &["A defect of the disk below the pool.", "Something else has written to the disk or file of the pool."],
        &[
            Do("See which volumes have them, and let a scrub find all:"),
            Run("windlass event list --code bad-block"),
            Run("windlass pool scrub POOL"),
            Do("Writing to such a block repairs it. Restore the affected files from a backup, and replace the disk."),
        ],
    ),
    of(
        "below-full",
        "The file system or device below the pool is full: nothing new can be stored, and reads are served.",
        &["The pool is a sparse file, and something else has taken the space of its file system."],
        &[Do("Free space there. The array continues by itself, and acknowledged data is safe.")],
    ),
    of(
        "certificate-ends",
        "A certificate ends within 30 days, or has ended; it is critical in the last seven days. The subject is REST and console, or a channel, which trusts the certificate as an authority.",
        &["Certificates are issued for a limited time."],
        &[
            Do("Replace the files of [tls] in the configuration, and restart the array. Of a channel:"),
            Run("windlass channel set CHANNEL --channel-ca FILE"),
            Run("windlass channel test CHANNEL"),
        ],
    ),
    of(
        "check-findings",
        "The last check of the pool found structures that contradict each other.",
        &["A defect of the disk, or of the array."],
        &[
            Run("windlass pool show POOL"),
            Do("Stop the array, and check the pool further:"),
            Run("windlass pool check FILE"),
        ],
    ),
    of(
        "clock-ahead",
        "The clock is ahead of the time that has passed as far as the array could observe it. Locks of snapshots go by the latter.",
        &["Somebody has set the clock forward.", "The array was off for long."],
        &[Do(
            "Set the clock right, if it is wrong. Time for which the array was off does not count: locks end later by it.",
        )],
    ),
    of(
        "commands-slow",
        "More than 1 % of the reads and writes of hosts took longer than the setting of the pool, in most seconds of each of the last five minutes. It ends when none of the last five minutes was so.",
        &[
            "The disks below the pool are slow or fail.",
            "Hosts do more than the disks can.",
            "A job takes time: scrub, reclaim.",
        ],
        &[
            Do("See what is busy, and whether jobs run:"),
            Run("windlass top"),
            Run("windlass job list"),
            Do("Another limit, or none:"),
            Run("windlass pool set POOL --latency-alert 50ms"),
        ],
    ),
    of(
        "history-limit",
        "The file of the history is as large as it may be: volumes and shares that were used least lose their oldest values.",
        &["Many volumes are in use."],
        &[Do(
            "Raise [history] limit in the configuration, and restart the array, if longer charts of all volumes are wanted.",
        )],
    ),
    of(
        "history-not-written",
        "The history cannot be written: charts will have a gap. Hosts and changes are not affected.",
        &["The file system of the state directory is full or read-only."],
        &[Do("Free space in the state directory, or repair it. The array tries again by itself.")],
    ),
    of(
        "https-not-served",
        "REST and console over TLS are not served at their address. Hosts, and the command line on this machine, are served.",
        &["The certificate or its key is missing or cannot be read, or they do not belong together."],
        &[Do("Mend what the alert names, and restart the array.")],
    ),
    of(
        "locks-fill-pool",
        "Locked snapshots and the lock of the trash keep so much that deleting all other snapshots and the rest of the trash leaves the pool above its critical threshold. Without the locks it would be below.",
        &["Locks are long, and the volumes below them change much.", "Much was deleted while the trash has a lock."],
        &[
            Do("See what the locks keep, and until when:"),
            Run("windlass pool frees POOL"),
            Do("Locks end by themselves, and not before their time. Until then, grow the pool, or delete volumes:"),
            Run("windlass pool grow POOL --size SIZE"),
        ],
    ),
    of(
        "logins-refused",
        "Ten or more logins of iSCSI were refused within ten minutes. Hosts that are logged in are not affected.",
        &["A host has a wrong CHAP secret.", "An initiator belongs to no host.", "Somebody is guessing secrets."],
        &[
            Do("The event names an initiator, its address and the reason:"),
            Run("windlass event list --code login-refused"),
            Run("windlass host list"),
        ],
    ),
    of(
        "metadata-damaged",
        "Part of the map of the pool cannot be read. What it describes cannot be read; everything else is served.",
        &["A defect of the disk below the pool."],
        &[
            Run("windlass pool scrub POOL"),
            Do("Stop the array. See what a repair would discard, and restore that from a backup:"),
            Run("windlass pool check FILE"),
            Run("windlass pool repair FILE --dry-run"),
        ],
    ),
    of(
        "notification-failing",
        "A channel could not be told of an alert in three tries.",
        &[
            "The mail server, the receiver of the webhook or of syslog is down, or refuses.",
            "A wrong password or certificate.",
        ],
        &[
            Do("See what the peer said, correct the channel, and test it:"),
            Run("windlass channel list"),
            Run("windlass channel test CHANNEL"),
        ],
    ),
    of(
        "open-access",
        "Volumes or shares are open to everybody: every host may use them, known or not, without a password.",
        &["They were granted to any host."],
        &[
            Do("Grant them to hosts instead, and revoke the grant to any host:"),
            Run("windlass access list --any"),
            Run("windlass access revoke VOLUME --any"),
        ],
    ),
    of(
        "path-lost",
        "A host has had fewer paths for a minute than before, and still has some. One more failure may stop its I/O.",
        &["A cable, switch or network card has failed.", "A portal of the array is not reachable."],
        &[
            Do("Compare its sessions with the portals of the array:"),
            Run("windlass session list"),
            Run("windlass portal list"),
            Do("Fewer paths on purpose are accepted after a day."),
        ],
    ),
    of("pool-full", "The pool is full: writes that need new space fail, except where space is promised.", &[], FREE),
    of(
        "pool-full-soon",
        "The pool is full within two weeks, if it goes on growing as it did in the last days.",
        &[],
        FREE,
    ),
    of(
        "pool-stopped",
        "The pool has stopped after a failure of its medium. Acknowledged data is safe; hosts get errors until the restart.",
        &["The disk below the pool failed, or was removed."],
        &[
            Do("Repair the medium, and restart the array. If it stops again, check the pool:"),
            Run("windlass pool check FILE"),
        ],
    ),
    of("pool-threshold", "More of the pool is used or promised than its threshold.", &[], FREE),
    of(
        "portal-unrecorded",
        "A portal of the configuration could not be recorded in the pool. It is not served.",
        &["The pool was full or damaged when the array started."],
        &[Do(
            "Mend what the other alerts say. The array tries again with the next change of a portal, and at its start.",
        )],
    ),
    of(
        "qos-slow",
        "Commands for a volume, or of a host, wait for more than 5 seconds for the limits of a QoS policy. Hosts give up commands after about 30 seconds.",
        &["The limit is too low for what the host does.", "A host sends much more than is usual."],
        &[
            Do("See which limits hold commands back, and raise them, or look at the host:"),
            Run("windlass qos show POLICY"),
            Run("windlass qos set POLICY --iops NUMBER"),
            Run("windlass top"),
        ],
    ),
    of(
        "sanitize-failed",
        "A sanitize operation of the volume has failed: the volume answers no reads or writes until it is sanitized again.",
        &["The medium failed during the operation."],
        &[
            Do("Let a host send SANITIZE again, or EXIT FAILURE MODE (sg_sanitize --fail), or delete the volume:"),
            Run("windlass volume delete VOLUME"),
        ],
    ),
    of(
        "schedule-failed",
        "The last run of the schedule took no snapshot of some of its members.",
        &["The pool has no room for the promises of reserved volumes.", "A member has the most snapshots possible."],
        &[Do("Mend what the alert names, and run the schedule:"), Run("windlass schedule run SCHEDULE")],
    ),
    of(
        "schedule-late",
        "The schedule is due, and has not run.",
        &["The pool has stopped or is full."],
        &[Do("See the other alerts:"), Run("windlass alert list")],
    ),
    of(
        "scrub-overdue",
        "The pool was not read as a whole for 35 days. Damage that no host reads stays unseen until it matters.",
        &["No scrub is run regularly."],
        &[Run("windlass pool scrub POOL")],
    ),
    of(
        "share-threshold",
        "More of the quota of the share is used or promised than the threshold.",
        &[],
        &[Do("Delete files, or raise the quota:"), Run("windlass share set SHARE --quota SIZE")],
    ),
    of(
        "sign-in-failed",
        "Many sign-ins or tokens were wrong, which may be an attempt to guess passwords.",
        &["A program uses an old token or password.", "An attack."],
        &[
            Do("The audit has names and addresses:"),
            Run("windlass audit list"),
            Do("Keep the console off networks of strangers."),
        ],
    ),
    of(
        "volume-threshold",
        "More of the volume is mapped than its threshold.",
        &[],
        &[Do("Run fstrim in its hosts, or grow the volume:"), Run("windlass volume grow VOLUME --size SIZE")],
    ),
];
