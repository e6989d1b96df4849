//! Warnings: consequences of a change that was made, or that a dry run is about.

use crate::Entry;
use crate::Step::{Do, Run};
use crate::explained as of;

/// Warning that needs nothing to be done.
const fn told(code: &'static str, meaning: &'static str) -> Entry {
    of(code, meaning, &[], &[])
}

const FREE: &[crate::Step] = &[Do("See what frees space:"), Run("windlass pool frees POOL")];

pub(crate) const ENTRIES: &[Entry] = &[
    of(
        "below-full",
        "The file system or device below the pool is full: the change was made, and nothing new can be stored.",
        &[],
        &[Run("windlass explain below-full")],
    ),
    told("clones-stay", "Clones of what is deleted stay, with their content."),
    told("content-kept", "The content before the change is kept, as a snapshot or by snapshots that have it."),
    of(
        "content-lost",
        "The content before a roll-back is lost: nothing brings it back.",
        &[],
        &[Do("Keep it as a snapshot: roll back with --keep.")],
    ),
    told(
        "kept-in-trash",
        "What is deleted can be restored from the trash until a time. Until then its space is not free.",
    ),
    told("limits-end", "Volumes or hosts have no limits any more."),
    told("locked", "What a lock keeps stays in the trash: the rest of it is deleted."),
    of(
        "logins-refused",
        "The last login of the host was refused.",
        &["Its CHAP secret or initiator name is not the one that the array knows.", "Nothing is granted to it."],
        &[Run("windlass session logins --filter host=HOST")],
    ),
    of(
        "low-space",
        "The change was made, and more of the pool is used or promised than its threshold.",
        &["Volumes and snapshots have grown."],
        FREE,
    ),
    of(
        "lun-above-255",
        "A volume has a LUN above 255 for a host with ESXi, which looks for such LUNs only from version 6.5 on.",
        &[],
        &[Do("Grant the volume with a lower LUN:"), Run("windlass access grant VOLUME --host HOST --lun 4")],
    ),
    told("more-affected", "More objects are affected than the answer lists."),
    of(
        "narrower-rule",
        "The rule is more specific than one that gives its hosts more: it decides alone about them.",
        &["The most exact rule decides: of a host, then of a group, then of the longest network, then of any host."],
        &[Do("Give the narrower rule the same rights, or leave it out.")],
    ),
    of(
        "no-chap",
        "The host need not authenticate: any machine that uses its initiator name gets its volumes.",
        &[],
        &[Run("windlass host set HOST --chap-user NAME")],
    ),
    of(
        "no-space-to-keep",
        "The space that the change promises is more than what is available: the change may be refused.",
        &[],
        FREE,
    ),
    of(
        "not-granted",
        "A volume was restored without one of the grants that it had.",
        &["The host or group was deleted.", "The LUN belongs to another volume now."],
        &[Run("windlass access grant VOLUME --host HOST")],
    ),
    told("not-known-before", "How much a job will free is known only when it has read everything."),
    of(
        "not-restorable",
        "What is deleted for good cannot be restored.",
        &["It is deleted with --now, or the trash is off."],
        &[Do("Delete it to the trash: leave out --now.")],
    ),
    told("not-sent", "Messages that wait for the channel are not sent any more."),
    of(
        "one-path",
        "The host is logged in at one portal, and the array has more: it loses its volumes with that path.",
        &[],
        &[Do("Log in at the other portals, too:"), Run("windlass connect linux HOST --volume VOLUME")],
    ),
    of(
        "one-path-used",
        "The host has several paths, and reads and writes over one of them.",
        &["Its multipathing does not know the array, or uses one path at a time."],
        &[Do("Enter the step about several paths:"), Run("windlass connect linux HOST --volume VOLUME")],
    ),
    of(
        "over-commitment",
        "The volumes are larger together than the new limit permits: no volume can be created or grown.",
        &[],
        &[Do("Raise the limit, or grow the pool:"), Run("windlass pool set POOL --commitment 300%")],
    ),
    of("pool-full", "The change was made, and the pool is full: writes that need new space fail.", &[], FREE),
    of("pool-stopped", "The pool has stopped: nothing can be written.", &[], &[Run("windlass explain pool-stopped")]),
    told("promise-ends", "No space is kept for the volume any more: its writes fail when the pool is full."),
    told(
        "quota-not-checked",
        "The roll-back is refused if the content of the snapshot is more than the quota of its share allows; only the roll-back finds out.",
    ),
    of(
        "quota-used-up",
        "The new quota is not above what the share uses: its writes that need space fail at once.",
        &[],
        &[Do("Let hosts delete files, or set a larger quota:"), Run("windlass share set SHARE --quota SIZE")],
    ),
    told("running-already", "A job of this kind runs already: no second one is started."),
    told(
        "schedule-joined",
        "The volume gets the label of a schedule, which takes snapshots of it from its next run on.",
    ),
    of(
        "silent",
        "The host is logged in, and has sent no command for seven days.",
        &["It was switched off, or uses another array now."],
        &[Do("Take away access that is not needed any more:"), Run("windlass access revoke VOLUME --host HOST")],
    ),
    of(
        "size-changed",
        "The change gives the volume another size.",
        &["It is grown.", "A roll-back gives it the size of its snapshot."],
        &[Do("Let its hosts read the size again, and check the file systems on it.")],
    ),
    told("snapshots-stay", "The snapshots that a schedule has taken stay when it is deleted."),
    of(
        "unequal-mss",
        "TCP segments of the host's paths differ by 1000 bytes or more.",
        &["Jumbo frames are not on at each switch and interface along the paths."],
        &[Do("Set the same MTU along every path, and log in again.")],
    ),
    of(
        "write-cache-on",
        "Writes are acknowledged before they are durable: what a host has written since its last flush is lost when the array stops without warning.",
        &[],
        &[Do("Use it only for hosts that flush, as file systems and databases do.")],
    ),
];
