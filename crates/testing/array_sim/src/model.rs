//! Possible content of a volume, or of all files of a share: for each logical block every write that may have taken
//! effect, and when.
//!
//! A write writes one stamp into its blocks, and no two writes use the same. It takes effect at an instant between
//! its issue and its response. Without a response it may take effect until its nexus logs in again or the array is
//! restarted, or never. A read returns, for each block, a stamp that the block may have had at an instant between its
//! own issue and response.

use std::collections::BTreeSet;

/// An instant: every event of a run has its own.
pub(crate) type Tick = u64;

/// Identity of a write.
pub(crate) type WriteId = u64;

/// Content that a write brings to a block.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// This stamp; 0 is zeros.
    Stamp(u64),
    /// The stamp that the block at this index had at an instant of the copy.
    CopyOf(usize),
    /// One of these: a copy that has ended.
    OneOf(BTreeSet<u64>),
}

#[derive(Clone, Debug)]
struct Write {
    id: WriteId,
    start: Tick,
    /// It was acknowledged.
    acknowledged: Option<Tick>,
    /// It cannot take effect any more.
    dead: Option<Tick>,
    /// A read has returned it; forgotten at a crash.
    observed: Option<Tick>,
    value: Value,
    /// An acknowledgement says that it took effect. UNMAP may leave blocks as they are.
    certain: bool,
}

impl Write {
    /// It took effect before this, if at all.
    fn latest(&self) -> Tick {
        [self.acknowledged, self.dead, self.observed].into_iter().flatten().min().unwrap_or(Tick::MAX)
    }

    /// It took effect, and before this.
    fn effective(&self) -> Tick {
        let acknowledged = self.acknowledged.filter(|_| self.certain);
        [acknowledged, self.observed].into_iter().flatten().min().unwrap_or(Tick::MAX)
    }
}

/// The blocks of one volume.
#[derive(Debug)]
pub(crate) struct Volume {
    blocks: Vec<Vec<Write>>,
}

impl Volume {
    /// A new volume: zeros.
    pub(crate) fn new(blocks: usize) -> Self {
        let zeros = Write {
            id: 0,
            start: 0,
            acknowledged: Some(0),
            dead: None,
            observed: None,
            value: Value::Stamp(0),
            certain: true,
        };
        Self { blocks: vec![vec![zeros]; blocks] }
    }

    /// A write is issued.
    pub(crate) fn begin(&mut self, id: WriteId, now: Tick, block: usize, value: Value, certain: bool) {
        if let Some(writes) = self.blocks.get_mut(block) {
            let (acknowledged, dead, observed) = (None, None, None);
            writes.push(Write { id, start: now, acknowledged, dead, observed, value, certain });
        }
    }

    fn of(&mut self, id: WriteId, block: usize) -> Option<&mut Write> {
        self.blocks.get_mut(block)?.iter_mut().rev().find(|write| write.id == id)
    }

    /// It is acknowledged.
    pub(crate) fn acknowledge(&mut self, id: WriteId, now: Tick, block: usize) {
        let copied = match self.of(id, block) {
            Some(Write { value: Value::CopyOf(source), start, .. }) => Some((*source, *start)),
            _ => None,
        };
        let copied = copied.map(|(source, start)| self.possible(source, start, now));
        if let Some(write) = self.of(id, block) {
            write.acknowledged = Some(now);
            if let Some(stamps) = copied {
                write.value = Value::OneOf(stamps);
            }
        }
    }

    /// It took effect, but a crash may lose it until it is acknowledged.
    pub(crate) fn execute(&mut self, id: WriteId, now: Tick, block: usize) {
        if let Some(write) = self.of(id, block) {
            write.observed.get_or_insert(now);
        }
    }

    /// It did not take effect and will not.
    pub(crate) fn refuse(&mut self, id: WriteId, block: usize) {
        if let Some(writes) = self.blocks.get_mut(block) {
            writes.retain(|write| write.id != id);
        }
    }

    /// It may have taken effect, and cannot any more.
    pub(crate) fn bury(&mut self, id: WriteId, now: Tick, block: usize) {
        if let Some(write) = self.of(id, block) {
            write.dead.get_or_insert(now);
        }
    }

    /// The power fails: what was not acknowledged cannot take effect any more, and what of it was read may be lost.
    pub(crate) fn crash(&mut self, now: Tick) {
        for write in self.blocks.iter_mut().flatten().filter(|write| write.acknowledged.is_none()) {
            write.dead.get_or_insert(now);
            write.observed = None;
        }
    }

    /// Stamps that the block may have had at an instant from `from` to `to`.
    pub(crate) fn possible(&self, block: usize, from: Tick, to: Tick) -> BTreeSet<u64> {
        let mut stamps = BTreeSet::new();
        let Some(writes) = self.blocks.get(block) else { return stamps };
        // Of all writes that took effect before `from`, the one that began last.
        let newest = writes.iter().filter(|w| w.effective() < from).map(|w| w.start).max().unwrap_or(0);
        for write in writes.iter().filter(|write| write.start <= to && write.latest() >= newest) {
            match &write.value {
                Value::Stamp(stamp) => {
                    stamps.insert(*stamp);
                }
                Value::CopyOf(source) => stamps.extend(self.possible(*source, write.start, to.min(write.latest()))),
                Value::OneOf(some) => stamps.extend(some),
            }
        }
        stamps
    }

    /// A read returned this stamp.
    pub(crate) fn observe(&mut self, block: usize, stamp: u64, now: Tick) {
        let Some(writes) = self.blocks.get_mut(block) else { return };
        let is = |write: &&mut Write| matches!(write.value, Value::Stamp(found) if found == stamp && stamp != 0);
        for write in writes.iter_mut().filter(is) {
            write.observed.get_or_insert(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(list: &[u64]) -> BTreeSet<u64> {
        list.iter().copied().collect()
    }

    #[test]
    fn an_acknowledged_write_hides_what_was_before() {
        let mut volume = Volume::new(1);
        volume.begin(1, 1, 0, Value::Stamp(7), true);
        assert_eq!(volume.possible(0, 2, 3), stamps(&[0, 7]));
        volume.acknowledge(1, 4, 0);
        assert_eq!(volume.possible(0, 5, 6), stamps(&[7]));
        assert_eq!(volume.possible(0, 3, 6), stamps(&[0, 7]), "a read that began before");
    }

    #[test]
    fn a_write_without_an_answer_may_take_effect_until_it_is_dead() {
        let mut volume = Volume::new(1);
        volume.begin(1, 1, 0, Value::Stamp(7), true);
        volume.begin(2, 2, 0, Value::Stamp(8), true);
        volume.acknowledge(2, 3, 0);
        assert_eq!(volume.possible(0, 4, 5), stamps(&[7, 8]));
        volume.bury(1, 6, 0);
        volume.begin(3, 7, 0, Value::Stamp(9), true);
        volume.acknowledge(3, 8, 0);
        assert_eq!(volume.possible(0, 9, 9), stamps(&[9]));
    }

    #[test]
    fn a_crash_may_lose_what_is_not_durable() {
        let mut volume = Volume::new(1);
        volume.begin(1, 1, 0, Value::Stamp(7), true);
        volume.execute(1, 2, 0);
        assert_eq!(volume.possible(0, 3, 3), stamps(&[7]));
        let mut durable = Volume { blocks: volume.blocks.clone() };
        volume.crash(4);
        assert_eq!(volume.possible(0, 5, 5), stamps(&[0, 7]));
        durable.acknowledge(1, 4, 0);
        durable.crash(5);
        assert_eq!(durable.possible(0, 6, 6), stamps(&[7]));
    }

    #[test]
    fn a_crash_may_lose_what_was_read_but_not_acknowledged() {
        let mut volume = Volume::new(1);
        volume.begin(1, 1, 0, Value::Stamp(7), true);
        volume.observe(0, 7, 2);
        assert_eq!(volume.possible(0, 3, 3), stamps(&[7]));
        volume.crash(4);
        assert_eq!(volume.possible(0, 5, 5), stamps(&[0, 7]));
    }
}
