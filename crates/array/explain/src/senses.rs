//! Sense data that the array returns: sense key, additional sense code and qualifier, each two hexadecimal digits.

use crate::Step::{Do, Run};
use crate::{Entry, Step};

const KEYS: &str = "SPC-4 §4.5";

const fn of(
    code: &'static str,
    meaning: &'static str,
    causes: &'static [&'static str],
    todo: &'static [Step],
) -> Entry {
    Entry { code, meaning, causes, todo, standard: Some(KEYS) }
}

const NOTHING: &[Step] = &[Do("Nothing: the host learns of the change and repeats the command.")];
const TOKEN: &[Step] = &[Do("Nothing: the host copies the data itself instead.")];
const REFUSALS: &[Step] = &[Do("What the host asked for is in the offload log:"), Run("windlass offload log")];
const FREE: &[Step] = &[Run("windlass pool show POOL"), Run("windlass explain pool-full")];

/// Sense data in the form of the codes, if the words are three hexadecimal numbers of one byte.
pub(crate) fn canonical(words: &str) -> Option<String> {
    let separated = words.split(|letter: char| letter == '/' || letter == ',' || letter.is_whitespace());
    let digits = |number: &'_ str| {
        let number = number.strip_prefix("0x").unwrap_or(number);
        u8::from_str_radix(number.strip_suffix('h').unwrap_or(number), 16).ok()
    };
    let numbers: Vec<_> = separated.filter(|number| !number.is_empty()).map(digits).collect::<Option<_>>()?;
    let [key, code, qualifier] = numbers[..] else { return None };
    Some(format!("{key:02x}/{code:02x}/{qualifier:02x}"))
}

pub(crate) const ENTRIES: &[Entry] = &[
    of("00/00/00", "NO SENSE: there is nothing to report.", &["REQUEST SENSE with no unit attention pending."], &[]),
    of(
        "02/04/0a",
        "NOT READY, asymmetric access state transition: the target port group is changing its state.",
        &[],
        &[Do("Nothing: the host tries again or takes another path.")],
    ),
    of(
        "02/04/0b",
        "NOT READY, target port in standby state: the path serves no reads and writes.",
        &["An administrator or a host has set the group to standby."],
        &[Run("windlass portal list"), Do("Let the host use its other paths, or set the group active.")],
    ),
    of(
        "02/04/0c",
        "NOT READY, target port in unavailable state: the path serves nothing.",
        &["An administrator or a host has set the group to unavailable."],
        &[Run("windlass portal list"), Do("Let the host use its other paths, or set the group active.")],
    ),
    of(
        "02/04/1b",
        "NOT READY, sanitize in progress: all data of the volume is being erased.",
        &["A host has sent SANITIZE."],
        &[Run("windlass job list")],
    ),
    of(
        "02/3a/00",
        "NOT READY, medium not present: a host has ejected the medium of the volume.",
        &["START STOP UNIT with the eject bit."],
        &[Do("Load it again from a host, as by: eject -t /dev/DISK.")],
    ),
    of(
        "03/11/00",
        "MEDIUM ERROR, unrecovered read error: stored data could not be read, or its checksum is wrong.",
        &["A defect of the disk below the pool."],
        &[Run("windlass status"), Run("windlass explain bad-blocks")],
    ),
    of(
        "03/31/03",
        "MEDIUM ERROR, sanitize command failed: the volume answers no reads and writes.",
        &[],
        &[Run("windlass explain sanitize-failed")],
    ),
    of(
        "04/44/00",
        "HARDWARE ERROR, internal target failure: the pool has stopped, or the array could not carry out the command.",
        &["The medium of the pool failed."],
        &[Run("windlass status"), Do("See the log of the array at that time.")],
    ),
    of(
        "04/67/0a",
        "HARDWARE ERROR, SET TARGET PORT GROUPS command failed: the states have not changed.",
        &["The change would have left a host no active path.", "The state could not be stored."],
        &[Run("windlass portal list")],
    ),
    of(
        "05/00/16",
        "ILLEGAL REQUEST, operation in progress: a copy with the same list identifier is running.",
        &["Two programs of one host copy at the same time."],
        &[Do("Nothing: the host takes another identifier.")],
    ),
    of(
        "05/0e/03",
        "ILLEGAL REQUEST, invalid field in command information unit: the transport announced another direction or amount of data than the command has.",
        &["A defect of the host's driver."],
        REFUSALS,
    ),
    of(
        "05/1a/00",
        "ILLEGAL REQUEST, parameter list length error: the parameter list is shorter than its content, or longer than allowed.",
        &["A defect of the host's driver."],
        REFUSALS,
    ),
    of(
        "05/20/00",
        "ILLEGAL REQUEST, invalid command operation code: the array does not have this command, or it is switched off.",
        &[
            "A host tries which commands an array has, and goes on without.",
            "An offload is switched off for the volume.",
        ],
        &[Do("Usually nothing. What a volume offers:"), Run("windlass probe iscsi://ADDRESS/TARGET/LUN")],
    ),
    of(
        "05/21/00",
        "ILLEGAL REQUEST, logical block address out of range: beyond the end of the volume.",
        &["The host still has the size from before a rollback."],
        &[Do("Rescan the host.")],
    ),
    of("05/23/01", "ILLEGAL REQUEST, unsupported token type.", &["A token of another array."], TOKEN),
    of(
        "05/23/04",
        "ILLEGAL REQUEST, token unknown: it does not exist, belongs to another host, or is from before a restart.",
        &[],
        TOKEN,
    ),
    of("05/23/05", "ILLEGAL REQUEST, token corrupt: it was altered.", &["A defect of the host, or an attack."], TOKEN),
    of("05/23/06", "ILLEGAL REQUEST, token revoked: the host no longer has access to the source.", &[], TOKEN),
    of("05/23/07", "ILLEGAL REQUEST, token expired: it was not used in time.", &[], TOKEN),
    of(
        "05/23/08",
        "ILLEGAL REQUEST, token cancelled: the source was deleted, or the pool needed the space.",
        &[],
        TOKEN,
    ),
    of("05/23/09", "ILLEGAL REQUEST, token deleted: a copy that used it has deleted it.", &[], TOKEN),
    of("05/23/0a", "ILLEGAL REQUEST, invalid token length.", &["A defect of the host's driver."], TOKEN),
    of(
        "05/24/00",
        "ILLEGAL REQUEST, invalid field in CDB: a value of the command is not supported or above an announced limit.",
        &["A host tries whether the array has a feature.", "A defect of the host's driver."],
        REFUSALS,
    ),
    of(
        "05/25/00",
        "ILLEGAL REQUEST, logical unit not supported: there is no volume at this LUN for this host.",
        &["The volume was deleted, or its access revoked.", "The host scans LUNs one by one."],
        &[Run("windlass access list --volume VOLUME"), Do("Rescan the host after access was changed.")],
    ),
    of(
        "05/26/00",
        "ILLEGAL REQUEST, invalid field in parameter list: a value in the data of the command is not supported or above an announced limit.",
        &["A copy (XCOPY) that is larger than the array announces.", "A defect of the host's driver."],
        &[
            Do("What the host asked for is in the offload log:"),
            Run("windlass offload log"),
            Do("ESXi: the claim rules of the README set the size of copies."),
        ],
    ),
    of(
        "05/26/04",
        "ILLEGAL REQUEST, invalid release of persistent reservation: another scope or type than the reservation has.",
        &["A defect of the cluster's software."],
        &[Run("windlass reservation show VOLUME")],
    ),
    of(
        "05/26/06",
        "ILLEGAL REQUEST, too many target descriptors in a copy.",
        &["The host ignores announced limits."],
        REFUSALS,
    ),
    of(
        "05/26/07",
        "ILLEGAL REQUEST, unsupported target descriptor type code in a copy.",
        &["A copy to a kind of device that no array supports."],
        REFUSALS,
    ),
    of(
        "05/26/08",
        "ILLEGAL REQUEST, too many segment descriptors in a copy.",
        &["The host ignores announced limits."],
        REFUSALS,
    ),
    of(
        "05/26/09",
        "ILLEGAL REQUEST, unsupported segment descriptor type code in a copy.",
        &["A copy to a kind of device that no array supports."],
        REFUSALS,
    ),
    of(
        "05/26/0b",
        "ILLEGAL REQUEST, inline data length exceeded: copies take no inline data.",
        &["A defect of the host's driver."],
        REFUSALS,
    ),
    of(
        "05/26/0d",
        "ILLEGAL REQUEST, copy segment granularity violation: a segment is no whole number of blocks.",
        &["A defect of the host's driver."],
        REFUSALS,
    ),
    of(
        "05/39/00",
        "ILLEGAL REQUEST, saving parameters not supported: mode pages have no saved values.",
        &[],
        &[Do("Usually nothing: a host tries it and goes on without.")],
    ),
    of(
        "05/49/00",
        "ILLEGAL REQUEST, invalid message error: a task attribute that does not exist.",
        &["A defect of the host's driver."],
        &[],
    ),
    of(
        "05/53/02",
        "ILLEGAL REQUEST, medium removal prevented: a host has locked the medium.",
        &["The volume is in use in another host."],
        &[],
    ),
    of(
        "05/55/03",
        "ILLEGAL REQUEST, insufficient resources: as many copies as possible are in progress.",
        &[],
        &[Do("Nothing: the host tries again.")],
    ),
    of(
        "05/55/04",
        "ILLEGAL REQUEST, insufficient registration resources: there is no room for one more registration of a reservation.",
        &["Registrations of hosts that are gone.", "The pool is full."],
        &[Run("windlass reservation show VOLUME")],
    ),
    of(
        "05/55/0c",
        "ILLEGAL REQUEST, insufficient resources to create ROD: the pool has no room for what a token would hold.",
        &[],
        FREE,
    ),
    of(
        "05/55/0d",
        "ILLEGAL REQUEST, insufficient resources to create ROD token: there are as many tokens as possible.",
        &[],
        TOKEN,
    ),
    of("06/28/00", "UNIT ATTENTION, not ready to ready change: the medium was loaded.", &[], NOTHING),
    of("06/29/00", "UNIT ATTENTION, power on or reset: the array has started, or the session is new.", &[], NOTHING),
    of("06/29/03", "UNIT ATTENTION, bus device reset: a host has reset the logical unit.", &[], NOTHING),
    of("06/29/07", "UNIT ATTENTION, I_T nexus loss: the session was lost.", &[], NOTHING),
    of(
        "06/2a/01",
        "UNIT ATTENTION, mode parameters changed: another host, or an administrator, has changed them.",
        &[],
        NOTHING,
    ),
    of(
        "06/2a/03",
        "UNIT ATTENTION, reservations preempted: another host has taken the reservation.",
        &["A cluster fenced this host."],
        &[Run("windlass reservation show VOLUME")],
    ),
    of("06/2a/04", "UNIT ATTENTION, reservations released: the reservation is free.", &[], NOTHING),
    of(
        "06/2a/05",
        "UNIT ATTENTION, registrations preempted: another host has removed this host's registration.",
        &["A cluster fenced this host."],
        &[Run("windlass reservation show VOLUME")],
    ),
    of(
        "06/2a/06",
        "UNIT ATTENTION, asymmetric access state changed: a target port group has another state.",
        &[],
        NOTHING,
    ),
    of(
        "06/2a/07",
        "UNIT ATTENTION, implicit asymmetric access state transition failed.",
        &[],
        &[Run("windlass portal list")],
    ),
    of(
        "06/2a/09",
        "UNIT ATTENTION, capacity data has changed: the volume has another size.",
        &[],
        &[Do("Rescan the host, and grow the file system.")],
    ),
    of(
        "06/2f/00",
        "UNIT ATTENTION, commands cleared by another initiator.",
        &["A reset or an abort by another host."],
        NOTHING,
    ),
    of(
        "06/2f/02",
        "UNIT ATTENTION, commands cleared by device server: the volume was rolled back or sanitized.",
        &[],
        NOTHING,
    ),
    of(
        "06/38/07",
        "UNIT ATTENTION, thin provisioning soft threshold reached: pool or volume is filling up.",
        &[],
        &[Run("windlass alert list"), Run("windlass explain pool-threshold")],
    ),
    of(
        "06/3f/03",
        "UNIT ATTENTION, INQUIRY data has changed: what the volume offers has changed.",
        &[],
        &[Do("Rescan the host, so that it reads the limits.")],
    ),
    of(
        "06/3f/0e",
        "UNIT ATTENTION, reported LUNs data has changed: access was granted or revoked.",
        &[],
        &[Do("Rescan the host, if it does not by itself.")],
    ),
    of(
        "07/27/00",
        "DATA PROTECT, write protected: the volume takes no writes. The array does not grant such volumes at present.",
        &[],
        &[],
    ),
    of(
        "07/27/02",
        "DATA PROTECT, logical unit software write protected: a host has set the write protection (SWP).",
        &[],
        &[Do("Clear it from a host, as by: iscsi-swp --swp=off URL.")],
    ),
    of("07/27/07", "DATA PROTECT, space allocation failed: the pool is full.", &[], FREE),
    of(
        "0a/00/00",
        "COPY ABORTED: a range of the copy lies beyond the end of a volume; the sense data has details.",
        &[],
        &[Do("Rescan the host.")],
    ),
    of(
        "0a/0d/01",
        "COPY ABORTED, third party device failure: source or destination refused; the sense data has its answer.",
        &["The pool is full, the volume is reserved, or data could not be read."],
        REFUSALS,
    ),
    of(
        "0a/0d/02",
        "COPY ABORTED, copy target device not reachable: the copy names a volume that the host may not see.",
        &["Source and destination are granted to different hosts."],
        &[Run("windlass access grant VOLUME --host HOST")],
    ),
    of("0a/0d/03", "COPY ABORTED, incorrect copy target device type.", &["A defect of the host's driver."], REFUSALS),
    of(
        "0b/4b/00",
        "ABORTED COMMAND, data phase error: less data arrived than was announced.",
        &["The connection or the host failed during the write."],
        &[Do("Nothing: the host repeats it.")],
    ),
    of(
        "0e/1d/00",
        "MISCOMPARE during verify operation: the block has other content than the host compared it with.",
        &["Another host was faster: ordinary contention for a lock (ATS)."],
        &[Do("Nothing: the host reads the block and tries again.")],
    ),
    of(
        "0f/00/20",
        "COMPLETED, extended copy information available: a copy has ended, and its result can be received.",
        &[],
        &[],
    ),
];
