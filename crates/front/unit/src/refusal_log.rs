//! Log of the latest refusals of offload commands.
//!
//! A refusal is never silent: every command of a primitive that reaches its volume or share, and is
//! answered without completing, leaves an entry with its reason in the log. So does a command that
//! completes without the benefit (a copy that had to move data, an UNMAP below the mapping unit). A
//! miscompare of COMPARE AND WRITE is ordinary contention and is only counted. A pending unit attention
//! that is reported in place of a command says nothing about the command, and is not counted.
//!
//! Equal commands of a minute are one entry with their number, so that a host that repeats commands does not push out
//! what others did.

use crate::primitive::Primitive;
use crate::refusals::{Ending, Reason};
use crate::reservations::ReservationHolder;
use block::VolumeId;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// An entry of the refusal log: one command, or several equal ones that came soon after each other. The log sets the
/// number, the count and the time of the first command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Sequence number, from 0 without gaps.
    pub sequence: u64,
    /// Commands of the entry.
    pub count: u64,
    /// Time of the first command in milliseconds since 1970 (UTC).
    pub first_unix_ms: u64,
    /// Time of the last command in milliseconds since 1970 (UTC).
    pub unix_ms: u64,
    /// Volume or share that received the command.
    pub volume: VolumeId,
    /// Name of the volume or share at that time.
    pub volume_name: String,
    /// Name of the snapshot, if the command was to one of a share.
    pub snapshot: Option<String>,
    /// Name of the initiator; for shares, the [`OffloadClient`](crate::OffloadClient).
    pub initiator: String,
    /// Offload primitive.
    pub primitive: Primitive,
    /// Name of the command in the standard.
    pub command: &'static str,
    /// Ending of the command.
    pub ending: Ending,
    /// Reason of the refusal.
    pub reason: Reason,
    /// Holder of the reservation that refused the commands, if one did.
    pub holder: Option<ReservationHolder>,
    /// Bytes of the volume or share that the commands processed; 0 if they were refused.
    pub bytes: u64,
    /// Details of the last command as text.
    pub detail: String,
}

impl LogEntry {
    /// Time after the first command of an entry in which it takes equal ones.
    pub const TAKES_FOR_MS: u64 = 60_000;

    /// Whether another command belongs to the entry. A command from before the first one does not: the clock was set.
    fn takes(&self, other: &Self) -> bool {
        let age_ms = other.unix_ms.checked_sub(self.first_unix_ms);
        age_ms.is_some_and(|age_ms| age_ms < Self::TAKES_FOR_MS) && self.subject() == other.subject()
    }

    /// What equal commands have in common; their values (`detail`) may differ.
    fn subject(&self) -> impl PartialEq + Hash {
        (
            (self.volume, self.primitive, self.command, self.ending, self.reason),
            (&self.initiator, &self.snapshot, &self.volume_name, &self.holder),
        )
    }
}

/// Hash of what equal commands have in common.
fn hash(subject: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    subject.hash(&mut hasher);
    hasher.finish()
}

/// Latest entries.
#[derive(Debug)]
pub struct RefusalLog {
    entries: VecDeque<LogEntry>,
    capacity: usize,
    /// Entries ever written.
    total: u64,
    /// Number of the newest entry of each kind of commands, by the hash of what they have in common.
    newest: HashMap<u64, u64>,
    /// Numbers of entries that were written or grew since [`Self::take_changed`].
    changed: BTreeSet<u64>,
}

impl RefusalLog {
    /// Creates an empty log that keeps `capacity` entries.
    pub fn new(capacity: usize) -> Self {
        let (entries, newest, changed) = (VecDeque::new(), HashMap::new(), BTreeSet::new());
        Self { entries, capacity, total: 0, newest, changed }
    }

    /// Adds a command to the entry of equal ones, or appends an entry and sets its number. Drops the oldest entry
    /// when the log is full. The cost does not depend on the length of the log.
    pub fn push(&mut self, mut entry: LogEntry) {
        let key = hash(&entry.subject());
        let same = self.newest.get(&key).and_then(|sequence| self.index(*sequence));
        let same = same.and_then(|at| self.entries.get_mut(at)).filter(|same| same.takes(&entry));
        let sequence = if let Some(same) = same {
            same.count += 1;
            same.unix_ms = same.unix_ms.max(entry.unix_ms);
            same.bytes = same.bytes.saturating_add(entry.bytes);
            same.detail = entry.detail;
            same.sequence
        } else {
            let sequence = self.total;
            (entry.sequence, entry.count, entry.first_unix_ms) = (sequence, 1, entry.unix_ms);
            self.total += 1;
            self.newest.insert(key, sequence);
            self.entries.push_back(entry);
            while self.entries.len() > self.capacity {
                self.drop_oldest();
            }
            sequence
        };
        self.changed.insert(sequence);
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.entries.pop_front() else { return };
        let key = hash(&oldest.subject());
        if self.newest.get(&key) == Some(&oldest.sequence) {
            self.newest.remove(&key);
        }
        self.changed.remove(&oldest.sequence);
    }

    /// Place of the entry with this number, if it is still there.
    fn index(&self, sequence: u64) -> Option<usize> {
        let first = self.entries.front()?.sequence;
        usize::try_from(sequence.checked_sub(first)?).ok().filter(|at| *at < self.entries.len())
    }

    /// Entries that were written or grew since the last call, by number. Each replaces what the caller has with this
    /// number.
    pub fn take_changed(&mut self) -> Vec<LogEntry> {
        let changed = std::mem::take(&mut self.changed);
        let entry = |sequence| self.index(sequence).and_then(|at| self.entries.get(at)).cloned();
        changed.into_iter().filter_map(entry).collect()
    }

    /// Entries with a sequence number of at least `sequence`, oldest first.
    pub fn since(&self, sequence: u64) -> Vec<LogEntry> {
        let first = self.entries.partition_point(|entry| entry.sequence < sequence);
        self.entries.range(first..).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(initiator: &str, unix_ms: u64) -> LogEntry {
        LogEntry {
            sequence: 0,
            count: 0,
            first_unix_ms: 0,
            unix_ms,
            volume: VolumeId(1),
            volume_name: "v1".to_owned(),
            snapshot: None,
            initiator: initiator.to_owned(),
            primitive: Primitive::Unmap,
            command: "UNMAP",
            ending: Ending::Refused,
            reason: Reason::OverLimit,
            holder: None,
            bytes: 512,
            detail: unix_ms.to_string(),
        }
    }

    fn holder(initiator: &str) -> Option<ReservationHolder> {
        Some(ReservationHolder { volume: VolumeId(1), initiator: initiator.to_owned(), registration: None })
    }

    #[test]
    fn the_log_keeps_the_newest_and_numbers_all() {
        let mut log = RefusalLog::new(2);
        for initiator in ["a", "b", "c"] {
            log.push(entry(initiator, 0));
        }
        let kept: Vec<_> = log.since(0).into_iter().map(|entry| (entry.sequence, entry.initiator)).collect();
        assert_eq!(kept, [(1, "b".to_owned()), (2, "c".to_owned())]);
        assert_eq!((log.since(2).len(), log.since(3).len()), (1, 0));
    }

    /// Regression: dozens of equal entries of one second pushed all others out of the log.
    #[test]
    fn equal_commands_are_one_entry() {
        let mut log = RefusalLog::new(3);
        log.push(entry("quiet", 0));
        for at in 0..1000 {
            // Two hosts alternate, and neither pushes anything out.
            log.push(entry("noisy", 10 + at));
            log.push(entry("loud", 10 + at));
        }
        let kept: Vec<_> = log.since(0);
        let counts: Vec<_> = kept.iter().map(|entry| (entry.sequence, &*entry.initiator, entry.count)).collect();
        assert_eq!(counts, [(0, "quiet", 1), (1, "noisy", 1000), (2, "loud", 1000)]);
        let noisy = &kept[1];
        assert_eq!((noisy.first_unix_ms, noisy.unix_ms, noisy.bytes), (10, 1009, 512_000));
        assert_eq!(noisy.detail, "1009", "the values of the last one");
    }

    #[test]
    fn different_commands_are_entries_of_their_own() {
        let all = || entry("a", 1000);
        let others = [
            LogEntry { volume: VolumeId(2), ..all() },
            LogEntry { volume_name: "renamed".to_owned(), ..all() },
            LogEntry { snapshot: Some("s1".to_owned()), ..all() },
            LogEntry { initiator: "b".to_owned(), ..all() },
            LogEntry { primitive: Primitive::Zero, ..all() },
            LogEntry { command: "WRITE SAME (16)", ..all() },
            LogEntry { ending: Ending::Ineffective, ..all() },
            LogEntry { reason: Reason::OutOfRange, ..all() },
            LogEntry { holder: holder("b"), ..all() },
            LogEntry { holder: holder("c"), ..all() },
            LogEntry { holder: holder("c").map(|of| ReservationHolder { volume: VolumeId(2), ..of }), ..all() },
            LogEntry { unix_ms: 1000 + LogEntry::TAKES_FOR_MS, ..all() },
            LogEntry { unix_ms: 999, ..all() },
        ];
        let mut log = RefusalLog::new(64);
        log.push(all());
        for other in others.clone() {
            log.push(other);
        }
        assert!(log.since(0).iter().all(|entry| entry.count == 1));
        assert_eq!(log.since(0).len(), 1 + others.len());
        // Each of them takes its like, the first one no more: the last one is of its kind and newer.
        log.push(LogEntry { holder: holder("c"), ..all() });
        log.push(LogEntry { unix_ms: 999, ..all() });
        let grown: Vec<_> = log.since(0).iter().filter(|entry| entry.count == 2).map(|entry| entry.sequence).collect();
        assert_eq!(grown, [10, 13]);
    }

    /// Regression: only the newest 16 entries took equal commands, so that 17 volumes in rotation filled the log.
    #[test]
    fn commands_of_many_kinds_in_rotation_are_one_entry_each() {
        let mut log = RefusalLog::new(1000);
        for round in 0..20 {
            for kind in 0..500 {
                log.push(entry(&kind.to_string(), round));
            }
        }
        let counts: Vec<_> = log.since(0).into_iter().map(|entry| entry.count).collect();
        assert_eq!(counts, [20; 500]);
    }

    #[test]
    fn an_entry_that_was_dropped_takes_nothing_more() {
        let mut log = RefusalLog::new(2);
        for initiator in ["a", "b", "c", "a"] {
            log.push(entry(initiator, 0));
        }
        let kept: Vec<_> = log.since(0).into_iter().map(|entry| (entry.sequence, entry.count)).collect();
        assert_eq!(kept, [(2, 1), (3, 1)]);
        assert_eq!((log.newest.len(), log.changed.len()), (2, 2), "what is dropped leaves nothing");
    }

    #[test]
    fn what_changed_is_taken_once() {
        let mut log = RefusalLog::new(64);
        assert_eq!(log.take_changed(), []);
        for initiator in ["a", "b", "c"] {
            log.push(entry(initiator, 0));
        }
        assert_eq!(log.take_changed(), log.since(0));
        assert_eq!(log.take_changed(), []);
        log.push(entry("d", 0));
        log.push(entry("b", 0));
        log.push(entry("c", 0));
        let changed: Vec<_> = log.take_changed().into_iter().map(|entry| (entry.sequence, entry.count)).collect();
        assert_eq!(changed, [(1, 2), (2, 2), (3, 1)]);
        log.push(entry("a", 0));
        let changed: Vec<_> = log.take_changed().into_iter().map(|entry| entry.sequence).collect();
        assert_eq!(changed, [0], "and nothing behind it");
    }
}
