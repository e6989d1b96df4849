//! Disk with a volatile write cache, in a file: writes stay in memory until a flush, and a power
//! cut loses a random part of them.
//!
//! The rules are those of a real disk. A flush makes everything durable that completed before it.
//! Without one, a write may be kept, lost, or torn between its sectors of 512 bytes, independently
//! of the writes before and after it. But where two writes overlap, the older one never replaces
//! the newer. The cache is bounded: when it is full, its older half is made durable.

use anyhow::{Context, Result};
use random::Random;
use rustix::fs::{FallocateFlags, fallocate};
use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of the atomic unit of the medium.
pub(super) const SECTOR_BYTES: u64 = 512;
/// Limits of the cache.
const CACHE_BYTES: u64 = 64 << 20;
const CACHE_WRITES: usize = 4096;
/// Largest discarded range that may be filled with a pattern, since its content is undefined.
const FILL_BYTES: u64 = 1 << 20;
/// Pattern for it.
const FILL: u8 = 0xDB;

/// Content of a write.
#[derive(Clone, Debug)]
enum Content {
    Data(Vec<u8>),
    Discarded,
}

/// Completed write that is not durable.
#[derive(Clone, Debug)]
struct Cached {
    offset: u64,
    length: u64,
    content: Content,
}

impl Cached {
    fn end(&self) -> u64 {
        self.offset + self.length
    }

    /// Part between two offsets, if any.
    fn part(&self, from: u64, to: u64) -> Option<Self> {
        let (from, to) = (from.max(self.offset), to.min(self.end()));
        if from >= to {
            return None;
        }
        let content = match &self.content {
            Content::Discarded => Content::Discarded,
            Content::Data(data) => {
                let start = usize::try_from(from - self.offset).ok()?;
                let end = usize::try_from(to - self.offset).ok()?;
                Content::Data(data.get(start..end)?.to_vec())
            }
        };
        Some(Self { offset: from, length: to - from, content })
    }

    /// Bytes of memory used.
    fn bytes(&self) -> u64 {
        if matches!(self.content, Content::Data(_)) { self.length } else { 0 }
    }
}

/// Counters of writes and their fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Number of writes and discards.
    writes: u64,
    /// Number of flushes.
    flushes: u64,
    /// Number of writes that were not durable at a power cut and were lost.
    lost: u64,
    /// Number of such writes of which some sectors were kept.
    torn: u64,
    /// Number of such writes that were kept.
    kept: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writes, flushes, lost, torn, kept } = self;
        write!(
            f,
            "the disk took {writes} writes and {flushes} flushes; not durable at a cut: {lost} lost, {torn} torn, {kept} kept"
        )
    }
}

/// Disk with a volatile write cache; see the module documentation.
#[derive(Debug)]
pub(super) struct VolatileDisk {
    file: File,
    size_bytes: u64,
    cache: VecDeque<Cached>,
    cached_bytes: u64,
    random: Random,
    counts: Counts,
    /// Whether flushes are acknowledged without effect.
    lies: bool,
}

impl VolatileDisk {
    /// Opens a disk in the existing file `path`, whose size it has.
    pub(super) fn open(path: &Path, seed: u64, lies: bool) -> Result<Self> {
        let file = File::options().read(true).write(true).open(path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        let size_bytes = file.metadata()?.len();
        let counts = Counts::default();
        let (cache, random) = (VecDeque::new(), Random::new(seed));
        Ok(Self { file, size_bytes, cache, cached_bytes: 0, random, counts, lies })
    }

    /// Size of the disk in bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Counters so far.
    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Number of completed writes that are not durable.
    pub(super) fn unsafe_writes(&self) -> usize {
        self.cache.len()
    }

    /// Draws a seed for other random decisions about this disk.
    pub(super) fn seed(&mut self) -> u64 {
        self.random.next()
    }

    /// Whether the range consists of whole sectors on the disk.
    pub(super) fn has(&self, offset: u64, length: u64) -> bool {
        let aligned = offset.is_multiple_of(SECTOR_BYTES) && length.is_multiple_of(SECTOR_BYTES);
        aligned && offset.checked_add(length).is_some_and(|end| end <= self.size_bytes)
    }

    /// Reads from `offset` on into `buffer`.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)?;
        let end = offset + buffer.len() as u64;
        for part in self.cache.iter().filter_map(|cached| cached.part(offset, end)) {
            let at = usize::try_from(part.offset - offset).unwrap_or(usize::MAX);
            let length = usize::try_from(part.length).unwrap_or(usize::MAX);
            let Some(target) = buffer.get_mut(at..).and_then(|rest| rest.get_mut(..length)) else { continue };
            match &part.content {
                Content::Data(data) => target.copy_from_slice(data),
                Content::Discarded => target.fill(0),
            }
        }
        Ok(())
    }

    /// Adds a write to the cache; with `durable` (force unit access), makes it durable before
    /// returning.
    pub(super) fn write(&mut self, offset: u64, data: Vec<u8>, durable: bool) -> io::Result<()> {
        let cached = Cached { offset, length: data.len() as u64, content: Content::Data(data) };
        self.take(cached, durable)
    }

    /// Adds a discard, after which the content of the range is undefined.
    pub(super) fn discard(&mut self, offset: u64, length: u64, durable: bool) -> io::Result<()> {
        self.take(Cached { offset, length, content: Content::Discarded }, durable)
    }

    fn take(&mut self, cached: Cached, durable: bool) -> io::Result<()> {
        self.counts.writes += 1;
        if durable && !self.lies {
            self.forget(cached.offset, cached.end());
            return self.keep(&cached);
        }
        self.cached_bytes += cached.bytes();
        self.cache.push_back(cached);
        while self.cached_bytes > CACHE_BYTES || self.cache.len() > CACHE_WRITES {
            for _ in 0..=self.cache.len() / 2 {
                self.keep_oldest()?;
            }
        }
        Ok(())
    }

    /// Makes all cached writes durable.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.counts.flushes += 1;
        while !self.lies && !self.cache.is_empty() {
            self.keep_oldest()?;
        }
        Ok(())
    }

    /// Cuts the power: each write that is not durable is kept, lost or torn.
    pub(super) fn cut(&mut self) -> io::Result<()> {
        let everything_lost = self.random.below(4) == 0;
        self.cached_bytes = 0;
        for cached in std::mem::take(&mut self.cache) {
            let fate = if everything_lost { 0 } else { self.random.below(4) };
            let sectors = cached.length / SECTOR_BYTES;
            match fate {
                0 => self.counts.lost += 1,
                1 => {
                    self.counts.kept += 1;
                    self.keep(&cached)?;
                }
                // A discard has no sector order, and a single sector is never torn.
                _ if sectors < 2 || matches!(cached.content, Content::Discarded) => self.counts.lost += 1,
                2 => {
                    self.counts.torn += 1;
                    let end = cached.offset + self.random.below(sectors) * SECTOR_BYTES;
                    self.keep_part(&cached, cached.offset, end)?;
                }
                _ => {
                    self.counts.torn += 1;
                    for sector in 0..sectors {
                        let at = cached.offset + sector * SECTOR_BYTES;
                        if self.random.below(2) == 0 {
                            self.keep_part(&cached, at, at + SECTOR_BYTES)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn keep_oldest(&mut self) -> io::Result<()> {
        let Some(cached) = self.cache.pop_front() else { return Ok(()) };
        self.cached_bytes -= cached.bytes();
        self.keep(&cached)
    }

    fn keep_part(&self, cached: &Cached, from: u64, to: u64) -> io::Result<()> {
        cached.part(from, to).map_or(Ok(()), |part| self.write_data(&part))
    }

    /// Removes a range from the cache, because newer data is durable there.
    fn forget(&mut self, from: u64, to: u64) {
        let cache = std::mem::take(&mut self.cache);
        for cached in cache {
            self.cache.extend(cached.part(0, from));
            self.cache.extend(cached.part(to, u64::MAX));
        }
        self.cached_bytes = self.cache.iter().map(Cached::bytes).sum();
    }

    /// Writes to the medium.
    fn keep(&mut self, cached: &Cached) -> io::Result<()> {
        if matches!(cached.content, Content::Discarded) && cached.length <= FILL_BYTES && self.random.below(2) == 0 {
            let length = usize::try_from(cached.length).unwrap_or(0);
            return self.file.write_all_at(&vec![FILL; length], cached.offset);
        }
        self.write_data(cached)
    }

    fn write_data(&self, cached: &Cached) -> io::Result<()> {
        match &cached.content {
            Content::Data(data) => self.file.write_all_at(data, cached.offset),
            Content::Discarded => {
                let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                Ok(fallocate(&self.file, punch, cached.offset, cached.length)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use std::collections::BTreeSet;

    const SECTOR: usize = SECTOR_BYTES as usize;

    fn disk(directory: &Path, seed: u64, lies: bool) -> VolatileDisk {
        let path = directory.join("disk");
        File::create(&path).unwrap().set_len(64 << 10).unwrap();
        VolatileDisk::open(&path, seed, lies).unwrap()
    }

    fn sectors(disk: &VolatileDisk, count: usize) -> Vec<u8> {
        let mut content = vec![0; count * SECTOR];
        disk.read(0, &mut content).unwrap();
        let sector = |sector: &[u8]| {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is torn");
            sector[0]
        };
        content.chunks(SECTOR).map(sector).collect()
    }

    #[test]
    fn flushed_writes_survive_a_cut_and_others_have_every_fate() {
        let directory = tempfile::tempdir().unwrap();
        let mut seen = BTreeSet::new();
        for seed in 0..200 {
            let mut disk = disk(directory.path(), seed, false);
            disk.write(0, vec![1; 4 * SECTOR], false).unwrap();
            disk.flush().unwrap();
            disk.write(SECTOR_BYTES, vec![2; 3 * SECTOR], false).unwrap();
            assert_eq!(sectors(&disk, 4), [1, 2, 2, 2]);
            disk.cut().unwrap();
            let after = sectors(&disk, 4);
            assert_eq!(after[0], 1);
            seen.insert(after);
        }
        for wanted in [[1, 1, 1, 1], [1, 2, 2, 2], [1, 2, 1, 1], [1, 1, 1, 2], [1, 2, 2, 1]] {
            assert!(seen.contains(wanted.as_slice()), "{wanted:?} is not among {seen:?}");
        }
    }

    #[test]
    fn the_older_of_two_writes_never_replaces_the_newer() {
        let directory = tempfile::tempdir().unwrap();
        for seed in 0..200 {
            let mut disk = disk(directory.path(), seed, false);
            disk.write(0, vec![1; 4 * SECTOR], false).unwrap();
            disk.write(SECTOR_BYTES, vec![2; SECTOR], true).unwrap();
            disk.discard(2 * SECTOR_BYTES, SECTOR_BYTES, false).unwrap();
            assert_eq!(sectors(&disk, 4), [1, 2, 0, 1]);
            disk.cut().unwrap();
            let after = sectors(&disk, 4);
            assert_eq!(after[1], 2, "force unit access is durable");
            assert!([0, 1, FILL].contains(&after[2]) && after[3] <= 1, "{after:?}");
        }
    }

    #[test]
    fn a_disk_that_lies_loses_what_was_flushed() {
        let directory = tempfile::tempdir().unwrap();
        let lost = (0..50).filter(|seed| {
            let mut disk = disk(directory.path(), *seed, true);
            disk.write(0, vec![1; SECTOR], true).unwrap();
            disk.flush().unwrap();
            disk.cut().unwrap();
            sectors(&disk, 1) == [0]
        });
        assert!(lost.count() > 10);
    }

    #[test]
    fn the_cache_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = disk(directory.path(), 1, false);
        for number in 0..CACHE_WRITES as u64 * 3 {
            disk.write(number % 128 * SECTOR_BYTES, vec![7; SECTOR], false).unwrap();
            assert!(disk.cache.len() <= CACHE_WRITES);
        }
        assert_eq!(disk.cached_bytes, disk.cache.len() as u64 * SECTOR_BYTES);
        assert!(
            !disk.has(1, SECTOR_BYTES) && !disk.has(64 << 10, SECTOR_BYTES) && !disk.has(u64::MAX - 511, SECTOR_BYTES)
        );
    }
}
