//! The space map in memory: a segment's counts, sets of its blocks, and the resident segments.

use crate::space::layout::SEGMENT_BLOCKS;

/// Number of words in a set of a segment's blocks.
pub const WORDS: usize = (SEGMENT_BLOCKS / 64) as usize;
/// Number of blocks in a segment.
pub const N: usize = SEGMENT_BLOCKS as usize;

/// Set of a segment's blocks.
pub type Bits = [u64; WORDS];

/// Counts of one segment, and properties of its blocks, a bit for each.
pub struct Segment {
    pub counts: Box<[u16; N]>,
    pub allocatable: Bits,
    pub freed: Bits,
    pub frozen: Bits,
    pub available: u32,
    pub zero_counts: u32,
    pub reserved: u32,
    /// Generation of the last change; 0: none since the counts were read.
    pub changed: u32,
    /// Generation of the last change that was encoded for a checkpoint, or `changed`, if nothing is to be encoded.
    pub encoded: u32,
    /// True while its last checkpointed form is not yet durable.
    pub flushing: bool,
    pub referenced: bool,
}

/// Resident segments, found by number with two loads, since every operation needs several.
pub struct Resident {
    /// By segment: index in `arena` plus 1; 0 if not in memory.
    pub places: Vec<u32>,
    arena: Vec<Option<Segment>>,
    free: Vec<u32>,
}

impl Resident {
    pub fn new(segments: u32) -> Self {
        Self { places: vec![0; segments as usize], arena: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub fn place(&self, segment: u32) -> Option<usize> {
        (self.places.get(segment as usize)?.checked_sub(1)).map(|place| place as usize)
    }

    #[inline]
    pub fn get(&self, segment: u32) -> Option<&Segment> {
        self.arena.get(self.place(segment)?)?.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, segment: u32) -> Option<&mut Segment> {
        let place = self.place(segment)?;
        self.arena.get_mut(place)?.as_mut()
    }

    pub fn contains(&self, segment: u32) -> bool {
        self.place(segment).is_some()
    }

    pub fn len(&self) -> usize {
        self.arena.len() - self.free.len()
    }

    pub fn insert(&mut self, segment: u32, content: Segment) {
        let place = match self.free.pop() {
            Some(place) => {
                self.arena[place as usize] = Some(content);
                place
            }
            None => {
                self.arena.push(Some(content));
                self.arena.len() as u32 - 1
            }
        };
        self.places[segment as usize] = place + 1;
    }

    pub fn remove(&mut self, segment: u32) {
        if let Some(place) = self.place(segment) {
            self.arena[place] = None;
            self.free.push(place as u32);
            self.places[segment as usize] = 0;
        }
    }
}

pub fn bit(bits: &Bits, i: usize) -> bool {
    bits[i / 64] >> (i % 64) & 1 == 1
}
pub fn set(bits: &mut Bits, i: usize) {
    bits[i / 64] |= 1 << (i % 64);
}
pub fn clear(bits: &mut Bits, i: usize) {
    bits[i / 64] &= !(1 << (i % 64));
}

/// Returns the first run of set bits at or after `from`, at most `want` long.
pub fn next_run(bits: &Bits, from: usize, want: usize) -> Option<(usize, usize)> {
    let mut word = from / 64;
    if word >= WORDS {
        return None;
    }
    let mut current = bits[word] & (!0u64 << (from % 64));
    while current == 0 {
        word += 1;
        current = *bits.get(word)?;
    }
    let at = word * 64 + current.trailing_zeros() as usize;
    let mut run = 1;
    while run < want && at + run < N && bit(bits, at + run) {
        run += 1;
    }
    Some((at, run))
}
