//! Past changes.

use crate::Step::{Do, Run};
use crate::explained as of;
use crate::{Entry, Step};

/// Event that needs nothing to be done.
const fn told(code: &'static str, meaning: &'static str) -> Entry {
    of(code, meaning, &[], &[])
}

const ALERT: &[Step] = &[Do("The alert of the same name says what to do.")];

pub(crate) const ENTRIES: &[Entry] = &[
    told("access-granted", "A host, a group or everybody was granted access to a volume or share."),
    told("access-revoked", "Access to a volume or share was revoked."),
    told("array-started", "The array has started, and serves hosts."),
    told("array-stopped", "The array was stopped in an orderly way."),
    of("audit-not-written", "The audit could not be written.", &[], ALERT),
    of(
        "bad-block",
        "A block could not be read, or its checksum is wrong.",
        &["A defect of the disk."],
        &[Run("windlass explain bad-blocks")],
    ),
    of("below-full", "The file system or device below the pool became full.", &[], ALERT),
    told("below-has-room", "The file system or device below the pool has room again."),
    told("file-cloned", "A file of a share was cloned."),
    told("file-punched", "A range of a file was freed."),
    told("file-reserved", "Space was reserved for a file."),
    of("history-limit", "The file of the history became as large as it may be.", &[], ALERT),
    of("history-not-written", "The history could not be written.", &[], ALERT),
    of(
        "history-unreadable",
        "The file of the history could not be read: it was moved aside, and a new history begins.",
        &["A defect of the disk with the state directory."],
        &[Do("The old file is history.redb.unreadable in the state directory. Nothing else depends on it.")],
    ),
    told("host-changed", "A host has other settings."),
    told("host-created", "A host was created."),
    told("host-deleted", "A host was deleted."),
    told("host-group-changed", "A host group has other settings or members."),
    told("host-group-created", "A host group was created."),
    told("host-group-deleted", "A host group was deleted."),
    of("https-not-served", "REST and console over TLS are not served.", &[], ALERT),
    told("job-cancelled", "A job was cancelled. The event says how far it got."),
    told("job-changed", "A job changed its object while it was in progress."),
    told("job-done", "A job has ended."),
    of("job-failed", "A job has failed.", &[], &[Do("The job says why:"), Run("windlass job show JOB")]),
    told("job-started", "A job has started."),
    of(
        "login-refused",
        "The array refused an iSCSI login.",
        &["A host that is not known.", "A wrong CHAP name or secret.", "A wrong target name."],
        &[Do("Compare the initiator's name and secret with those of the host:"), Run("windlass host show HOST")],
    ),
    of("metadata-damaged", "Part of the map of the pool cannot be read.", &[], ALERT),
    of(
        "nfs-client-expired",
        "An NFS client was silent for longer than its lease: its locks were released.",
        &["The client was switched off, or the network failed."],
        &[Do("If a virtual machine ran there: make sure that it has ended before it is started elsewhere.")],
    ),
    told("pool-changed", "The pool has other settings."),
    of("pool-full", "The pool became full.", &[], ALERT),
    of("pool-full-soon", "The forecast says that the pool is full within two weeks.", &[], ALERT),
    told("pool-grown", "The pool has become larger."),
    told("pool-space-back", "The pool has room again."),
    of("pool-stopped", "The pool has stopped.", &[], ALERT),
    told("port-group-changed", "A target port group has another state."),
    told("portal-changed", "A portal has other settings."),
    told("portal-recorded", "A portal of the configuration was recorded in the pool, and is served."),
    of("portal-unrecorded", "A portal of the configuration could not be recorded.", &[], ALERT),
    told("sanitize-ended", "All data of a volume was erased."),
    of("sanitize-failed", "A sanitize operation has failed.", &[], ALERT),
    told("sanitize-started", "A host has begun to erase all data of a volume."),
    told("schedule-changed", "A schedule has other settings."),
    told("schedule-created", "A schedule was created."),
    told("schedule-deleted", "A schedule was deleted. Its snapshots stay."),
    of("schedule-failed", "A run of a schedule took no snapshot of some members.", &[], ALERT),
    of("schedule-late", "A schedule ran later than it was due.", &["The array was off at that time."], &[]),
    told("schedule-run", "A schedule has run: snapshots were taken, and old ones removed."),
    told("session-dropped", "An administrator has ended a session. The host may log in again."),
    told("share-changed", "A share has other settings."),
    told("share-created", "A share was created."),
    told("share-deleted", "A share went to the trash, or was deleted for good."),
    told("share-rolled-back", "A share has the content of a snapshot again."),
    of("sign-in-failed", "Many sign-ins or tokens were wrong.", &[], ALERT),
    told("snapshot-created", "A snapshot was taken."),
    told("snapshot-deleted", "A snapshot went to the trash, or was deleted for good."),
    told("snapshot-locked", "A snapshot cannot be deleted until a time."),
    told("snapshot-pinned", "A snapshot was pinned or is no longer pinned: schedules keep pinned ones."),
    told("threshold-left", "Use has fallen below a threshold again."),
    of("threshold-reached", "Use has reached a threshold.", &[], &[Run("windlass alert list")]),
    told(
        "trash-emptied",
        "Objects in the trash were deleted for good: by hand, by age, or because the pool needed the space.",
    ),
    told("trash-restored", "An object came back from the trash."),
    told("volume-changed", "A volume has other settings."),
    told("volume-created", "A volume was created."),
    told("volume-deleted", "A volume went to the trash, or was deleted for good."),
    told("volume-rolled-back", "A volume has the content of a snapshot again."),
];
