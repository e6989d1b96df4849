//! Corruption: every structure of a stored pool is damaged, one place after the other, and the pool
//! is opened. It must be repaired or refused with a reason, or only operations that need the
//! damaged block may fail; content that is read must always be correct.

use crate::generate::Generator;
use crate::model::BLOCK_SECTORS;
use crate::run::Run;
use crate::step::{Numbered, Pattern, Request, Step};
use crate::world::World;
use crate::{Failure, Outcome, Report, Story, guard};
use media::{Fate, FormatOptions, LocalMedia, SimDisk};
use pool::Core;
use random::Random;

/// Steps that fill the pool.
const STEPS: u64 = 120;
/// First blocks of log and space map.
const LOG_FIRST: u64 = 256;
const SPACE_MAP: std::ops::Range<u64> = 2048..4096;
const PAGE_MAGIC: &[u8] = b"WLpg";

/// Class of damaged bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Superblock,
    FrameHeader,
    FrameBody,
    SpaceMap,
    PageHeader,
    PageEntries,
    Data,
}

/// Classes of a block, with the bytes of each.
fn classes(disk: &SimDisk, world: &World, block: u64) -> Vec<(Class, std::ops::Range<usize>)> {
    let log_end = LOG_FIRST + world.log_bytes / 4096;
    if block < 2 || block == log_end || block == world.disk_blocks - 1 {
        vec![(Class::Superblock, 0..512), (Class::Superblock, 512..4096)]
    } else if (LOG_FIRST..log_end).contains(&block) {
        // The first block of a frame has its header; the other blocks hold records.
        match disk.peek(block).0.starts_with(b"WLframe1") {
            true => vec![(Class::FrameHeader, 0..128), (Class::FrameBody, 128..192), (Class::FrameBody, 192..4096)],
            false => vec![(Class::FrameBody, 0..4096)],
        }
    } else if SPACE_MAP.contains(&block) {
        vec![(Class::SpaceMap, 0..4096)]
    } else if disk.peek(block).0.starts_with(PAGE_MAGIC) {
        vec![(Class::PageHeader, 0..64), (Class::PageEntries, 64..3136)]
    } else {
        vec![(Class::Data, 0..4096)]
    }
}

/// Fills a pool, then damages each of its blocks in each of its classes, `times` times.
pub fn corruption(seed: u64, times: u64) -> Outcome {
    let mut world = World::tiny(seed);
    world.delay = 64;
    world.log_bytes = 128 << 10;
    world.spaces = seed % 2 == 1;
    let mut report = Report::default();
    let result = guard::catch(|| {
        half_created(&world, seed)?;
        let mut run = filled(&world, seed)?;
        let random = Random::new(seed ^ 0x6461_6d61_6765);
        for block in run.disk.stored() {
            for (class, bytes) in classes(&run.disk, &world, block) {
                for _ in 0..times {
                    let at = bytes.start + random.below(bytes.len() as u64) as usize;
                    let bit = 1u8 << random.below(8);
                    report.cases += 1;
                    damage(&mut run, block, class, at, bit, &mut report)
                        .map_err(|error| format!("{class:?}, bit {bit:#04x} of byte {at} of block {block}: {error}"))?;
                }
            }
        }
        // A truncated device is refused, at any size.
        for blocks in [world.disk_blocks - 1, world.disk_blocks / 2, LOG_FIRST + 3, 2, 1] {
            let disk = run.disk.crashed_copy(|_| Fate::Applied);
            disk.resize(blocks);
            if LocalMedia::open(disk).is_ok() {
                return Err(format!("a disk cut off at {blocks} blocks was opened"));
            }
        }
        Ok(())
    });
    let failure = result.err().map(|error| Failure {
        message: format!("corruption of seed {seed}: {error}"),
        world,
        steps: Vec::new(),
    });
    Outcome { report, story: Vec::new(), failure }
}

/// Creates a pool with a checkpoint, and records in the log after it.
fn filled(world: &World, seed: u64) -> Result<Run, String> {
    let mut run = Run::new(world.clone(), Story::default())?;
    let mut generator = Generator::new(seed ^ 0x6669_6c6c_6564);
    let mut number = 0;
    let mut next = |run: &mut Run, step: Step| {
        number += 1;
        run.execute(&Numbered { number, step })
    };
    for _ in 0..STEPS {
        let step = run.draw(&mut generator);
        next(&mut run, step)?;
    }
    next(&mut run, Step::Drain)?;
    next(&mut run, Step::Crash { inside: Vec::new() })?;
    run.core.checkpoint().map_err(|e| e.to_string())?;
    run.keep_history();
    let ids: Vec<u64> = run.model.objects.iter().filter(|(_, o)| !o.snapshot).map(|(id, _)| *id).collect();
    for (tag, object) in (1000..).zip(ids) {
        let length = run.model.objects.get(&object).map_or(0, |o| o.sectors.min(72));
        next(
            &mut run,
            Step::Submit(Request::Write { object, start: 0, length, tag, pattern: Pattern::Mixed, forced: true }),
        )?;
        next(&mut run, Step::Drain)?;
    }
    // Makes all pending writes durable.
    let flushed = run.disk.crashed_copy(|_| Fate::Applied);
    run.disk = flushed;
    Ok(run)
}

fn damage(run: &mut Run, block: u64, class: Class, at: usize, bit: u8, report: &mut Report) -> Result<(), String> {
    let disk = run.disk.crashed_copy(|_| Fate::Applied);
    let before = disk.peek(block);
    disk.damage(block, |bytes| {
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= bit;
        }
    });
    run.blamed = (class == Class::Data).then(|| before.0.to_vec());
    let Some(mut fork) = run.fork(disk, true)? else {
        report.refused += 1;
        return match class {
            Class::Superblock => Err("one damaged copy of the superblock made the pool unusable".into()),
            _ => Ok(()),
        };
    };
    report.failed += u64::from(!fork.unreadable.is_empty());
    if class == Class::Superblock && !fork.unreadable.is_empty() {
        return Err("one damaged copy of the superblock made content unreadable".into());
    }
    // Overwriting a whole block repairs it for the written object.
    if class == Class::Data
        && let Some((object, start)) = fork.unreadable.first().copied()
        && fork.model.objects.get(&object).is_some_and(|o| !o.snapshot && start + BLOCK_SECTORS <= o.sectors)
    {
        fork.submit(&Request::Write {
            object,
            start,
            length: BLOCK_SECTORS,
            tag: 2000,
            pattern: Pattern::Data,
            forced: true,
        })?;
        fork.drain()?;
        let read = Request::Read { object, start, length: BLOCK_SECTORS };
        let failed = fork.report.failed;
        fork.submit(&read)?;
        fork.drain()?;
        if fork.report.failed > failed {
            return Err(format!("{read} fails although all of it was written again"));
        }
    }
    Ok(())
}

/// A pool whose creation was interrupted is refused, or empty.
fn half_created(world: &World, seed: u64) -> Result<(), String> {
    let uuid = [7; 16];
    for writes in 0..12 {
        let mut options = world.disk();
        options.seed = seed ^ writes;
        let disk = SimDisk::new(options);
        let fault = media::Fault::sticky(media::FaultOperation::Write, media::FaultEffect::Error).after(writes);
        disk.plant(fault);
        let format =
            FormatOptions { uuid, log_bytes: world.log_bytes, root: pool::initial_root(uuid), overwrite: false };
        let _ = LocalMedia::format(disk.clone(), format);
        disk.clear_faults();
        let disk = disk.crash();
        if let Ok(media) = LocalMedia::open(disk) {
            let (core, _) =
                Core::open(media, world.engine(1), &mut |_| {}).map_err(|e| format!("half created: {e}"))?;
            if !core.object_ids().is_empty() {
                return Err("a half created pool has objects".into());
            }
        }
    }
    Ok(())
}
