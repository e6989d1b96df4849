//! Stream of commands: tables of commands, and the edge cases of each kind of command. Written data
//! depends only on the position in the stream, so that both media stay equal.

/// One command of the stream.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Name, such as `READ (16), past the end`.
    pub(super) name: String,
    pub(super) cdb: [u8; 16],
    pub(super) data_out: Option<Vec<u8>>,
    /// Room for Data-In in bytes.
    pub(super) data_in_bytes: u32,
}

/// Bytes of a logical block.
const BLOCK_BYTES: usize = 512;

/// Blocks reserved for each command, so that a command that only one of the targets accepts does
/// not affect the others.
const BLOCKS_EACH: u64 = 64;
/// Blocks at the start of the medium that the stream writes.
pub(super) const WRITTEN_BLOCKS: u32 = 2048;

/// A field of a CDB: its first byte and its length in bytes.
type Field = (usize, usize);

/// Data of a command on a range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moves {
    In,
    Out,
    /// One block of Data-Out, independent of the count.
    OutOnce,
    /// Data-Out of twice the blocks.
    OutTwice,
    Nothing,
}

/// Command on a range of blocks.
struct OnBlocks {
    name: &'static str,
    /// Operation code and byte 1.
    start: [u8; 2],
    length: usize,
    lba: Field,
    count: Field,
    moves: Moves,
}

const fn on_blocks(
    name: &'static str,
    start: [u8; 2],
    length: usize,
    lba: Field,
    count: Field,
    moves: Moves,
) -> OnBlocks {
    OnBlocks { name, start, length, lba, count, moves }
}

/// Commands on blocks, SBC-3 §5.
const ON_BLOCKS: &[OnBlocks] = &[
    on_blocks("READ (6)", [0x08, 0], 6, (2, 2), (4, 1), Moves::In),
    on_blocks("READ (10)", [0x28, 0], 10, (2, 4), (7, 2), Moves::In),
    on_blocks("READ (12)", [0xa8, 0], 12, (2, 4), (6, 4), Moves::In),
    on_blocks("READ (16)", [0x88, 0], 16, (2, 8), (10, 4), Moves::In),
    on_blocks("WRITE (6)", [0x0a, 0], 6, (2, 2), (4, 1), Moves::Out),
    on_blocks("WRITE (10)", [0x2a, 0], 10, (2, 4), (7, 2), Moves::Out),
    on_blocks("WRITE (12)", [0xaa, 0], 12, (2, 4), (6, 4), Moves::Out),
    on_blocks("WRITE (16)", [0x8a, 0], 16, (2, 8), (10, 4), Moves::Out),
    on_blocks("WRITE AND VERIFY (10)", [0x2e, 0], 10, (2, 4), (7, 2), Moves::Out),
    on_blocks("WRITE AND VERIFY (16)", [0x8e, 0], 16, (2, 8), (10, 4), Moves::Out),
    on_blocks("VERIFY (10)", [0x2f, 0], 10, (2, 4), (7, 2), Moves::Nothing),
    on_blocks("VERIFY (16)", [0x8f, 0], 16, (2, 8), (10, 4), Moves::Nothing),
    on_blocks("COMPARE AND WRITE", [0x89, 0], 16, (2, 8), (13, 1), Moves::OutTwice),
    on_blocks("WRITE SAME (10)", [0x41, 0], 10, (2, 4), (7, 2), Moves::OutOnce),
    on_blocks("WRITE SAME (16)", [0x93, 0], 16, (2, 8), (10, 4), Moves::OutOnce),
    on_blocks("WRITE SAME (16) with UNMAP", [0x93, 0x08], 16, (2, 8), (10, 4), Moves::OutOnce),
    on_blocks("SYNCHRONIZE CACHE (10)", [0x35, 0], 10, (2, 4), (7, 2), Moves::Nothing),
    on_blocks("SYNCHRONIZE CACHE (16)", [0x91, 0], 16, (2, 8), (10, 4), Moves::Nothing),
    on_blocks("PRE-FETCH (10)", [0x34, 0], 10, (2, 4), (7, 2), Moves::Nothing),
    on_blocks("PRE-FETCH (16)", [0x90, 0], 16, (2, 8), (10, 4), Moves::Nothing),
    on_blocks("ORWRITE (16)", [0x8b, 0], 16, (2, 8), (10, 4), Moves::Out),
    on_blocks("WRITE ATOMIC (16)", [0x9c, 0], 16, (2, 8), (12, 2), Moves::Out),
];

/// Command with an allocation length.
struct Telling {
    name: &'static str,
    cdb: &'static [u8],
    allocation: Field,
}

const fn telling(name: &'static str, cdb: &'static [u8], allocation: Field) -> Telling {
    Telling { name, cdb, allocation }
}

/// Commands that return parameter data, SPC-4 §6, SBC-3 §5.
const TELLING: &[Telling] = &[
    telling("INQUIRY, standard", &[0x12, 0, 0, 0, 0, 0], (3, 2)),
    telling("INQUIRY, page 00h", &[0x12, 1, 0x00, 0, 0, 0], (3, 2)),
    telling("INQUIRY, page 80h", &[0x12, 1, 0x80, 0, 0, 0], (3, 2)),
    telling("INQUIRY, page 83h", &[0x12, 1, 0x83, 0, 0, 0], (3, 2)),
    telling("INQUIRY, page 86h", &[0x12, 1, 0x86, 0, 0, 0], (3, 2)),
    telling("INQUIRY, page B0h", &[0x12, 1, 0xb0, 0, 0, 0], (3, 2)),
    telling("INQUIRY, page B1h", &[0x12, 1, 0xb1, 0, 0, 0], (3, 2)),
    telling("INQUIRY, page B2h", &[0x12, 1, 0xb2, 0, 0, 0], (3, 2)),
    telling("INQUIRY, unknown page 7Fh", &[0x12, 1, 0x7f, 0, 0, 0], (3, 2)),
    telling("INQUIRY, unknown page FFh", &[0x12, 1, 0xff, 0, 0, 0], (3, 2)),
    telling("INQUIRY, page code without EVPD", &[0x12, 0, 0x83, 0, 0, 0], (3, 2)),
    telling("INQUIRY, CMDDT", &[0x12, 2, 0, 0, 0, 0], (3, 2)),
    telling("REPORT LUNS", &[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("REPORT LUNS, well known", &[0xa0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("REPORT LUNS, all", &[0xa0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("REPORT LUNS, select 55h", &[0xa0, 0, 0x55, 0, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("READ CAPACITY (16)", &[0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (10, 4)),
    telling("GET LBA STATUS", &[0x9e, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (10, 4)),
    telling("SERVICE ACTION IN, unknown 1Fh", &[0x9e, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (10, 4)),
    telling("REQUEST SENSE", &[0x03, 0, 0, 0, 0, 0], (4, 1)),
    telling("REQUEST SENSE, DESC", &[0x03, 1, 0, 0, 0, 0], (4, 1)),
    telling("MODE SENSE (6), all", &[0x1a, 0, 0x3f, 0, 0, 0], (4, 1)),
    telling("MODE SENSE (6), caching", &[0x1a, 0, 0x08, 0, 0, 0], (4, 1)),
    telling("MODE SENSE (6), control", &[0x1a, 0, 0x0a, 0, 0, 0], (4, 1)),
    telling("MODE SENSE (6), control, DBD", &[0x1a, 8, 0x0a, 0, 0, 0], (4, 1)),
    telling("MODE SENSE (6), control, changeable", &[0x1a, 8, 0x4a, 0, 0, 0], (4, 1)),
    telling("MODE SENSE (6), control, default", &[0x1a, 8, 0x8a, 0, 0, 0], (4, 1)),
    telling("MODE SENSE (6), control, saved", &[0x1a, 8, 0xca, 0, 0, 0], (4, 1)),
    telling("MODE SENSE (6), unknown page 33h", &[0x1a, 0, 0x33, 0, 0, 0], (4, 1)),
    telling("MODE SENSE (6), unknown subpage", &[0x1a, 0, 0x0a, 0x77, 0, 0], (4, 1)),
    telling("MODE SENSE (10), all", &[0x5a, 0, 0x3f, 0, 0, 0, 0, 0, 0, 0], (7, 2)),
    telling("MODE SENSE (10), caching, LLBAA", &[0x5a, 0x10, 0x08, 0, 0, 0, 0, 0, 0, 0], (7, 2)),
    telling("LOG SENSE, pages", &[0x4d, 0, 0x40, 0, 0, 0, 0, 0, 0, 0], (7, 2)),
    telling("PERSISTENT RESERVE IN, READ KEYS", &[0x5e, 0, 0, 0, 0, 0, 0, 0, 0, 0], (7, 2)),
    telling("PERSISTENT RESERVE IN, READ RESERVATION", &[0x5e, 1, 0, 0, 0, 0, 0, 0, 0, 0], (7, 2)),
    telling("PERSISTENT RESERVE IN, REPORT CAPABILITIES", &[0x5e, 2, 0, 0, 0, 0, 0, 0, 0, 0], (7, 2)),
    telling("PERSISTENT RESERVE IN, READ FULL STATUS", &[0x5e, 3, 0, 0, 0, 0, 0, 0, 0, 0], (7, 2)),
    telling("PERSISTENT RESERVE IN, unknown 1Fh", &[0x5e, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0], (7, 2)),
    telling("REPORT TARGET PORT GROUPS", &[0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("REPORT TARGET PORT GROUPS, extended", &[0xa3, 0x2a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("REPORT SUPPORTED OPERATION CODES, all", &[0xa3, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("REPORT SUPPORTED OPERATION CODES, 28h", &[0xa3, 0x0c, 1, 0x28, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("REPORT SUPPORTED OPERATION CODES, C1h", &[0xa3, 0x0c, 1, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS", &[0xa3, 0x0d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling("MAINTENANCE IN, unknown 1Fh", &[0xa3, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (6, 4)),
    telling(
        "RECEIVE COPY RESULTS, OPERATING PARAMETERS",
        &[0x84, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        (10, 4),
    ),
    telling("RECEIVE COPY RESULTS, COPY STATUS", &[0x84, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (10, 4)),
    telling("RECEIVE COPY RESULTS, unknown 1Fh", &[0x84, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (10, 4)),
];

/// Command with a parameter list, or without data.
struct Plain {
    name: &'static str,
    cdb: &'static [u8],
    list: Option<&'static [u8]>,
}

const fn bare(name: &'static str, cdb: &'static [u8]) -> Plain {
    Plain { name, cdb, list: None }
}

const fn with_list(name: &'static str, cdb: &'static [u8], list: &'static [u8]) -> Plain {
    Plain { name, cdb, list: Some(list) }
}

/// Parameter list of PERSISTENT RESERVE OUT with these values in the last bytes of the keys.
const fn keys(key: u8, service_action_key: u8, flags: u8) -> [u8; 24] {
    let mut list = [0; 24];
    list[7] = key;
    list[15] = service_action_key;
    list[20] = flags;
    list
}

/// UNMAP parameter list with one range and the given length fields.
const fn unmap(data_length: u8, descriptors_length: u8, lba: u64, count: u32) -> [u8; 24] {
    let mut list = [0; 24];
    list[1] = data_length;
    list[3] = descriptors_length;
    let (lba, count) = (lba.to_be_bytes(), count.to_be_bytes());
    let mut index = 0;
    while index < 8 {
        list[8 + index] = lba[index];
        index += 1;
    }
    index = 0;
    while index < 4 {
        list[16 + index] = count[index];
        index += 1;
    }
    list
}

const PLAIN: &[Plain] = &[
    bare("TEST UNIT READY", &[0x00, 0, 0, 0, 0, 0]),
    bare("TEST UNIT READY, reserved byte 1", &[0x00, 0x01, 0, 0, 0, 0]),
    bare("TEST UNIT READY, reserved byte 4", &[0x00, 0, 0, 0, 0x80, 0]),
    bare("TEST UNIT READY, NACA", &[0x00, 0, 0, 0, 0, 0x04]),
    bare("TEST UNIT READY, vendor bits of control", &[0x00, 0, 0, 0, 0, 0xc0]),
    bare("REZERO UNIT (obsolete)", &[0x01, 0, 0, 0, 0, 0]),
    bare("FORMAT UNIT", &[0x04, 0, 0, 0, 0, 0]),
    bare("SEEK (6)", &[0x0b, 0, 0, 0, 0, 0]),
    bare("SEEK (10)", &[0x2b, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    bare("START STOP UNIT, START", &[0x1b, 0, 0, 0, 1, 0]),
    bare("PREVENT ALLOW MEDIUM REMOVAL, allow", &[0x1e, 0, 0, 0, 0, 0]),
    bare("PREVENT ALLOW MEDIUM REMOVAL, prevent", &[0x1e, 0, 0, 0, 1, 0]),
    bare("PREVENT ALLOW MEDIUM REMOVAL, allow again", &[0x1e, 0, 0, 0, 0, 0]),
    bare("SEND DIAGNOSTIC, self test", &[0x1d, 4, 0, 0, 0, 0]),
    bare("RECEIVE DIAGNOSTIC RESULTS", &[0x1c, 1, 0, 0, 0, 0]),
    bare("WRITE BUFFER", &[0x3b, 2, 0, 0, 0, 0, 0, 0, 0, 0]),
    bare("READ LONG (10)", &[0x3e, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    bare("XDWRITEREAD (10)", &[0x53, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    bare("vendor's C1h", &[0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    bare("vendor's FFh", &[0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    bare("variable length 7Fh", &[0x7f, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]),
    bare("REPORT SUPPORTED OPERATION CODES, no room", &[0xa3, 0x0c, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    bare("RESERVE (6)", &[0x16, 0, 0, 0, 0, 0]),
    bare("RESERVE (6), again", &[0x16, 0, 0, 0, 0, 0]),
    bare("RELEASE (6)", &[0x17, 0, 0, 0, 0, 0]),
    bare("RELEASE (6), without a reservation", &[0x17, 0, 0, 0, 0, 0]),
    bare("RESERVE (6), 3rdPty", &[0x16, 0x10, 0, 0, 0, 0]),
    bare("RESERVE (6), extent", &[0x16, 0x01, 0, 0, 0, 0]),
    bare("RELEASE (6), after these", &[0x17, 0, 0, 0, 0, 0]),
    // UNMAP, SBC-3 §5.28.
    with_list("UNMAP, one range", &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], &unmap(22, 16, 8, 8)),
    with_list("UNMAP, count 0", &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], &unmap(22, 16, 8, 0)),
    with_list("UNMAP, ANCHOR", &[0x42, 1, 0, 0, 0, 0, 0, 0, 24, 0], &unmap(22, 16, 8, 8)),
    with_list("UNMAP, past the end", &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], &unmap(22, 16, 1 << 40, 8)),
    with_list("UNMAP, largest LBA", &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], &unmap(22, 16, u64::MAX, 8)),
    with_list("UNMAP, no descriptors", &[0x42, 0, 0, 0, 0, 0, 0, 0, 8, 0], &[0, 6, 0, 0, 0, 0, 0, 0]),
    with_list("UNMAP, descriptors not a multiple of 16", &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], &unmap(22, 15, 8, 8)),
    with_list("UNMAP, descriptors longer than the list", &[0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0], &unmap(22, 64, 8, 8)),
    with_list("UNMAP, list of 7 bytes", &[0x42, 0, 0, 0, 0, 0, 0, 0, 7, 0], &[0, 6, 0, 0, 0, 0, 0]),
    bare("UNMAP, list length 0", &[0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    // MODE SELECT.
    bare("MODE SELECT (6), list length 0", &[0x15, 0x10, 0, 0, 0, 0]),
    with_list("MODE SELECT (6), PF 0", &[0x15, 0x00, 0, 0, 4, 0], &[0, 0, 0, 0]),
    with_list("MODE SELECT (6), header alone", &[0x15, 0x10, 0, 0, 4, 0], &[0, 0, 0, 0]),
    with_list("MODE SELECT (6), header cut off", &[0x15, 0x10, 0, 0, 3, 0], &[0, 0, 0]),
    with_list("MODE SELECT (6), SP", &[0x15, 0x11, 0, 0, 4, 0], &[0, 0, 0, 0]),
    with_list("MODE SELECT (6), unknown page 33h", &[0x15, 0x10, 0, 0, 8, 0], &[0, 0, 0, 0, 0x33, 2, 0, 0]),
    with_list(
        "MODE SELECT (10), control page cut off",
        &[0x55, 0x10, 0, 0, 0, 0, 0, 0, 12, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0x0a, 0, 0],
    ),
    // Persistent reservations.
    with_list("PERSISTENT RESERVE OUT, RESERVE without a key", &[0x5f, 1, 5, 0, 0, 0, 0, 0, 24, 0], &keys(0, 0, 0)),
    with_list("PERSISTENT RESERVE OUT, REGISTER with a wrong key", &[0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0], &keys(9, 1, 0)),
    with_list("PERSISTENT RESERVE OUT, REGISTER", &[0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0], &keys(0, 1, 0)),
    with_list("PERSISTENT RESERVE OUT, list of 23 bytes", &[0x5f, 1, 5, 0, 0, 0, 0, 0, 23, 0], &[0; 23]),
    with_list("PERSISTENT RESERVE OUT, type 0", &[0x5f, 1, 0, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    with_list("PERSISTENT RESERVE OUT, type 9", &[0x5f, 1, 9, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    with_list("PERSISTENT RESERVE OUT, scope 1", &[0x5f, 1, 0x15, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    with_list("PERSISTENT RESERVE OUT, RESERVE", &[0x5f, 1, 5, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    with_list("PERSISTENT RESERVE OUT, RESERVE again", &[0x5f, 1, 5, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    with_list("PERSISTENT RESERVE OUT, RESERVE of another type", &[0x5f, 1, 6, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    bare("RESERVE (6) while there is a persistent reservation", &[0x16, 0, 0, 0, 0, 0]),
    bare("RELEASE (6) while there is a persistent reservation", &[0x17, 0, 0, 0, 0, 0]),
    with_list("PERSISTENT RESERVE OUT, RELEASE of another type", &[0x5f, 2, 6, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    with_list("PERSISTENT RESERVE OUT, PREEMPT of nobody", &[0x5f, 4, 5, 0, 0, 0, 0, 0, 24, 0], &keys(1, 7, 0)),
    with_list("PERSISTENT RESERVE OUT, RELEASE", &[0x5f, 2, 5, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    with_list(
        "PERSISTENT RESERVE OUT, RELEASE without a reservation",
        &[0x5f, 2, 5, 0, 0, 0, 0, 0, 24, 0],
        &keys(1, 0, 0),
    ),
    with_list("PERSISTENT RESERVE OUT, CLEAR", &[0x5f, 3, 0, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    with_list("PERSISTENT RESERVE OUT, CLEAR without a key", &[0x5f, 3, 0, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    with_list("PERSISTENT RESERVE OUT, unknown 1Fh", &[0x5f, 0x1f, 0, 0, 0, 0, 0, 0, 24, 0], &keys(1, 0, 0)),
    // EXTENDED COPY, SPC-4 §6.3.
    bare("EXTENDED COPY, list length 0", &[0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    with_list("EXTENDED COPY, header cut off", &[0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0], &[0; 8]),
    with_list("EXTENDED COPY, no descriptors", &[0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0], &[0; 16]),
    with_list(
        "EXTENDED COPY, inline data without any",
        &[0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8],
    ),
    with_list(
        "EXTENDED COPY, unknown CSCD descriptor",
        &[0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0],
        &[
            0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xee, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ],
    ),
];

/// All cases for logical units of `blocks` blocks.
pub(super) fn cases(blocks: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (command, number) in ON_BLOCKS.iter().zip(0..) {
        let base = number * BLOCKS_EACH;
        for (edge, lba, count) in edges(command, base, blocks) {
            push_on_blocks(&mut cases, command, edge, lba, count, 0);
        }
        let bits = [("protection field", 0x20), ("DPO", 0x10), ("FUA", 0x08), ("reserved bit 0", 0x01)];
        for ((edge, bits), place) in bits.into_iter().zip(base + 32..) {
            // 6-byte commands have the LBA there, and a bit that the command itself sets is no edge
            // case. These blocks are not compared.
            if command.length > 6 && command.start[1] & bits == 0 {
                push_on_blocks(&mut cases, command, edge, place, 1, bits);
            }
        }
    }
    for command in TELLING {
        for (edge, allocation, room) in [
            ("", 255, 4096),
            ("allocation length 0", 0, 4096),
            ("allocation length 4", 4, 4096),
            ("no room at the initiator", 255, 4),
        ] {
            let mut cdb = padded(command.cdb);
            put(&mut cdb, command.allocation, allocation);
            let name = named(command.name, edge);
            cases.push(Case { name, cdb, data_out: None, data_in_bytes: room });
        }
    }
    for command in PLAIN {
        let data_out = command.list.map(<[u8]>::to_vec);
        cases.push(Case { name: command.name.into(), cdb: padded(command.cdb), data_out, data_in_bytes: 0 });
    }
    // The written data has to be equal.
    for (command, number) in ON_BLOCKS.iter().zip(0..) {
        let mut cdb = padded(&[0x88]);
        put(&mut cdb, (2, 8), number * BLOCKS_EACH);
        put(&mut cdb, (10, 4), 16);
        let name = format!("READ (16), after {}", command.name);
        cases.push(Case { name, cdb, data_out: None, data_in_bytes: 16 * 512 });
    }
    cases
}

/// Ranges at the edges of the medium and of the fields.
fn edges(command: &OnBlocks, base: u64, blocks: u64) -> Vec<(&'static str, u64, u64)> {
    let widest = |field: Field| u64::MAX >> (64 - 8 * field.1);
    let mut edges = vec![("one block", base, 1), ("blocks 8 to 15", base + 8, 8)];
    // In 6-byte commands a count of 0 means 256, which exceeds the blocks of a command.
    if command.length > 6 {
        edges.push(("count 0", base + 8, 0));
    }
    if widest(command.lba) >= blocks {
        edges.extend([
            ("last block", blocks - 1, 1),
            ("past the end", blocks, 1),
            ("across the end", blocks - 1, 2),
            ("count 0 past the end", blocks + 1, 0),
            ("largest LBA", widest(command.lba), 1),
        ]);
    }
    if command.count.1 >= 2 && command.moves != Moves::Out {
        edges.push(("largest count", blocks / 2, widest(command.count)));
    }
    edges
}

fn push_on_blocks(cases: &mut Vec<Case>, command: &OnBlocks, edge: &str, lba: u64, count: u64, bits: u8) {
    let mut cdb = padded(&command.start);
    cdb[1] |= bits;
    put(&mut cdb, command.lba, lba);
    put(&mut cdb, command.count, count);
    // In 6-byte commands 0 means 256.
    let moved = if command.length == 6 && count == 0 { 256 } else { usize::try_from(count.min(256)).unwrap_or(256) };
    let blocks = match command.moves {
        Moves::In | Moves::Nothing => 0,
        Moves::Out => moved,
        Moves::OutOnce => 1,
        Moves::OutTwice => 2 * moved,
    };
    let stamp = u8::try_from(cases.len() % 251).unwrap_or(0) + 1;
    let mut data = vec![stamp; blocks * BLOCK_BYTES];
    if command.moves == Moves::OutTwice {
        // The verify half matches the initial content of the stream.
        let half = data.len() / 2;
        data.iter_mut().take(half).for_each(|byte| *byte = 0);
    }
    let data_out = (blocks > 0).then_some(data);
    let data_in_bytes = if command.moves == Moves::In { u32::try_from(moved * BLOCK_BYTES).unwrap_or(0) } else { 0 };
    cases.push(Case { name: named(command.name, edge), cdb, data_out, data_in_bytes });
}

fn named(name: &str, edge: &str) -> String {
    if edge.is_empty() { name.to_owned() } else { format!("{name}, {edge}") }
}

fn padded(bytes: &[u8]) -> [u8; 16] {
    conformance::cdb::padded(bytes)
}

/// Writes a number to a field, truncated to its width.
fn put(cdb: &mut [u8; 16], (at, length): Field, value: u64) {
    let bytes = value.to_be_bytes();
    for (to, from) in cdb.iter_mut().skip(at).take(length).zip(bytes.iter().skip(8 - length)) {
        *to = *from;
    }
}
