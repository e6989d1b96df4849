//! Benchmarks of the engine alone: `engine QUESTION [ARGUMENT…]`. Each prints lines `name value
//! unit`.
//!
//! ```text
//! write FOLDER SECONDS     random durable 4 KiB writes at depth 32, in bursts and without end, and the file's own
//!                          rates, taking turns
//! read FOLDER SECONDS      random 4 KiB reads at depth 32, and the file's own
//! metadata GIB WRITES      metadata written by random 4 KiB overwrites of so many GiB (in memory)
//! clones COUNT MIB         space of so many clones that each wrote so many MiB in 4 KiB (in memory)
//! large FOLDER GIB MAPPED  memory of a pool of so many GiB with so many mapped by copies (a sparse file, best in
//!                          /dev/shm); opening it
//! crash FOLDER             opening with a GiB of log to replay
//! replay FOLDER GIB MIB    opening with so many MiB of log to replay, of writes scattered over so many GiB, with
//!                          256 MiB of memory
//! turns GIB WRITES         length of the pool's turns during first writes scattered over so many GiB (in memory)
//! delete FOLDER GIB        deleting a volume that is mapped by copies
//! ```

mod memory_disk;
mod rig;
mod turns;

use bytes::Bytes;
use media::{Block, Buffer, Disk, LocalMedia};
use memory_disk::MemoryDisk;
use pool::{CatalogChange, Core, ObjectId, Operation};
use random::Random;
use rig::{Failed, Rig, file, options, resident_bytes};
use std::path::Path;
use std::time::{Duration, Instant};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const DEPTH: u64 = 32;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["write", folder, seconds] => write(Path::new(folder), seconds.parse()?),
        ["read", folder, seconds] => read(Path::new(folder), seconds.parse()?),
        ["metadata", gib, writes] => metadata(gib.parse()?, writes.parse()?),
        ["clones", count, mib] => clones(count.parse()?, mib.parse()?),
        ["large", folder, gib, mapped] => large(Path::new(folder), gib.parse()?, mapped.parse()?),
        ["crash", folder] => crash(Path::new(folder)),
        ["replay", folder, gib, mib] => replay(Path::new(folder), gib.parse()?, mib.parse()?),
        ["turns", gib, writes] => turns::turns(gib.parse()?, writes.parse()?),
        ["delete", folder, gib] => delete(Path::new(folder), gib.parse()?),
        _ => Err("usage: engine write|read FOLDER SECONDS | metadata GIB WRITES | clones COUNT MIB | large FOLDER GIB MAPPED | crash FOLDER | replay FOLDER GIB MIB | turns GIB WRITES | delete FOLDER GIB".into()),
    }
}

fn say(name: &str, value: f64, unit: &str) {
    println!("{name} {value:.3} {unit}");
}

/// Writes or reads of `blocks` blocks each, `depth` at a time, at places from `next`, for
/// `seconds`; returns the rate per second.
fn raw(
    disk: &mut impl Disk,
    depth: usize,
    blocks: usize,
    seconds: f64,
    write: bool,
    mut next: impl FnMut() -> u64,
) -> f64 {
    let started = Instant::now();
    let mut done = 0u64;
    let buffer = || Buffer::from_blocks(vec![Block([7; 4096]); blocks]);
    let mut ticket = 0;
    let mut begin = |disk: &mut dyn Disk, buffer: Buffer| {
        ticket += 1;
        match write {
            true => disk.write(ticket, next(), buffer, true),
            false => disk.read(ticket, next(), buffer),
        }
    };
    for _ in 0..depth {
        begin(disk, buffer());
    }
    while started.elapsed().as_secs_f64() < seconds {
        disk.wait();
        while let Some(completion) = disk.poll() {
            done += 1;
            let back = match completion.result {
                Ok(media::Done::Read(buffer) | media::Done::Written(Some(buffer))) => buffer,
                _ => buffer(),
            };
            begin(disk, back);
        }
        disk.submit();
    }
    let rate = done as f64 / started.elapsed().as_secs_f64();
    while disk.outstanding() > 0 {
        disk.wait();
        while disk.poll().is_some() {}
    }
    rate
}

/// Creates a file in which every block has been written.
fn written_file(path: &Path, bytes: u64) -> Result<media::FileDisk, Failed> {
    let mut disk = file(path, bytes)?;
    for block in (0..bytes / 4096).step_by(256) {
        disk.write(0, block, Buffer::from_blocks(vec![Block([9; 4096]); 256]), false);
        if block % 4096 == 0 {
            disk.wait();
        }
        while disk.poll().is_some() {}
    }
    disk.flush(0);
    while disk.outstanding() > 0 {
        disk.wait();
        while disk.poll().is_some() {}
    }
    Ok(disk)
}

/// Issues random durable 4 KiB writes at depth 32 until `end` returns true for their number;
/// returns writes per second, frames per second, and blocks per frame.
fn random_writes(
    rig: &mut Rig<media::FileDisk>,
    (volume, size): (ObjectId, u64),
    numbers: &Random,
    mut end: impl FnMut(u64) -> bool,
) -> Result<(f64, f64, u64), Failed> {
    let data = Bytes::from(vec![5; 4096]);
    let before = rig.core.counters();
    let started = Instant::now();
    let mut done = 0;
    while !end(done) {
        let offset = numbers.below(size / 4096) * 4096;
        rig.submit(Operation::Write { object: volume, offset, data: data.clone(), forced: false });
        while rig.outstanding() >= DEPTH {
            let finished = rig.pump(0)?;
            done += finished;
            if finished == 0 {
                rig.wait();
            }
        }
    }
    let took = started.elapsed().as_secs_f64();
    rig.drain(0)?;
    let after = rig.core.counters();
    let frames = after.frames - before.frames;
    let blocks = ((after.log_bytes - before.log_bytes) / frames.max(1)).div_ceil(4096).max(1);
    Ok((done as f64 / took, frames as f64 / took, blocks))
}

/// Measures bursts that the log and memory absorb, beside the file's own rate of the same log
/// writes, one at a time as the engine issues them; then endless writes, each of which must also be
/// destaged, beside the file's own rate of random durable writes at the same depth.
fn write(folder: &Path, seconds: f64) -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(folder)?;
    // Short runs only show that it works.
    let (pool, size, burst) = if seconds < 1.0 { (8 * GIB, 64 * MIB, 2_000) } else { (256 * GIB, 2 * GIB, 60_000) };
    let mut rig = Rig::new(file(&folder.path().join("pool"), pool)?, 4 << 30)?;
    let volume = (rig.create(size)?, size);
    rig.fill(volume.0, size, 3)?;
    let own_blocks = (size / 2) / 4096;
    let mut own = written_file(&folder.path().join("own"), size / 2)?;
    let numbers = Random::new(88_172_645_463_325_252);
    // The log's area in the file must have been written once.
    let lap = media::default_log_bytes(pool) / 4096;
    random_writes(&mut rig, volume, &numbers, |done| done > lap)?;
    for _ in 0..if seconds < 1.0 { 1 } else { 5 } {
        rig.core.checkpoint()?;
        let (writes, frames, blocks) = random_writes(&mut rig, volume, &numbers, |done| done >= burst)?;
        say("burst-writes", writes, "1/s");
        say("burst-frames", frames, "1/s");
        say("frame-bytes", (blocks * 4096) as f64, "B");
        let mut at = 0;
        let own_rate = raw(&mut own, 1, blocks as usize, seconds / 4.0, true, || {
            at = (at + blocks) % (own_blocks - blocks);
            at
        });
        say("own-frames", own_rate, "1/s");
        say("burst-ratio", frames / own_rate, "x");
    }
    for _ in 0..3 {
        let started = Instant::now();
        let end = |_| started.elapsed().as_secs_f64() >= seconds;
        let (writes, _, _) = random_writes(&mut rig, volume, &numbers, end)?;
        say("sustained-writes", writes, "1/s");
        let own_rate = raw(&mut own, DEPTH as usize, 1, seconds, true, || numbers.below(own_blocks));
        say("own-writes", own_rate, "1/s");
        say("sustained-ratio", writes / own_rate, "x");
    }
    Ok(())
}

fn read(folder: &Path, seconds: f64) -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(folder)?;
    let (pool, size) = if seconds < 1.0 { (GIB, 64 * MIB) } else { (16 * GIB, 4 * GIB) };
    let mut rig = Rig::new(file(&folder.path().join("pool"), pool)?, 128 << 20)?;
    let volume = rig.create(size)?;
    rig.fill(volume, size, 3)?;
    rig.core.checkpoint()?;
    let mut own = written_file(&folder.path().join("own"), size)?;
    let numbers = Random::new(88_172_645_463_325_252);
    for _ in 0..3 {
        let started = Instant::now();
        let mut done = 0;
        while started.elapsed().as_secs_f64() < seconds {
            let offset = numbers.below(size / 4096) * 4096;
            rig.submit(Operation::Read { object: volume, offset, length: 4096 });
            while rig.outstanding() >= DEPTH {
                let finished = rig.pump(0)?;
                done += finished;
                if finished == 0 {
                    rig.wait();
                }
            }
        }
        let rate = done as f64 / started.elapsed().as_secs_f64();
        rig.drain(0)?;
        say("engine-reads", rate, "1/s");
        let own_rate = raw(&mut own, DEPTH as usize, 1, seconds, false, || numbers.below(size / 4096));
        say("own-reads", own_rate, "1/s");
        say("ratio", rate / own_rate, "x");
    }
    Ok(())
}

fn metadata(gib: u64, writes: u64) -> Result<(), Failed> {
    let mut rig = Rig::new(MemoryDisk::new(4 * gib * GIB), 2 << 30)?;
    let size = gib * GIB;
    let volume = rig.create(size)?;
    rig.fill(volume, size, 3)?;
    rig.core.checkpoint()?;
    let numbers = Random::new(88_172_645_463_325_252);
    let data = Bytes::from(vec![5; 4096]);
    let before = rig.core.counters();
    for _ in 0..writes {
        let offset = numbers.below(size / 4096) * 4096;
        rig.submit(Operation::Write { object: volume, offset, data: data.clone(), forced: false });
        rig.drain(DEPTH)?;
    }
    rig.drain(0)?;
    rig.core.checkpoint()?;
    let after = rig.core.counters();
    say("checkpoints", (after.checkpoints - before.checkpoints) as f64, "");
    say("metadata-per-write", (after.checkpoint_bytes - before.checkpoint_bytes) as f64 / writes as f64, "B");
    say("log-per-write", (after.log_bytes - before.log_bytes) as f64 / writes as f64, "B");
    say("log-size", media::default_log_bytes(4 * gib * GIB) as f64 / MIB as f64, "MiB");
    Ok(())
}

fn clones(count: u64, mib: u64) -> Result<(), Failed> {
    let template_bytes = if count < 100 { GIB } else { 16 * GIB };
    let mut rig = Rig::new(MemoryDisk::new(template_bytes * 2 + 2 * count * mib * MIB), 2 << 30)?;
    let template = rig.create(template_bytes)?;
    rig.fill(template, template_bytes, 3)?;
    rig.core.checkpoint()?;
    let used = |rig: &Rig<MemoryDisk>| rig.core.space().used_bytes;
    let start = used(&rig);
    let clones = (0..count).map(|_| rig.clone_of(template)).collect::<Result<Vec<_>, _>>()?;
    rig.core.checkpoint()?;
    say("clones", (used(&rig) - start) as f64 / count as f64, "B-each");
    let data = Bytes::from(vec![5; 4096]);
    let numbers = Random::new(88_172_645_463_325_252);
    let writes = mib * MIB / 4096;
    // Writes like a guest: files of some MiB, all their blocks in random order; each clone at its
    // own places.
    let before = used(&rig);
    for &object in &clones {
        let run = 4 * MIB / 4096;
        let mut places: Vec<u64> = Vec::new();
        while (places.len() as u64) < writes {
            let start = numbers.below(template_bytes / (4 * MIB)) * run;
            places.extend(start..start + run.min(writes - places.len() as u64));
        }
        places.sort_unstable();
        places.dedup();
        while (places.len() as u64) < writes {
            places.push(numbers.below(template_bytes / 4096));
        }
        for at in (1..places.len()).rev() {
            places.swap(at, numbers.below(at as u64 + 1) as usize);
        }
        for block in places {
            rig.submit(Operation::Write { object, offset: block * 4096, data: data.clone(), forced: false });
            rig.drain(DEPTH)?;
        }
    }
    rig.drain(0)?;
    for _ in 0..3 {
        rig.core.checkpoint()?;
    }
    let written = count * mib * MIB;
    say("written", written as f64 / GIB as f64, "GiB");
    say("used-by-clones", (used(&rig) - before) as f64 / written as f64, "x");
    Ok(())
}

fn large(folder: &Path, gib: u64, mapped: u64) -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(folder)?;
    let path = folder.path().join("pool");
    let setting = 256 << 20;
    let start = resident_bytes()?;
    let mut rig = Rig::new(file(&path, gib * GIB)?, setting)?;
    let seed_bytes = GIB / 4;
    let seed = rig.create(seed_bytes)?;
    rig.fill(seed, seed_bytes, 3)?;
    let template = rig.create(512 * GIB)?;
    rig.replicate(seed, seed_bytes, template, 512 * GIB)?;
    let mut clones = vec![template];
    while (clones.len() as u64) * 512 < mapped {
        clones.push(rig.clone_of(template)?);
    }
    let data = Bytes::from(vec![5; 4096]);
    let numbers = Random::new(88_172_645_463_325_252);
    let mut most = 0;
    for i in 0..if gib < 1024 { 20_000 } else { 300_000 } {
        let object = clones[numbers.below(clones.len() as u64) as usize];
        let offset = numbers.below(512 * GIB / 4096) * 4096;
        match i % 2 {
            0 => rig.submit(Operation::Write { object, offset, data: data.clone(), forced: false }),
            _ => rig.submit(Operation::Read { object, offset, length: 4096 }),
        }
        rig.drain(DEPTH)?;
        if i % 1000 == 0 {
            most = most.max(resident_bytes()?);
        }
    }
    rig.drain(0)?;
    say("mapped", clones.len() as f64 / 2.0, "TiB");
    say("resident-beyond-setting", (most - start).saturating_sub(setting as u64) as f64 / MIB as f64, "MiB");
    rig.core.checkpoint()?;
    let disk = rig.core.into_media().into_disk();
    let opening = Instant::now();
    let mut rig = Rig::open(LocalMedia::open(disk)?, setting)?;
    say("open-after-clean-end", opening.elapsed().as_secs_f64(), "s");
    rig.drain(0)
}

fn crash(folder: &Path) -> Result<(), Failed> {
    let setting = 4 << 30;
    for _ in 0..3 {
        let folder = tempfile::tempdir_in(folder)?;
        let path = folder.path().join("pool");
        let mut rig = Rig::new(file(&path, TIB)?, setting)?;
        let volume = rig.create(16 * GIB)?;
        let data = Bytes::from(vec![5; 4096]);
        let numbers = Random::new(88_172_645_463_325_252);
        while rig.core.log_used_bytes() < GIB {
            let offset = numbers.below(16 * GIB / 4096) * 4096;
            rig.submit(Operation::Write { object: volume, offset, data: data.clone(), forced: false });
            rig.drain(DEPTH)?;
        }
        rig.drain(0)?;
        let log = rig.core.log_used_bytes();
        let disk = rig.core.into_media().into_disk();
        let opening = Instant::now();
        Rig::open(LocalMedia::open(disk)?, setting)?;
        say("log-to-replay", log as f64 / MIB as f64, "MiB");
        say("open-after-a-crash", opening.elapsed().as_secs_f64() / (log as f64 / GIB as f64), "s/GiB");
    }
    Ok(())
}

fn replay(folder: &Path, gib: u64, mib: u64) -> Result<(), Failed> {
    let setting = 256 << 20;
    let folder = tempfile::tempdir_in(folder)?;
    let mut rig = Rig::new(file(&folder.path().join("pool"), TIB)?, setting)?;
    let volume = rig.create(gib * GIB)?;
    let data = Bytes::from(vec![5; 4096]);
    let numbers = Random::new(88_172_645_463_325_252);
    let write = |rig: &mut Rig<_>| {
        let offset = numbers.below(gib * GIB / 4096) * 4096;
        rig.submit(Operation::Write { object: volume, offset, data: data.clone(), forced: false });
        rig.drain(DEPTH)
    };
    // A map that is not in memory: most pages come from the disk.
    for _ in 0..gib * 2048 {
        write(&mut rig)?;
    }
    rig.drain(0)?;
    rig.core.checkpoint()?;
    while rig.core.log_used_bytes() < mib * MIB {
        let before = rig.core.log_used_bytes();
        write(&mut rig)?;
        if rig.core.log_used_bytes() < before {
            // A checkpoint has emptied the log: as much as it may hold is enough.
            break;
        }
    }
    rig.drain(0)?;
    let log = rig.core.log_used_bytes();
    let disk = rig.core.into_media().into_disk();
    let opening = Instant::now();
    let (_, opened) = Core::open(LocalMedia::open(disk)?, options(setting), &mut |_| {})?;
    let took = opening.elapsed();
    say("log-to-replay", log as f64 / MIB as f64, "MiB");
    say("records", opened.records as f64, "");
    say("opening", took.as_secs_f64(), "s");
    say("replay-of-a-record", took.as_secs_f64() * 1e6 / opened.records.max(1) as f64, "µs");
    Ok(())
}

fn delete(folder: &Path, gib: u64) -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(folder)?;
    let mut rig = Rig::new(file(&folder.path().join("pool"), TIB.max(8 * gib * GIB))?, 2 << 30)?;
    let seed_bytes = if gib < 100 { GIB / 4 } else { 4 * GIB };
    let seed = rig.create(seed_bytes)?;
    rig.fill(seed, seed_bytes, 3)?;
    for (name, seed_part) in [("shared-leaves", seed_bytes), ("own-leaves", seed_bytes - 4 * KIB)] {
        let volume = rig.create(gib * GIB)?;
        match name {
            "shared-leaves" => rig.replicate(seed, seed_part, volume, gib * GIB)?,
            // Unaligned to the leaves of the source: every leaf belongs to the volume alone.
            _ => {
                for offset in (0..gib * GIB).step_by(seed_bytes as usize) {
                    for part in (0..seed_bytes).step_by(64 << 20) {
                        rig.submit(Operation::Clone {
                            source: seed,
                            source_offset: if part == 0 { 0 } else { part - 4 * KIB },
                            destination: volume,
                            destination_offset: offset + part,
                            length: 64 << 20,
                        });
                        rig.drain(8)?;
                    }
                }
                rig.drain(0)?;
            }
        }
        rig.core.checkpoint()?;
        let deleting = Instant::now();
        rig.run(Operation::Catalog(vec![CatalogChange::DeleteObject { id: volume }]))?;
        say(&format!("delete-returns-{name}"), deleting.elapsed().as_secs_f64() * 1000.0, "ms");
        let reclaiming = Instant::now();
        while rig.core.wants_turn() {
            rig.pump(64)?;
        }
        let took = reclaiming.elapsed();
        say(&format!("reclaim-{name}"), gib as f64 / took.max(Duration::from_micros(1)).as_secs_f64(), "GiB/s");
    }
    Ok(())
}
