//! Reasons why the array and LIO (Linux 6.1) respond differently, and which of them is right.

use super::Aspect::{self, Data, Length, Sense, Status};

/// Cases that differ for one reason.
pub(super) struct Explained {
    /// Name of the case; a `*` at either end matches anything.
    pub(super) cases: &'static str,
    /// Aspects that may differ.
    pub(super) aspects: &'static [Aspect],
    /// Reason.
    pub(super) reason: &'static str,
}

impl Explained {
    /// Whether this row explains such a difference.
    pub(super) fn covers(&self, name: &str, aspect: Aspect) -> bool {
        let named = match (self.cases.strip_prefix('*'), self.cases.strip_suffix('*')) {
            (Some(end), _) => name.ends_with(end),
            (None, Some(start)) => name.starts_with(start),
            (None, None) => name == self.cases,
        };
        named && self.aspects.contains(&aspect)
    }
}

const fn row(cases: &'static str, aspects: &'static [Aspect], reason: &'static str) -> Explained {
    Explained { cases, aspects, reason }
}

const REFUSED: &[Aspect] = &[Status, Sense];
const CONTENT: &[Aspect] = &[Length, Data];

/// Explained differences. The first row that covers a difference explains it.
pub(super) const EXPLAINED: &[Explained] = &[
    row("PRE-FETCH *", REFUSED, "LIO has no PRE-FETCH"),
    row("ORWRITE (16)*", REFUSED, "LIO has no ORWRITE"),
    row("WRITE ATOMIC (16)*", REFUSED, "LIO of Linux 6.1 has no WRITE ATOMIC"),
    row("READ (16), after ORWRITE (16)", &[Data], "LIO has no ORWRITE"),
    row("READ (16), after WRITE ATOMIC (16)", &[Data], "LIO of Linux 6.1 has no WRITE ATOMIC"),
    row("GET LBA STATUS*", REFUSED, "LIO has no GET LBA STATUS"),
    row("LOG SENSE*", REFUSED, "LIO has no log pages"),
    row("SEND DIAGNOSTIC*", REFUSED, "LIO has no SEND DIAGNOSTIC"),
    row("REPORT SUPPORTED OPERATION CODES*", REFUSED, "LIO of Linux 6.1 does not report its commands"),
    row("REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS*", REFUSED, "LIO does not report its task management functions"),
    row(
        "PREVENT ALLOW MEDIUM REMOVAL*",
        REFUSED,
        "LIO has not got it; the medium is not removable, and hosts ask all the same",
    ),
    row(
        "MAINTENANCE IN, unknown 1Fh*",
        &[Sense],
        "the operation code is there, its service action is not: INVALID FIELD IN CDB (SPC-4); LIO says INVALID COMMAND OPERATION CODE",
    ),
    row("REZERO UNIT (obsolete)", REFUSED, "obsolete since SBC-2; LIO does nothing and says GOOD"),
    row("SEEK *", REFUSED, "obsolete since SBC-2; LIO does nothing and says GOOD"),
    row("*, reserved bit 0", REFUSED, "a reserved bit that is set is refused (SPC-4 allows it); LIO does not look"),
    row("SYNCHRONIZE CACHE *", REFUSED, "these bits are reserved in this command, and refused; LIO does not look"),
    row("VERIFY (10), FUA", REFUSED, "the bit is reserved in VERIFY, and refused; LIO does not look"),
    row("VERIFY (16), FUA", REFUSED, "the bit is reserved in VERIFY, and refused; LIO does not look"),
    row(
        "WRITE AND VERIFY (10), FUA",
        REFUSED,
        "the bit is reserved in WRITE AND VERIFY, and refused; LIO does not look",
    ),
    row(
        "WRITE AND VERIFY (16), FUA",
        REFUSED,
        "the bit is reserved in WRITE AND VERIFY, and refused; LIO does not look",
    ),
    row(
        "*, protection field",
        REFUSED,
        "the unit has no protection information, so SBC-3 wants the field refused; LIO does not look at it in this command",
    ),
    row(
        "*, count 0 past the end",
        &[Sense],
        "two things are wrong: the count (WSNZ is 1) and the LBA; the array names the LBA, LIO the count",
    ),
    row(
        "READ (10), largest count",
        REFUSED,
        "more than MAXIMUM TRANSFER LENGTH of page B0h; LIO reads as much as the initiator has room for",
    ),
    row(
        "VERIFY (10), largest count",
        REFUSED,
        "more than MAXIMUM TRANSFER LENGTH of page B0h; LIO verifies nothing in fact",
    ),
    row("WRITE SAME (10), largest count", REFUSED, "LIO's MAXIMUM WRITE SAME LENGTH is smaller"),
    row("*, allocation length 0", REFUSED, "0 is no error (SPC-4 §4.2.5.6); LIO ends the connection or refuses"),
    row("INQUIRY, CMDDT*", REFUSED, "the bit is obsolete, and refused; LIO does not look"),
    row("INQUIRY, *", CONTENT, "who the unit is, and what it can do"),
    row("REPORT LUNS, select 55h*", REFUSED, "a reserved value of SELECT REPORT is refused; LIO does not look"),
    row(
        "REPORT LUNS, well known*",
        CONTENT,
        "there are no well known logical units; LIO does not look at SELECT REPORT",
    ),
    row("REPORT LUNS*", CONTENT, "another number of logical units"),
    row("READ CAPACITY (16)*", &[Data], "LBPRZ is 1: unmapped blocks read as zeros; LIO's file does not promise that"),
    row("REQUEST SENSE*", &[Length], "18 bytes are all there is; LIO fills the allocation length with zeros"),
    row(
        "MODE SENSE (6), control, saved*",
        REFUSED,
        "nothing is saved: SAVING PARAMETERS NOT SUPPORTED (SPC-4); LIO shows the current values",
    ),
    row("MODE SENSE *", CONTENT, "other mode pages and values, and 0 for the number of blocks: all of them"),
    row(
        "PERSISTENT RESERVE IN, REPORT CAPABILITIES*",
        CONTENT,
        "ALLOW COMMANDS: which commands the write exclusive types let through differs",
    ),
    row(
        "PERSISTENT RESERVE IN, *",
        REFUSED,
        "less room than the header is no error (SPC-4 §4.2.5.6); LIO wants 8 bytes",
    ),
    row("REPORT TARGET PORT GROUPS, extended*", REFUSED, "less room than the header is no error; LIO wants it"),
    row("REPORT TARGET PORT GROUPS*", CONTENT, "two target ports, LIO one; LIO has no extended header here"),
    row(
        "RECEIVE COPY RESULTS, OPERATING PARAMETERS*",
        &[Length],
        "47 bytes are all there is; LIO fills the allocation length with zeros",
    ),
    row("RECEIVE COPY RESULTS, OPERATING PARAMETERS*", REFUSED, "less room than the header is no error; LIO wants it"),
    row(
        "TEST UNIT READY, *",
        REFUSED,
        "reserved bits, NACA (NORMACA is 0) and bits of the vendor are refused; LIO does not look",
    ),
    row(
        "START STOP UNIT, START",
        REFUSED,
        "hosts start disks; LIO refuses every START STOP UNIT but one without IMMED and power conditions",
    ),
    row("RESERVE (6), 3rdPty", REFUSED, "third parties and extents are obsolete, and refused; LIO reserves the unit"),
    row("RESERVE (6), extent", REFUSED, "third parties and extents are obsolete, and refused; LIO reserves the unit"),
    row(
        "UNMAP, descriptors longer than the list",
        REFUSED,
        "the list ends before its descriptors: PARAMETER LIST LENGTH ERROR (SBC-3 §5.28); LIO takes what is there",
    ),
    row("MODE SELECT (6), PF 0", REFUSED, "no page follows, so that its format does not matter; LIO wants a page"),
    row(
        "MODE SELECT (6), header alone",
        REFUSED,
        "a list that changes nothing is no error (SPC-4 §6.11); LIO wants a page",
    ),
    row("MODE SELECT (6), SP", &[Sense], "SP is refused first, as nothing can be saved; LIO misses a page first"),
    row("MODE SELECT (6), unknown page 33h", &[Sense], "what is wrong is in the parameter list; LIO names the CDB"),
    row(
        "READ (16), after WRITE SAME (16) with UNMAP",
        &[Data],
        "a pattern that is not zeros is written, as LBPRZ is 1 (SBC-3); LIO unmaps and forgets it",
    ),
    row(
        "PERSISTENT RESERVE OUT, RESERVE without a key",
        REFUSED,
        "RESERVATION CONFLICT (SPC-4 §5.13); LIO says that it cannot reach the unit (02/08/00)",
    ),
    row(
        "PERSISTENT RESERVE OUT, CLEAR without a key",
        REFUSED,
        "RESERVATION CONFLICT (SPC-4 §5.13); LIO says that it cannot reach the unit (02/08/00)",
    ),
    row("PERSISTENT RESERVE OUT, scope 1", &[Sense], "the scope is in the CDB; LIO names the parameter list"),
    row(
        "PERSISTENT RESERVE OUT, RELEASE of another type",
        REFUSED,
        "INVALID RELEASE OF PERSISTENT RESERVATION (SPC-4 §5.13); LIO has RESERVATION CONFLICT",
    ),
    row(
        "EXTENDED COPY, no descriptors",
        REFUSED,
        "a list without descriptors copies nothing and is no error (SPC-4 §6.3); LIO refuses it",
    ),
    row(
        "EXTENDED COPY, *",
        &[Sense],
        "the sense code names what is wrong (inline data, CSCD type); LIO has one for all",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(row("READ *", REFUSED, "").covers("READ (10), x", Status));
        assert!(!row("READ *", REFUSED, "").covers("READ (10), x", Data));
        assert!(row("*, x", REFUSED, "").covers("READ (10), x", Sense));
        assert!(!row("READ", REFUSED, "").covers("READ (10), x", Status));
    }
}
