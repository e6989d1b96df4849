//! Formatting of a pool: zeros over the whole log ring, then the superblock copies. The copies are
//! written last, so a crash during formatting leaves a blank device and not half a pool.

use crate::local::{LocalMedia, read_copies};
use crate::member::TABLE_BLOCKS;
use crate::superblock::{Contents, CopyState, Geometry, LOG_FIRST_BLOCK, MIN_LOG_BLOCKS, in_force};
use crate::{BLOCK_BYTES, Block, Buffer, Completion, Disk, Done, MAX_ROOT_BYTES, MediaError, Ticket};

/// Blocks of one request while the ring is zeroed (1 MiB).
const PIECE_BLOCKS: u64 = 256;
/// Requests in flight while the ring is zeroed.
const PIECES_IN_FLIGHT: usize = 4;

/// Options for a new pool.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// Identity of the pool.
    pub uuid: [u8; 16],
    /// Size of the log ring: a multiple of 4 096, at least 64 KiB. See [`default_log_bytes`].
    pub log_bytes: u64,
    /// First root, with version 1; at most [`MAX_ROOT_BYTES`] bytes.
    pub root: Vec<u8>,
    /// Format a device that is not blank. Otherwise such a device is refused.
    pub overwrite: bool,
}

/// Default log size for a pool of `pool_bytes`: a 128th, between 64 MiB and 4 GiB; for a pool below
/// 1 GiB a 16th, at least 64 KiB.
pub fn default_log_bytes(pool_bytes: u64) -> u64 {
    const MIB: u64 = 1 << 20;
    let block_bytes = BLOCK_BYTES as u64;
    let bytes = match pool_bytes {
        small if small < 1024 * MIB => (small / 16).max(MIN_LOG_BLOCKS * block_bytes),
        large => (large / 128).clamp(64 * MIB, 4096 * MIB),
    };
    bytes - bytes % block_bytes
}

impl<D: Disk> LocalMedia<D> {
    /// Formats a pool on `disk` and opens it. Blocks.
    pub fn format(disk: D, options: FormatOptions) -> Result<Self, MediaError> {
        Self::format_with_progress(disk, options, |_, _| {})
    }

    /// Like [`LocalMedia::format`]; calls `progress` with bytes written and bytes in total.
    pub fn format_with_progress(
        mut disk: D,
        options: FormatOptions,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Self, MediaError> {
        let FormatOptions { uuid, log_bytes, root, overwrite } = options;
        let geometry = Geometry::new(disk.block_count(), log_bytes).map_err(MediaError::BadRoot)?;
        if root.len() > MAX_ROOT_BYTES {
            let reason = format!("a root of {} bytes does not fit: at most {MAX_ROOT_BYTES}", root.len());
            return Err(MediaError::BadRoot(reason));
        }
        if !overwrite && !is_blank(&mut disk)? {
            return Err(MediaError::BadRoot(
                "the device is not blank: it holds a pool or other data, which formatting would destroy".to_owned(),
            ));
        }
        // An earlier pool must not become valid again over an emptied log.
        let places = geometry.copy_blocks();
        let mut blank: Vec<_> = places.iter().map(|&block| (block, Block::default())).collect();
        for block in TABLE_BLOCKS {
            // Nor its table of members.
            if read_now(&mut disk, block)?.0.iter().any(|&byte| byte != 0) {
                blank.push((block, Block::default()));
            }
        }
        write_now(&mut disk, &blank)?;
        flush_now(&mut disk)?;
        zero(&mut disk, geometry.log_first_block, geometry.log_blocks, &mut progress)?;
        flush_now(&mut disk)?;
        let contents = Contents {
            uuid,
            geometry,
            incompatible: 0,
            read_only_compatible: 0,
            compatible: 0,
            version: 1,
            root,
            members: Vec::new(),
        };
        // Copies 2 and 3 first: the pool opens from their flush on, and until then the start of the
        // device is blank.
        for pair in [[2, 3], [0, 1]] {
            let copies = pair.map(|index: usize| (places[index], contents.encode(index)));
            write_now(&mut disk, &copies)?;
            flush_now(&mut disk)?;
        }
        Ok(Self::new(disk, contents))
    }

    /// Whether `disk` is blank: zeros at its start, at the start of a log, and at its end, or an
    /// interrupted formatting's copies at the end. Blocks.
    pub fn is_blank(disk: &mut D) -> Result<bool, MediaError> {
        is_blank(disk)
    }
}

fn is_blank<D: Disk>(disk: &mut D) -> Result<bool, MediaError> {
    for block in [0, 1, 2, LOG_FIRST_BLOCK] {
        if block < disk.block_count() && read_now(disk, block)?.0.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
    }
    let copies = read_copies(disk).map(|(_, state)| state);
    Ok(!matches!(copies[3], CopyState::Foreign | CopyState::Newer { .. }) && in_force(&copies).is_err())
}

/// Reads one block synchronously. Nothing else is outstanding.
pub(super) fn read_now<D: Disk>(disk: &mut D, block: u64) -> Result<Block, MediaError> {
    disk.read(0, block, Buffer::zeroed(1));
    match next(disk, "read", block)? {
        (_, Done::Read(buffer)) => buffer.as_blocks().first().cloned().ok_or_else(|| lost("read", block)),
        _ => Err(lost("read", block)),
    }
}

pub(super) fn write_now<D: Disk>(disk: &mut D, blocks: &[(u64, Block)]) -> Result<(), MediaError> {
    for (block, content) in blocks {
        disk.write(0, *block, Buffer::from_blocks(vec![content.clone()]), false);
    }
    let mut outcome = Ok(());
    for (block, _) in blocks {
        // Takes all completions, even after a failure: nothing may be outstanding afterwards.
        outcome = outcome.and(next(disk, "write", *block).map(|_| ()));
    }
    outcome
}

pub(super) fn flush_now<D: Disk>(disk: &mut D) -> Result<(), MediaError> {
    disk.flush(0);
    next(disk, "flush", 0).map(|_| ())
}

/// Writes zeros over the blocks in large requests.
fn zero<D: Disk>(disk: &mut D, first: u64, blocks: u64, progress: &mut impl FnMut(u64, u64)) -> Result<(), MediaError> {
    let total_bytes = blocks * BLOCK_BYTES as u64;
    let mut buffers: Vec<Buffer> = Vec::new();
    let (mut at, end, mut written_bytes, mut in_flight) = (first, first + blocks, 0, 0);
    let mut outcome = Ok(());
    progress(0, total_bytes);
    while in_flight > 0 || (at < end && outcome.is_ok()) {
        while at < end && in_flight < PIECES_IN_FLIGHT && outcome.is_ok() {
            let length = PIECE_BLOCKS.min(end - at);
            let wanted = usize::try_from(length).unwrap_or(usize::MAX);
            let buffer = match buffers.pop() {
                Some(buffer) if buffer.blocks() == wanted => buffer,
                _ => Buffer::zeroed(wanted),
            };
            disk.write(0, at, buffer, false);
            at += length;
            in_flight += 1;
        }
        match next(disk, "write", at) {
            Ok((_, Done::Written(Some(buffer)))) => {
                written_bytes += u64::try_from(buffer.len()).unwrap_or_default();
                progress(written_bytes, total_bytes);
                buffers.push(buffer);
            }
            Ok(_) => {}
            Err(error) => outcome = outcome.and(Err(error)),
        }
        in_flight -= 1;
    }
    outcome
}

/// Waits for the next completion.
fn next<D: Disk>(disk: &mut D, operation: &'static str, block: u64) -> Result<(Ticket, Done), MediaError> {
    loop {
        disk.submit();
        if let Some(Completion { ticket, result }) = disk.poll() {
            return result.map(|done| (ticket, done));
        }
        if disk.outstanding() == 0 {
            return Err(lost(operation, block));
        }
        disk.wait();
    }
}

fn lost(operation: &'static str, block: u64) -> MediaError {
    MediaError::Io { operation, address: block, blocks: 1, reason: "the disk did not answer".to_owned() }
}
