//! World of a run: properties of disk and engine, and frequency of each kind of step. A seed
//! determines all of it, so that runs differ in kind and not only in detail: each omits some
//! operations and prefers others.

use media::SimOptions;
use pool::{ADDRESS_SPACE_BYTES, MAX_VOLUME_BYTES, Options};
use random::Random;

/// Blocks before the first data block: superblocks, log, and the segment with the space map.
const FIXED_BLOCKS: u64 = 2 * 2048;

/// Blocks of checkpoints and destaging in a turn, one of these: so few that most checkpoints take
/// several turns, and much happens while the pages of an epoch are being sealed.
const TURN_BLOCKS: [usize; 4] = [1, 2, 6, 24];

/// Kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    LargeWrite,
    CompareAndWrite,
    Zero,
    Clone,
    Flush,
    Provisioning,
    Unique,
    Create,
    CloneObject,
    Delete,
    Resize,
    WriteCache,
    Document,
    Batch,
    Rollback,
    Reserve,
    Scan,
    Grow,
    ZeroDetection,
    Transaction,
    Difference,
    /// Writes again what was written, as a host that copies does.
    Copy,
    Reshare,
    Pump,
    Complete,
    Checkpoint,
    Crash,
    Drain,
    Fault,
    Rot,
    Heal,
}

/// Frequency of each kind in about 1 000 steps, in a run without preferences.
const USUAL: &[(Kind, u64)] = &[
    (Kind::Read, 90),
    (Kind::Write, 180),
    (Kind::LargeWrite, 60),
    (Kind::CompareAndWrite, 35),
    (Kind::Zero, 50),
    (Kind::Clone, 70),
    (Kind::Flush, 12),
    (Kind::Provisioning, 12),
    (Kind::Unique, 4),
    (Kind::Create, 6),
    (Kind::CloneObject, 18),
    (Kind::Delete, 12),
    (Kind::Resize, 10),
    (Kind::WriteCache, 8),
    (Kind::Document, 16),
    (Kind::Batch, 5),
    (Kind::Rollback, 6),
    (Kind::Reserve, 5),
    (Kind::Scan, 10),
    (Kind::Grow, 2),
    (Kind::Pump, 120),
    (Kind::Complete, 220),
    (Kind::Checkpoint, 16),
    (Kind::Crash, 12),
    (Kind::Drain, 4),
];

/// Faults of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// None.
    None,
    /// Requests fail, with or without effect. Stored data equals written data.
    Errors,
    /// Writes are lost or misdirected, flushes have no effect, bits rot.
    Damage,
    /// Flushes succeed without effect.
    Lies,
}

/// Properties of a run.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub seed: u64,
    pub disk_blocks: u64,
    pub log_bytes: u64,
    pub memory_bytes: usize,
    /// Same as in [`SimOptions`].
    pub delay: u16,
    /// Same as in [`SimOptions`].
    pub known_room: u16,
    /// Largest volume in sectors.
    pub volume_sectors: u64,
    /// Whether some objects are address spaces.
    pub spaces: bool,
    /// Whether transactions allot ranges of address spaces.
    pub allots: bool,
    /// Number of first sectors of a volume in which most operations overlap.
    pub window_sectors: u64,
    pub objects: usize,
    /// Longest small writes in sectors.
    pub small_sectors: [u64; 4],
    /// Longest large write in sectors.
    pub large_sectors: u64,
    /// Documents at most, and their sizes in bytes at most.
    pub documents: u64,
    pub document_bytes: [u64; 4],
    /// Runs of the pool before this one store documents as releases before the index did.
    pub index_from: u64,
    pub faults: Faults,
    pub weights: Vec<(Kind, u64)>,
}

/// Largest volumes of worlds with wide objects: some become wide only when they grow, and others get
/// narrow again.
const WIDE_SECTORS: [u64; 4] = [1 << 35, 1 << 36, 1 << 37, MOST_SECTORS];
/// Sectors of the largest volume that a pool takes.
pub(crate) const MOST_SECTORS: u64 = MAX_VOLUME_BYTES / 512;
/// Sectors of an address space.
pub(crate) const SPACE_SECTORS: u64 = ADDRESS_SPACE_BYTES / 512;

impl World {
    /// World of a seed. `crash_every`: average number of steps between crashes.
    pub(crate) fn of(seed: u64, crash_every: Option<u64>) -> Self {
        let random = Random::new(seed ^ 0x0077_6f72_6c64);
        let sizes = [280, 400, 900, 2047, 2047, 2048 * 2, 2048 * 2, 2048 * 5];
        let data_blocks = sizes[random.below(8) as usize];
        let tiny = data_blocks < 1000;
        let choose = |random: &Random, list: &[u64]| list[random.below(list.len() as u64) as usize];
        let log_bytes = choose(&random, &[256 << 10, 256 << 10, 512 << 10, 1 << 20]);
        let memory_bytes = choose(&random, &[256 << 10, 1 << 20, 4 << 20]) as usize;
        let delay = choose(&random, &[0, 64, 200, 256, 256]) as u16;
        let volume_sectors = match tiny {
            true => choose(&random, &[800, 2100, 5000]),
            false => choose(&random, &[3000, 70_000, 300_000, 2_000_000]),
        };
        let window_sectors = choose(&random, &[64, 512, 1024, 4096]);
        let objects = choose(&random, &[2, 4, 6]) as usize;
        let large_sectors = choose(&random, &[100, 400, if tiny { 400 } else { 3000 }]);
        let documents = choose(&random, if tiny { &[3, 8] } else { &[5, 40, 150] });
        let document_bytes = if tiny { [60, 600, 9000, 9000] } else { [60, 600, 9000, 65_536] };
        let index_from = choose(&random, &[0, 0, 2, 3, 6]);
        let mut weights: Vec<(Kind, u64)> = USUAL.to_vec();
        for (kind, weight) in &mut weights {
            let factor = [0, 2, 4, 4, 4, 8, 20][random.below(7) as usize];
            // Kinds without which nothing would happen are kept.
            let needed = matches!(kind, Kind::Create | Kind::Complete | Kind::Crash | Kind::Pump);
            *weight = *weight * factor.max(if needed { 2 } else { 0 }) / 4;
        }
        let mut world = Self {
            seed,
            disk_blocks: FIXED_BLOCKS + data_blocks + 1,
            log_bytes,
            memory_bytes,
            delay,
            known_room: [256, 256, 0, 128][(seed / 8 % 4) as usize],
            volume_sectors,
            spaces: false,
            allots: false,
            window_sectors,
            objects,
            small_sectors: [1, 8, 8, 64],
            large_sectors,
            documents,
            document_bytes,
            index_from,
            faults: Faults::None,
            weights,
        };
        // Mapped blocks are known exactly only where zeros are never stored.
        if seed % 8 == 6 {
            world.weights.push((Kind::ZeroDetection, 10));
        }
        match seed % 8 {
            0 => world.overwriting(),
            2 => {
                world.volume_sectors = choose(&random, &WIDE_SECTORS);
                world.spaces = seed / 8 % 2 == 1;
            }
            4 => world.freeing(),
            1 => world.placing(),
            3 => world.together(),
            5 => {
                world.spaces = true;
                world.weights.push((Kind::Transaction, 120));
            }
            _ => {}
        }
        if seed % 16 == 13 {
            world.allotting();
        }
        if seed % 4 == 2 {
            world.weights.extend([(Kind::Copy, 50), (Kind::Reshare, 60)]);
            if seed % 16 == 6 {
                // Comparisons wait for content, and hosts write meanwhile.
                world.memory_bytes = 256 << 10;
                world.window_sectors = 512;
            }
        }
        if seed % 16 == 12 {
            world.objects = 6;
            world.weights.push((Kind::Transaction, 300));
        }
        match seed % 16 {
            10 => world.weights.push((Kind::Difference, 60)),
            15 => world.comparing(),
            _ => {}
        }
        let sum: u64 = world.weights.iter().map(|(_, weight)| weight).sum();
        if let Some(every) = crash_every
            && let Some(crash) = world.weights.iter_mut().find(|(kind, _)| *kind == Kind::Crash)
        {
            crash.1 = (sum / every.max(1)).max(1);
        }
        world
    }

    /// Adds disk faults to the world.
    pub(crate) fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        let sum: u64 = self.weights.iter().map(|(_, weight)| weight).sum();
        self.weights.push((Kind::Fault, (sum / 60).max(1)));
        self.weights.push((Kind::Heal, (sum / 60).max(1)));
        if faults == Faults::Damage {
            self.weights.push((Kind::Rot, (sum / 150).max(1)));
        }
        self
    }

    /// Prefers steps that test the order rule: many blocks overwritten in place and destaged while
    /// their frames are in flight.
    fn overwriting(&mut self) {
        self.disk_blocks = FIXED_BLOCKS + 2047 + 1;
        self.log_bytes = 1 << 20;
        self.memory_bytes = 1 << 20;
        self.delay = 256;
        self.volume_sectors = 3000;
        self.window_sectors = 1024;
        self.objects = 2;
        self.small_sectors = [8, 64, 64, 64];
        self.prefer(&[
            (Kind::Write, 600),
            (Kind::Complete, 150),
            (Kind::Crash, 20),
            (Kind::Create, 4),
            (Kind::Checkpoint, 2),
        ]);
    }

    /// Prefers steps that test the release rule: blocks allocated and freed while a checkpoint is
    /// in flight, on a small pool.
    fn freeing(&mut self) {
        self.disk_blocks = FIXED_BLOCKS + 280 + 1;
        self.delay = 256;
        self.volume_sectors = 800;
        self.window_sectors = 128;
        self.objects = 2;
        self.large_sectors = 100;
        self.prefer(&[
            (Kind::Write, 100),
            (Kind::LargeWrite, 250),
            (Kind::Zero, 50),
            (Kind::Complete, 300),
            (Kind::Checkpoint, 40),
            (Kind::Crash, 20),
            (Kind::Create, 4),
            (Kind::CloneObject, 8),
            (Kind::Delete, 8),
        ]);
    }

    /// Prefers steps that test records beside their content: large writes, others among them, and crashes
    /// while they are in flight.
    fn placing(&mut self) {
        self.known_room = 256;
        self.disk_blocks = FIXED_BLOCKS + 2047 + 1;
        self.log_bytes = 256 << 10;
        self.memory_bytes = 1 << 20;
        self.delay = 256;
        self.volume_sectors = 3000;
        self.window_sectors = 512;
        self.objects = 2;
        self.large_sectors = 100;
        self.prefer(&[
            (Kind::LargeWrite, 200),
            (Kind::Write, 100),
            (Kind::Complete, 300),
            (Kind::Crash, 60),
            (Kind::Create, 4),
        ]);
    }

    /// Prefers transactions that allot, in a pool that fills up.
    fn allotting(&mut self) {
        self.allots = true;
        self.disk_blocks = FIXED_BLOCKS + [900, 2047][(self.seed / 16 % 2) as usize] + 1;
        self.log_bytes = 256 << 10;
        self.objects = 3;
        self.window_sectors = 1024;
        self.large_sectors = 400;
        self.prefer(&[
            (Kind::Write, 100),
            (Kind::LargeWrite, 60),
            (Kind::Zero, 20),
            (Kind::Clone, 30),
            (Kind::CloneObject, 12),
            (Kind::Delete, 6),
            (Kind::Create, 8),
            (Kind::Reserve, 12),
            (Kind::Complete, 300),
            (Kind::Checkpoint, 20),
            (Kind::Crash, 12),
        ]);
        self.weights.retain(|(kind, _)| *kind != Kind::Transaction);
        self.weights.push((Kind::Transaction, 300));
    }

    /// Prefers differences of many snapshots, and what can come between their steps.
    fn comparing(&mut self) {
        self.delay = 256;
        self.objects = 8;
        self.large_sectors = 400;
        self.prefer(&[
            (Kind::Write, 100),
            (Kind::LargeWrite, 40),
            (Kind::Zero, 40),
            (Kind::Clone, 40),
            (Kind::CloneObject, 60),
            (Kind::Delete, 30),
            (Kind::Rollback, 8),
            (Kind::Resize, 10),
            (Kind::Complete, 200),
            (Kind::Checkpoint, 6),
            (Kind::Crash, 8),
            (Kind::Create, 4),
        ]);
        self.weights.push((Kind::Difference, 250));
    }

    /// Prefers transactions, and what can come between their attempts. The smallest memory: a cache of
    /// 64 blocks.
    fn together(&mut self) {
        self.memory_bytes = 64 << 10;
        self.delay = 256;
        self.objects = 4;
        self.prefer(&[
            (Kind::Write, 60),
            (Kind::Read, 60),
            (Kind::CloneObject, 20),
            (Kind::Complete, 200),
            (Kind::Crash, 40),
            (Kind::Create, 8),
            (Kind::Checkpoint, 20),
        ]);
        self.weights.push((Kind::Transaction, 300));
    }

    /// Draws mostly the preferred kinds, and a few of each other kind in use.
    fn prefer(&mut self, preferred: &[(Kind, u64)]) {
        for (kind, weight) in &mut self.weights {
            *weight = match preferred.iter().find(|(found, _)| found == kind) {
                Some((_, preferred)) => *preferred,
                None => weight.div_ceil(16),
            };
        }
    }

    /// Smallest pool with full functionality, for enumerations.
    pub(crate) fn tiny(seed: u64) -> Self {
        Self {
            seed,
            disk_blocks: FIXED_BLOCKS + 300 + 1,
            log_bytes: 256 << 10,
            memory_bytes: 256 << 10,
            delay: 256,
            known_room: 256,
            volume_sectors: 2100,
            spaces: false,
            allots: false,
            window_sectors: 128,
            objects: 4,
            small_sectors: [1, 8, 8, 64],
            large_sectors: 200,
            documents: 5,
            document_bytes: [60, 600, 9000, 9000],
            index_from: 0,
            faults: Faults::None,
            weights: USUAL.to_vec(),
        }
    }

    pub(crate) fn disk(&self) -> SimOptions {
        let mut options = SimOptions::new(self.seed ^ 0x5eed, self.disk_blocks);
        options.delay = self.delay;
        options.known_room = self.known_room;
        options
    }

    /// Blocks of checkpoints and destaging in a turn.
    pub(crate) fn turn_blocks(&self) -> usize {
        TURN_BLOCKS[(self.seed / 2) as usize % TURN_BLOCKS.len()]
    }

    pub(crate) fn engine(&self, incarnation: u64) -> Options {
        // In every other run, freed blocks have undefined content.
        Options {
            memory_bytes: self.memory_bytes,
            incarnation,
            destage_batch: 16,
            discard: self.seed.is_multiple_of(2),
            list_documents: incarnation < self.index_from,
            turn_blocks: self.turn_blocks(),
        }
    }

    /// Draws a kind.
    pub(crate) fn draw(&self, random: &Random) -> Kind {
        let sum = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut at = random.below(sum);
        for (kind, weight) in &self.weights {
            if at < *weight {
                return *kind;
            }
            at -= weight;
        }
        Kind::Complete
    }
}
