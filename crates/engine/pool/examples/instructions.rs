//! Workload for an instruction counter: `instructions KIND COUNT` does the same preparation for
//! every count and then COUNT operations, so that the difference between two counts is the cost of
//! the operations alone. Kinds: lookup (of a mapped block), write (4 KiB over mapped blocks that
//! were written since the last checkpoint, so many that none of them is destaged), steady (like
//! write, but with as many blocks destaged as written), hit and miss (4 KiB read of a block that is in
//! memory, or is not), clone (16 MiB of mapped blocks to the next place of an empty volume of 64 GiB).
//!
//! The pool is in a file in memory, whose I/O engine runs inside the calls; its system calls are
//! not instructions of this process.

use bytes::Bytes;
use media::{FileDisk, FormatOptions, LocalMedia, OpenOptions};
use pool::{BlockNumber, CatalogChange, Core, Operation, Options};
use std::error::Error;

const VOLUME_BYTES: u64 = 4 << 30;
const MAPPED_BYTES: u64 = 512 << 20;
const HOT_BYTES: u64 = 16 << 20;
const BATCH: u64 = 32;

type Engine = Core<LocalMedia<FileDisk>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lookup,
    Write,
    Steady,
    Hit,
    Miss,
    Clone,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(kind), Some(count)) = (arguments.next(), arguments.next()) else {
        return Err("usage: instructions lookup|write|steady|hit|miss|clone COUNT".into());
    };
    let kind = match &kind[..] {
        "lookup" => Kind::Lookup,
        "write" => Kind::Write,
        "steady" => Kind::Steady,
        "hit" => Kind::Hit,
        "miss" => Kind::Miss,
        "clone" => Kind::Clone,
        other => return Err(format!("{other} is not a kind").into()),
    };
    let count: u64 = count.parse()?;
    let file = tempfile::NamedTempFile::new_in("/dev/shm")?;
    let disk = FileDisk::open(file.path(), &OpenOptions { create_bytes: Some(4 << 30), ..OpenOptions::default() })?;
    let uuid = [1; 16];
    let format = FormatOptions {
        uuid,
        log_bytes: media::default_log_bytes(4 << 30),
        root: pool::initial_root(uuid),
        overwrite: true,
    };
    let media = LocalMedia::format(disk, format)?;
    let memory_bytes = if matches!(kind, Kind::Steady | Kind::Miss) { 8 << 20 } else { 1 << 30 };
    let (mut core, _) = Core::open(media, Options { incarnation: 1, memory_bytes, ..Options::default() }, &mut |_| {})?;
    let mut outstanding = 0;
    let volume = core.new_object_id();
    let destination = core.new_object_id();
    let create = [(volume, VOLUME_BYTES), (destination, 64 << 30)];
    let create = create.map(|(id, size_bytes)| CatalogChange::CreateVolume { id, size_bytes });
    outstanding += 1;
    core.submit(Operation::Catalog(create.to_vec()));
    finish(&mut core, &mut outstanding)?;
    // Content in pieces of 1 MiB, all different.
    for at in (0..MAPPED_BYTES).step_by(1 << 20) {
        let data = Bytes::from(vec![(at >> 20) as u8 | 1; 1 << 20]);
        outstanding += 1;
        core.submit(Operation::Write { object: volume, offset: at, data, forced: false });
        finish(&mut core, &mut outstanding)?;
    }
    core.checkpoint()?;
    let mut random = 1_u64;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let block = Bytes::from((0..4096_u32).map(|i| i as u8).collect::<Vec<u8>>());
    // The first touch of a page in an epoch copies it; that is not measured.
    for at in (0..MAPPED_BYTES).step_by(256 * 4096) {
        outstanding += 1;
        core.submit(Operation::Write { object: volume, offset: at, data: block.clone(), forced: false });
        finish(&mut core, &mut outstanding)?;
    }
    if kind == Kind::Hit {
        for offset in (0..HOT_BYTES).step_by(4096) {
            outstanding += 1;
            core.submit(Operation::Read { object: volume, offset, length: 4096 });
            finish(&mut core, &mut outstanding)?;
        }
    }
    let mut mapped = 0_u64;
    for i in 0..count {
        match kind {
            Kind::Lookup => {
                mapped += u64::from(core.is_mapped(volume, BlockNumber::new(below(MAPPED_BYTES / 4096))) == Some(true))
            }
            Kind::Write | Kind::Steady => {
                let offset = below(MAPPED_BYTES / 4096) * 4096;
                outstanding += 1;
                core.submit(Operation::Write { object: volume, offset, data: block.clone(), forced: false });
            }
            Kind::Hit | Kind::Miss => {
                let bytes = if kind == Kind::Hit { HOT_BYTES } else { MAPPED_BYTES };
                outstanding += 1;
                core.submit(Operation::Read { object: volume, offset: below(bytes / 4096) * 4096, length: 4096 });
            }
            Kind::Clone => {
                let source_offset = below(MAPPED_BYTES >> 24) << 24;
                let destination_offset = i << 24;
                outstanding += 1;
                core.submit(Operation::Clone {
                    source: volume,
                    source_offset,
                    destination,
                    destination_offset,
                    length: 16 << 20,
                });
            }
        }
        if i % BATCH == BATCH - 1 {
            finish(&mut core, &mut outstanding)?;
        }
    }
    finish(&mut core, &mut outstanding)?;
    if kind == Kind::Lookup && mapped != count {
        return Err("a mapped block was not found".into());
    }
    // The teardown at the end of the process is not part of the operations: it would free a block for
    // each write.
    std::mem::forget(core);
    Ok(())
}

/// Pumps until every submitted operation has finished.
fn finish(core: &mut Engine, outstanding: &mut u64) -> Result<(), Box<dyn Error>> {
    while *outstanding > 0 {
        core.pump(0);
        while let Some((_, result)) = core.poll_finished() {
            result.map_err(|failure| format!("{failure:?}"))?;
            *outstanding -= 1;
        }
    }
    Ok(())
}
