//! Steps of a run: concrete, printable, and executable with any of them left out. An object of a
//! step may then not exist; the engine refuses the step and the run continues.

use crate::transaction::Change;
use std::fmt;

/// Content of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Data in every sector.
    Data,
    /// Zeros.
    Zeros,
    /// Blocks of data between blocks of zeros.
    Mixed,
    /// Data in every sector that differs from [`Self::Data`], and has the same checksums.
    Twin,
}

/// Operation of the engine. Sectors have 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Reads.
    Read { object: u64, start: u64, length: u64 },
    /// Writes content that belongs to `tag`.
    Write { object: u64, start: u64, length: u64, tag: u32, pattern: Pattern, forced: bool },
    /// Writes content that belongs to `tag`, as the replication group of the object.
    WriteAsGroup { object: u64, start: u64, length: u64, tag: u32 },
    /// Compares, with the content at submission or with other content, and writes.
    CompareAndWrite { object: u64, start: u64, length: u64, tag: u32, matching: bool, forced: bool },
    /// Makes ranges zero.
    Zero { object: u64, ranges: Vec<(u64, u64)>, forced: bool },
    /// Shares a range.
    Clone { source: u64, from: u64, destination: u64, to: u64, length: u64 },
    /// Takes ranges into a capture, in blocks.
    Capture { source: u64, capture: u64, ranges: Vec<(u64, u64)> },
    /// Waits until everything is durable.
    Flush,
    /// Queries mapped blocks.
    Provisioning { object: u64, start: u64, limit: u64 },
    /// Counts the mapped blocks of a range, in blocks.
    Mapped { object: u64, first: u64, count: u64 },
    /// Counts the blocks that only this object uses.
    Unique { object: u64 },
    /// Changes the catalog, all changes or none.
    Catalog(Vec<Catalog>),
    /// Deallocates stored zeros, in one step.
    ReclaimZeros { object: u64, start: u64 },
    /// Shares equal blocks with those `shift` blocks further on in another object, in one step.
    Reshare { object: u64, start: u64, with: u64, shift: i64, compare_only: bool },
    /// Verifies stored content, in one step.
    Verify { object: u64, start: u64 },
    /// Finds the users of some blocks.
    PlacesOf { first: u64 },
    /// Compares two snapshots, or a snapshot with nothing: one step of the difference in progress of these two, or the
    /// first of a new one. A difference that has lost an object comes first.
    Difference { base: Option<u64>, new: u64 },
    /// Runs one step of a check of the whole pool.
    CheckStep,
    /// Counts the shared blocks of a reserved volume.
    Recount { object: u64 },
    /// Grows the pool to this number of blocks.
    Grow { blocks: u64 },
    /// Makes several changes in one step; with `picky`, only if the first sector that it looks at has an
    /// odd tag.
    Transaction { changes: Vec<Change>, picky: bool, durable: bool },
}

/// One change of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Catalog {
    /// Creates a volume.
    Create { id: u64, sectors: u64 },
    /// Creates a capture.
    CreateCapture { id: u64, sectors: u64 },
    /// Creates a volume or snapshot that shares everything with `source`.
    Clone { source: u64, id: u64, snapshot: bool },
    /// Deletes an object.
    Delete { id: u64 },
    /// Changes the size.
    Resize { id: u64, sectors: u64 },
    /// Switches the write cache.
    WriteCache { id: u64, enabled: bool },
    /// Replaces content and size by those of another object.
    Rollback { id: u64, source: u64 },
    /// Reserves space, for this percentage of the shared content, or ends the reservation.
    Reserve { id: u64, percent: Option<u8> },
    /// Limits the blocks of an address space, or ends the limit.
    Ceiling { id: u64, blocks: Option<u64> },
    /// Locks a snapshot until an hour.
    Lock { id: u64, until: u32 },
    /// Ends a lock whose hour has come.
    Unlock { id: u64, now: u32 },
    /// Makes a volume a replica, or ends that.
    Replica { id: u64, enabled: bool },
    /// Switches the detection of written zeros.
    ZeroDetection { id: u64, enabled: bool },
    /// Stores a document.
    Put { key: u8, tag: u32, bytes: u32 },
    /// Removes a document.
    Remove { key: u8 },
}

/// Power failure while the pool is opened after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Number of writes that still succeed.
    pub writes: u64,
    /// Number of flushes that still succeed.
    pub flushes: u64,
    /// Whether to take a checkpoint if the pool could be opened.
    pub checkpoint: bool,
}

/// Fault of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// Kind of the affected requests.
    pub operation: media::FaultOperation,
    /// Effect.
    pub effect: media::FaultEffect,
    /// Number of requests that pass first.
    pub after: u64,
    /// Whether it affects every later request, or only one.
    pub sticky: bool,
    /// Restricts the fault to requests that touch these blocks.
    pub blocks: Option<(u64, u64)>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Submits an operation.
    Submit(Request),
    /// Lets the engine run as far as it can; `background` pages may be reclaimed.
    Pump { background: u8 },
    /// Completes `count` requests of the disk, one at a time.
    Complete { count: u8, background: u8 },
    /// Requests a checkpoint.
    Checkpoint,
    /// Waits until no operation is in flight.
    Drain,
    /// Cuts the power, possibly again during recovery, opens the pool and compares.
    Crash { inside: Vec<Inside> },
    /// Plants a fault.
    Fault(PlannedFault),
    /// Flips bits of the `nth` stored block.
    Rot { nth: u64, bits: u8 },
    /// Removes all faults.
    Heal,
}

/// Step with its number, which determines the behaviour of the disk until the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Number at generation.
    pub number: u64,
    /// The step.
    pub step: Step,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let force = |forced: &bool| if *forced { ", forced" } else { "" };
        match self {
            Self::Read { object, start, length } => write!(f, "read object {object} sectors {start}+{length}"),
            Self::Write { object, start, length, tag, pattern, forced } => {
                let content = match pattern {
                    Pattern::Data => format!("content {tag}"),
                    Pattern::Zeros => "zeros".to_owned(),
                    Pattern::Mixed => format!("content {tag} and zeros"),
                    Pattern::Twin => format!("the twin of content {tag}"),
                };
                write!(f, "write object {object} sectors {start}+{length} {content}{}", force(forced))
            }
            Self::WriteAsGroup { object, start, length, tag } => {
                write!(f, "write object {object} sectors {start}+{length} content {tag}, as its group")
            }
            Self::CompareAndWrite { object, start, length, tag, matching, forced } => {
                let compare = if *matching { "what is there" } else { "something else" };
                let force = force(forced);
                write!(f, "compare object {object} sectors {start}+{length} with {compare}, write content {tag}{force}")
            }
            Self::Zero { object, ranges, forced } => {
                let ranges: Vec<_> = ranges.iter().map(|(start, length)| format!("{start}+{length}")).collect();
                write!(f, "zero object {object} sectors {}{}", ranges.join(", "), force(forced))
            }
            Self::Clone { source, from, destination, to, length } => {
                write!(f, "clone object {source} sectors {from}+{length} to object {destination} sector {to}")
            }
            Self::Capture { source, capture, ranges } => {
                let ranges: Vec<_> = ranges.iter().map(|(first, count)| format!("{first}+{count}")).collect();
                write!(f, "capture object {source} blocks {} in object {capture}", ranges.join(", "))
            }
            Self::Flush => write!(f, "flush"),
            Self::Provisioning { object, start, limit } => {
                write!(f, "provisioning of object {object} from sector {start}, {limit} runs")
            }
            Self::Mapped { object, first, count } => {
                write!(f, "mapped blocks of object {object} from {first}+{count}")
            }
            Self::Unique { object } => write!(f, "unique bytes of object {object}"),
            Self::ReclaimZeros { object, start } => write!(f, "reclaim zeros of object {object} from sector {start}"),
            Self::Reshare { object, start, with, shift, compare_only } => {
                let what = if *compare_only { "compare" } else { "share" };
                write!(f, "{what} object {object} from sector {start} with object {with}, {shift} blocks further on")
            }
            Self::Verify { object, start } => write!(f, "verify object {object} from sector {start}"),
            Self::PlacesOf { first } => write!(f, "who uses blocks {first} to {}", first + 4),
            Self::Difference { base: Some(base), new } => write!(f, "a step of the difference from {base} to {new}"),
            Self::Difference { base: None, new } => write!(f, "a step of the difference from nothing to {new}"),
            Self::CheckStep => write!(f, "a step of a check"),
            Self::Grow { blocks } => write!(f, "grow the pool to {blocks} blocks"),
            Self::Recount { object } => write!(f, "recount object {object}"),
            Self::Transaction { changes, picky, durable } => {
                let changes: Vec<_> = changes.iter().map(ToString::to_string).collect();
                let (picky, durable) = (if *picky { ", if odd" } else { "" }, if *durable { ", durable" } else { "" });
                write!(f, "in one step: {}{picky}{durable}", changes.join("; "))
            }
            Self::Catalog(changes) => {
                let changes: Vec<_> = changes.iter().map(ToString::to_string).collect();
                write!(f, "{}", changes.join("; "))
            }
        }
    }
}

impl fmt::Display for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { id, sectors } => write!(f, "create object {id} of {sectors} sectors"),
            Self::CreateCapture { id, sectors } => write!(f, "create capture {id} of {sectors} sectors"),
            Self::Clone { source, id, snapshot: true } => write!(f, "snapshot object {source} as object {id}"),
            Self::Clone { source, id, snapshot: false } => write!(f, "clone object {source} as object {id}"),
            Self::Delete { id } => write!(f, "delete object {id}"),
            Self::Resize { id, sectors } => write!(f, "resize object {id} to {sectors} sectors"),
            Self::WriteCache { id, enabled: true } => write!(f, "write cache of object {id} on"),
            Self::WriteCache { id, enabled: false } => write!(f, "write cache of object {id} off"),
            Self::Rollback { id, source } => write!(f, "roll object {id} back to object {source}"),
            Self::Reserve { id, percent: Some(percent) } => {
                write!(f, "reserve object {id}, {percent} % of what is shared")
            }
            Self::Reserve { id, percent: None } => write!(f, "reserve nothing for object {id}"),
            Self::Ceiling { id, blocks: Some(blocks) } => write!(f, "limit object {id} to {blocks} blocks"),
            Self::Ceiling { id, blocks: None } => write!(f, "end the limit of object {id}"),
            Self::Lock { id, until } => write!(f, "lock object {id} until hour {until}"),
            Self::Unlock { id, now } => write!(f, "unlock object {id} at hour {now}"),
            Self::Replica { id, enabled: true } => write!(f, "make object {id} a replica"),
            Self::Replica { id, enabled: false } => write!(f, "make object {id} no replica"),
            Self::ZeroDetection { id, enabled: true } => write!(f, "zero detection of object {id} on"),
            Self::ZeroDetection { id, enabled: false } => write!(f, "zero detection of object {id} off"),
            Self::Put { key, tag, bytes } => write!(f, "store document {key}: {bytes} bytes, content {tag}"),
            Self::Remove { key } => write!(f, "remove document {key}"),
        }
    }
}

impl Step {
    /// True when it promises space to a volume.
    pub(crate) fn reserves(&self) -> bool {
        let promises = |change: &Catalog| matches!(change, Catalog::Reserve { percent: Some(_), .. });
        matches!(self, Self::Submit(Request::Catalog(changes)) if changes.iter().any(promises))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Submit(request) => write!(f, "{request}"),
            Self::Pump { background: 0 } => write!(f, "run the engine"),
            Self::Pump { background } => write!(f, "run the engine, reclaim up to {background} pages"),
            Self::Complete { count, background: 0 } => write!(f, "complete {count} requests of the disk"),
            Self::Complete { count, background } => {
                write!(f, "complete {count} requests of the disk, reclaim up to {background} pages after each")
            }
            Self::Checkpoint => write!(f, "ask for a checkpoint"),
            Self::Drain => write!(f, "wait until nothing is in flight"),
            Self::Crash { inside } => {
                write!(f, "power failure")?;
                for Inside { writes, flushes, checkpoint } in inside {
                    let then = if *checkpoint { ", checkpoint" } else { "" };
                    write!(f, "; open{then}; again after {writes} writes or {flushes} flushes")?;
                }
                Ok(())
            }
            Self::Fault(PlannedFault { operation, effect, after, sticky, blocks }) => {
                let which = if *sticky { "every" } else { "one" };
                write!(f, "fault: {which} {operation:?} after {after} more: {effect:?}")?;
                match blocks {
                    Some((from, to)) => write!(f, ", on blocks {from} to {to}"),
                    None => Ok(()),
                }
            }
            Self::Rot { nth, bits } => write!(f, "bit rot: {bits} bits of stored block number {nth}"),
            Self::Heal => write!(f, "no more faults"),
        }
    }
}
