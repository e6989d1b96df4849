//! Local back end: one disk that holds the superblock copies, the log ring and the data area of a
//! pool.
//!
//! One process owns the disk (by its lock), so the fence is constant and only protects from an
//! older epoch of the same owner. The root in force is kept in memory. A swap writes two copies,
//! flushes, writes the other two, flushes, and then completes. Internal requests share the disk
//! with the caller's; `poll` filters them out.

mod format;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use crate::disk::block_length;
use crate::growth::{Extended, Grown, Growth, GrowthError, GrowthTerms, MAX_GROWN_BLOCKS, Member};
use crate::superblock::{COPIES, Contents, CopyState, FEATURE_MEMBERS, Geometry, describe, in_force, write_groups};
use crate::{
    BLOCK_BYTES, BlockAddress, Buffer, Capabilities, Completion, Disk, Done, Fence, LogStore, MAX_ROOT_BYTES, Media,
    MediaError, RootStore, SegmentStore, Ticket,
};
pub use format::{FormatOptions, default_log_bytes};

/// Superblock copy that was damaged when the pool was opened. The next swap of the root repairs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedCopy {
    /// Copy index, 0 to 3.
    pub index: usize,
    /// Block of the copy.
    pub block: u64,
    /// Defect of the copy.
    pub reason: String,
}

/// State found at the place of a superblock copy, for diagnosis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCopy {
    /// Copy index, 0 to 3.
    pub index: usize,
    /// Block of the copy.
    pub block: u64,
    /// Text: `intact, version 7`, or the defect.
    pub state: String,
    /// Fields of the copy, if it is intact.
    pub fields: Option<CopyFields>,
}

/// Fields of an intact superblock copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFields {
    /// Identity of the pool.
    pub uuid: [u8; 16],
    /// Blocks of the pool.
    pub block_count: u64,
    /// First block of the log ring.
    pub log_first_block: u64,
    /// Blocks of the log ring.
    pub log_blocks: u64,
    /// Feature bits: incompatible, read-only compatible, compatible.
    pub features: [u64; 3],
    /// Version of the root.
    pub root_version: u64,
    /// The root.
    pub root: Vec<u8>,
    /// Members, if there is more than one.
    pub members: Vec<Member>,
}

/// Counters of completed requests since the pool was opened. Superblock writes are not included,
/// except in `errors`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Reads of segments and log.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes of segments.
    pub writes: u64,
    /// Bytes of segments written.
    pub written_bytes: u64,
    /// Appends to the log.
    pub appends: u64,
    /// Bytes appended to the log.
    pub appended_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// Swaps of the root.
    pub root_swaps: u64,
    /// Requests that failed.
    pub errors: u64,
}

/// Requester of a request on the disk.
#[derive(Clone, Copy)]
enum Owner {
    Read { ticket: Ticket },
    Write { ticket: Ticket },
    Append { ticket: Ticket },
    Flush { ticket: Ticket },
    Discard { ticket: Ticket },
    Superblock,
    Vacant,
}

/// Swap of the root in progress.
struct Swap {
    ticket: Ticket,
    contents: Contents,
    /// Copies that are written together, in the order of the groups.
    groups: Vec<Vec<usize>>,
    /// Twice the number of the group, plus one during its flush.
    step: usize,
    outstanding: usize,
    /// Error of a write of this step for which the file system below has no room.
    no_space: Option<MediaError>,
    /// True if the swap has failed for lack of space: the next request for the same root continues
    /// it at this step. Until then either root may be in force after a crash, as during any swap.
    parked: bool,
}

/// A pool on one disk.
pub struct LocalMedia<D: Disk> {
    disk: D,
    contents: Contents,
    /// Whether each copy holds the root in force.
    holds: [bool; COPIES],
    damaged: Vec<DamagedCopy>,
    newest_epoch: u64,
    owners: Vec<Owner>,
    vacant: Vec<Ticket>,
    ready: VecDeque<Completion>,
    swap: Option<Swap>,
    waiting_swaps: VecDeque<(Ticket, u64, Vec<u8>)>,
    /// Growth of the disk that the next swap records in the superblock.
    extended: Option<Extended>,
    /// Incompatible features that the next swap records in the superblock.
    required_features: u64,
    /// Error of a failed swap: the root on disk is then unknown until the pool is opened again.
    root_lost: Option<MediaError>,
    statistics: Statistics,
}

impl<D: Disk> std::fmt::Debug for LocalMedia<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LocalMedia(root version {}, {:?})", self.contents.version, self.contents.geometry)
    }
}

impl<D: Disk> LocalMedia<D> {
    /// Opens the pool on `disk`. Blocks. Refuses with [`MediaError::BadRoot`] a disk that is blank
    /// or not a pool, is damaged beyond its copies, has a newer format or unknown features, or is
    /// smaller than the pool.
    pub fn open(mut disk: D) -> Result<Self, MediaError> {
        match disk.block_count() {
            0 => return Err(MediaError::BadRoot("the file is empty: it holds no pool".to_owned())),
            1 => return Err(MediaError::BadRoot("this is not a pool: it is too small to hold one".to_owned())),
            _ => {}
        }
        // An earlier process may have ended after a failed flush. The disk then still returns
        // content that a power failure would lose.
        if !disk.read_only() {
            format::flush_now(&mut disk)?;
        }
        let copies = read_copies(&mut disk);
        let states = copies.each_ref().map(|(_, state)| state.clone());
        let contents = in_force(&states).map_err(MediaError::BadRoot)?.clone();
        contents.check_features(disk.read_only())?;
        if contents.members.len() > 1 && disk.members().len() < contents.members.len() {
            return Err(MediaError::BadRoot(format!(
                "the pool has {} files or devices, and this is only the first",
                contents.members.len()
            )));
        }
        if contents.geometry.block_count > disk.block_count() {
            return Err(MediaError::BadRoot(format!(
                "the device has {} blocks of 4096 bytes, but the pool was made with {}: it was cut off, or only partly copied",
                disk.block_count(),
                contents.geometry.block_count
            )));
        }
        if !disk.read_only() {
            confirm_root(&mut disk, &contents, &copies)?;
        }
        disk.settle(&contents.members);
        let places = contents.geometry.copy_blocks();
        let mut media = Self::new(disk, contents);
        for (index, ((_, state), block)) in copies.iter().zip(places).enumerate() {
            let holds = state.contents() == Some(&media.contents);
            if let Some(entry) = media.holds.get_mut(index) {
                *entry = holds;
            }
            // A crash inside a swap leaves an intact copy of another version, which is not damage.
            if state.contents().is_none() {
                media.damaged.push(DamagedCopy { index, block, reason: describe(state) });
            }
        }
        Ok(media)
    }

    /// Examines the places of the superblock copies. Blocks; nothing may be outstanding.
    pub fn find_copies(disk: &mut D) -> Vec<FoundCopy> {
        let show = |(index, (block, state)): (usize, (u64, CopyState))| FoundCopy {
            index,
            block,
            state: describe(&state),
            fields: state.contents().map(|contents| CopyFields {
                uuid: contents.uuid,
                block_count: contents.geometry.block_count,
                log_first_block: contents.geometry.log_first_block,
                log_blocks: contents.geometry.log_blocks,
                features: [contents.incompatible, contents.read_only_compatible, contents.compatible],
                root_version: contents.version,
                root: contents.root.clone(),
                members: contents.members.clone(),
            }),
        };
        read_copies(disk).into_iter().enumerate().map(show).collect()
    }

    fn new(disk: D, contents: Contents) -> Self {
        Self {
            disk,
            contents,
            holds: [true; COPIES],
            damaged: Vec::new(),
            newest_epoch: 0,
            owners: Vec::new(),
            vacant: Vec::new(),
            ready: VecDeque::new(),
            swap: None,
            waiting_swaps: VecDeque::new(),
            extended: None,
            required_features: 0,
            root_lost: None,
            statistics: Statistics::default(),
        }
    }

    /// Identity of the pool.
    pub fn uuid(&self) -> [u8; 16] {
        self.contents.uuid
    }

    /// Root in force.
    pub fn root(&self) -> &[u8] {
        &self.contents.root
    }

    /// Superblock copies that were damaged at opening and are not repaired yet.
    pub fn damaged_copies(&self) -> &[DamagedCopy] {
        &self.damaged
    }

    /// Counters since opening.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Underlying disk.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// Underlying disk, mutable, for fault injection. Direct requests on it confuse this back end.
    pub fn disk_mut(&mut self) -> &mut D {
        &mut self.disk
    }

    /// Returns the disk, to open it again. Completions that were not polled are lost.
    pub fn into_disk(self) -> D {
        self.disk
    }

    /// Number of requests whose completion `poll` has not returned yet, including those of a swap.
    pub fn outstanding(&self) -> usize {
        self.ready.len() + self.disk.outstanding() + self.waiting_swaps.len()
    }

    /// Descriptor that becomes readable when a request completes after the last poll; see
    /// [`Disk::wake_descriptor`].
    pub fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.disk.wake_descriptor()
    }

    /// Makes the wake descriptor unreadable again; see [`Disk::clear_wake`].
    pub fn clear_wake(&mut self) {
        self.disk.clear_wake();
    }

    /// Assigns a disk ticket to a request of `owner`.
    fn lend(&mut self, owner: Owner) -> Ticket {
        if let Some(ticket) = self.vacant.pop()
            && let Some(entry) = self.owner_mut(ticket)
        {
            *entry = owner;
            return ticket;
        }
        self.owners.push(owner);
        u64::try_from(self.owners.len() - 1).unwrap_or(u64::MAX)
    }

    fn owner_mut(&mut self, ticket: Ticket) -> Option<&mut Owner> {
        self.owners.get_mut(usize::try_from(ticket).ok()?)
    }

    fn take_back(&mut self, ticket: Ticket) -> Owner {
        let owner = match self.owner_mut(ticket) {
            Some(entry) => std::mem::replace(entry, Owner::Vacant),
            None => Owner::Vacant,
        };
        assert!(!matches!(owner, Owner::Vacant), "the disk completed a request that is not outstanding");
        self.vacant.push(ticket);
        owner
    }

    fn complete(&mut self, ticket: Ticket, result: Result<Done, MediaError>) {
        self.statistics.errors += u64::from(result.is_err());
        self.ready.push_back(Completion { ticket, result });
    }

    /// Checks and records the epoch of a call. If a newer one was seen, completes the call and
    /// returns false.
    fn admit(&mut self, fence: &Fence, ticket: Ticket) -> bool {
        if fence.epoch < self.newest_epoch {
            self.complete(ticket, Err(MediaError::Fenced));
            return false;
        }
        self.newest_epoch = fence.epoch;
        true
    }

    /// Whether the blocks lie in the data area; otherwise completes the request with an error. An
    /// address may come from a damaged page, and must never reach log or superblocks.
    fn in_data_area(&mut self, operation: &'static str, ticket: Ticket, address: BlockAddress, blocks: u64) -> bool {
        let geometry = &self.contents.geometry;
        let inside = match address.get().checked_add(blocks) {
            Some(end) => address.get() >= geometry.data_start() && end <= geometry.data_end() && blocks > 0,
            None => false,
        };
        if !inside {
            let reason = format!("outside the data area (blocks {} to {})", geometry.data_start(), geometry.data_end());
            self.complete(ticket, Err(MediaError::Io { operation, address: address.get(), blocks, reason }));
        }
        inside
    }

    /// Block of a range of the ring; for an invalid range completes the request with an error.
    fn log_block(&mut self, operation: &'static str, ticket: Ticket, offset_bytes: u64, blocks: u64) -> Option<u64> {
        let geometry = &self.contents.geometry;
        let block_bytes = BLOCK_BYTES as u64;
        let first = offset_bytes / block_bytes;
        let inside = first.checked_add(blocks).is_some_and(|end| end <= geometry.log_blocks);
        if inside && blocks > 0 && offset_bytes.is_multiple_of(block_bytes) {
            return Some(geometry.log_first_block + first);
        }
        let reason =
            format!("byte {offset_bytes} of the log is outside its {} blocks, or not aligned", geometry.log_blocks);
        let address = geometry.log_first_block.saturating_add(first);
        self.complete(ticket, Err(MediaError::Io { operation, address, blocks, reason }));
        None
    }

    /// Starts the next swap if none is in progress.
    fn start_next_swap(&mut self) {
        while self.swap.as_ref().is_none_or(|swap| swap.parked)
            && let Some((ticket, expected, root)) = self.waiting_swaps.pop_front()
        {
            if let Some(error) = self.root_lost.clone() {
                self.complete(ticket, Err(error));
                continue;
            }
            if expected != self.contents.version {
                let found = self.contents.version;
                self.complete(ticket, Err(MediaError::RootConflict { expected, found }));
                continue;
            }
            if let Some(swap) = &mut self.swap {
                if swap.contents.root != root {
                    let reason = "another root waits until the file system has room".to_owned();
                    self.complete(ticket, Err(MediaError::BadRoot(reason)));
                    continue;
                }
                (swap.ticket, swap.parked) = (ticket, false);
                self.start_swap_step();
                continue;
            }
            let Some(version) = expected.checked_add(1) else {
                self.complete(ticket, Err(MediaError::BadRoot("the root's version is at its end".to_owned())));
                continue;
            };
            let mut contents = Contents { version, root, ..self.contents.clone() };
            if let Some(Extended { block_count, members }) = self.extended.take() {
                contents.geometry.block_count = block_count;
                if !members.is_empty() {
                    contents.incompatible |= FEATURE_MEMBERS;
                }
                contents.members = members;
            }
            contents.incompatible |= self.required_features;
            let groups = write_groups(self.holds);
            self.swap = Some(Swap { ticket, contents, groups, step: 0, outstanding: 0, no_space: None, parked: false });
            self.start_swap_step();
        }
    }

    /// Issues the requests of the swap's current step.
    fn start_swap_step(&mut self) {
        let Some(swap) = &mut self.swap else { return };
        let copies = swap.groups.get(swap.step / 2).filter(|_| swap.step.is_multiple_of(2));
        let Some(copies) = copies else {
            swap.outstanding = 1;
            let ticket = self.lend(Owner::Superblock);
            self.disk.flush(ticket);
            self.disk.submit();
            return;
        };
        swap.outstanding = copies.len();
        let places = swap.contents.geometry.copy_blocks();
        let writes: Vec<(u64, Buffer)> = copies
            .iter()
            .map(|&index| {
                let block = places.get(index).copied().unwrap_or_default();
                (block, Buffer::from_blocks(vec![swap.contents.encode(index)]))
            })
            .collect();
        for (block, buffer) in writes {
            let ticket = self.lend(Owner::Superblock);
            self.disk.write(ticket, block, buffer, false);
        }
        self.disk.submit();
    }

    /// Handles the completion of one of the swap's requests.
    fn advance_swap(&mut self, result: Result<Done, MediaError>) {
        let Some(swap) = &mut self.swap else { return };
        match result {
            Ok(_) => {}
            // A write without room has changed nothing; a flush without room has lost something.
            Err(error @ MediaError::NoSpace { .. }) if swap.step.is_multiple_of(2) => swap.no_space = Some(error),
            Err(error) => drop(self.root_lost.get_or_insert(error)),
        }
        swap.outstanding = swap.outstanding.saturating_sub(1);
        if swap.outstanding > 0 {
            return;
        }
        if self.root_lost.is_none()
            && let Some(error) = swap.no_space.take()
        {
            swap.parked = true;
            let ticket = swap.ticket;
            self.complete(ticket, Err(error));
            return self.start_next_swap();
        }
        swap.step += 1;
        if self.root_lost.is_none() && swap.step < 2 * swap.groups.len() {
            return self.start_swap_step();
        }
        let Some(swap) = self.swap.take() else { return };
        match self.root_lost.clone() {
            Some(error) => self.complete(swap.ticket, Err(error)),
            None => {
                self.contents = swap.contents;
                self.holds = [true; COPIES];
                self.damaged.clear();
                self.statistics.root_swaps += 1;
                self.complete(swap.ticket, Ok(Done::Written(None)));
            }
        }
        self.start_next_swap();
    }
}

/// Makes the root in force durable before anything relies on it, unless all four copies hold it.
/// Blocks.
///
/// A swap whose flush failed leaves copies of the new root that the disk returns but that may never
/// reach the medium, and a later flush may not mention them any more. They are written again. A
/// single copy of the older root is reason enough: with a copy in doubt that reverts to it, it
/// brings the older root back into force. So is a copy that is damaged or cannot be read.
///
/// A power failure may tear the copy that is being written, and the three others must then agree on
/// a root. So the copies are written one after the other, each with its flush, in this order:
///
/// 1. Copies that hold neither the root in force nor the one before it: damaged, unreadable, or
///    stray. Tearing one of them changes nothing. One that cannot be written is left to the next
///    swap.
/// 2. Copies of the root in force. At a power failure each of the three others has the root in
///    force or the one before it, so two agree. Without the first step it might be one copy each,
///    and a third that is worthless.
///
/// Copies of the root before it are written only by the next swap: while they exist, the newer root
/// may be in doubt, and once they are gone, it is durable.
///
/// [`MediaError::NoSpace`]: the file system below does not write in place and is full. All places
/// but one that a growth has added were written when the pool was made, so no other file system
/// needs room here.
fn confirm_root<D: Disk>(
    disk: &mut D,
    contents: &Contents,
    copies: &[(u64, CopyState); COPIES],
) -> Result<(), MediaError> {
    let newest = |state: &CopyState| state.contents() == Some(contents);
    if copies.iter().all(|(_, state)| newest(state)) {
        return Ok(());
    }
    let intact = copies.iter().filter_map(|(_, state)| state.contents());
    let before = intact.filter(|other| other.version < contents.version).max_by_key(|other| other.version);
    let worthless = |state: &CopyState| !newest(state) && (state.contents().is_none() || state.contents() != before);
    let places = contents.geometry.copy_blocks();
    let copies = || copies.iter().zip(places).enumerate().map(|(index, ((_, state), block))| (index, state, block));
    for (index, _, block) in copies().filter(|(_, state, _)| worthless(state)) {
        if format::write_now(disk, &[(block, contents.encode(index))]).is_ok() {
            format::flush_now(disk)?;
        }
    }
    for (index, _, block) in copies().filter(|(_, state, _)| newest(state)) {
        format::write_now(disk, &[(block, contents.encode(index))])?;
        format::flush_now(disk)?;
    }
    Ok(())
}

/// Reads each superblock copy, with its block. If copies 0 and 1 do not lead to copy 3, looks for
/// it at the end of the disk.
fn read_copies<D: Disk>(disk: &mut D) -> [(u64, CopyState); COPIES] {
    let read = |disk: &mut D, index, block| match format::read_now(disk, block) {
        Ok(found) => (block, CopyState::examine(&found, index, block)),
        Err(error) => (block, CopyState::Unreadable(error.to_string())),
    };
    let unknown = || (0, CopyState::PlaceUnknown);
    let mut copies = [read(disk, 0, 0), read(disk, 1, 1), unknown(), unknown()];
    // Geometries that intact copies name: one, unless the device was formatted again and an older
    // copy survived.
    let mut geometries = Vec::new();
    let learn = |geometries: &mut Vec<_>, copy: &CopyState| match copy.contents() {
        Some(contents) if !geometries.contains(&contents.geometry) => geometries.push(contents.geometry),
        _ => {}
    };
    learn(&mut geometries, &copies[0].1);
    learn(&mut geometries, &copies[1].1);
    let last = disk.block_count().saturating_sub(1);
    if copies[0].1.contents().is_none() && copies[1].1.contents().is_none() && last > 1 {
        let at_end = read(disk, 3, last);
        learn(&mut geometries, &at_end.1);
        copies[3] = at_end;
    }
    // Copy 2 has the same place in all geometries. After an interrupted growth it may be the one
    // that leads to the old copy 3.
    let mut at = 0;
    while let Some(geometry) = geometries.get(at).copied() {
        at += 1;
        for index in [2, 3] {
            let block = geometry.copy_blocks()[index];
            if copies[index].0 == block {
                continue;
            }
            let found = read(disk, index, block);
            learn(&mut geometries, &found.1);
            // A growth leaves the copy at the old end behind, perhaps intact: the copy with the
            // newer version counts.
            let version = |state: &CopyState| state.contents().map(|contents| contents.version);
            let kept = &copies[index].1;
            let worthless = version(kept).is_none() && !matches!(kept, CopyState::Unreadable(_));
            if worthless || version(&found.1) > version(kept) {
                copies[index] = found;
            }
        }
    }
    copies
}

impl<D: Disk> SegmentStore for LocalMedia<D> {
    fn read(&mut self, ticket: Ticket, address: BlockAddress, buffer: Buffer) {
        if self.in_data_area("read", ticket, address, block_length(&buffer)) {
            let ticket = self.lend(Owner::Read { ticket });
            self.disk.read(ticket, address.get(), buffer);
        }
    }

    fn write(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, buffer: Buffer) {
        if self.admit(fence, ticket) && self.in_data_area("write", ticket, address, block_length(&buffer)) {
            let ticket = self.lend(Owner::Write { ticket });
            self.disk.write(ticket, address.get(), buffer, false);
        }
    }

    fn write_durable(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, buffer: Buffer) {
        if self.admit(fence, ticket) && self.in_data_area("write", ticket, address, block_length(&buffer)) {
            let ticket = self.lend(Owner::Write { ticket });
            self.disk.write(ticket, address.get(), buffer, true);
        }
    }

    fn has_room(&mut self, address: BlockAddress, blocks: u64) -> bool {
        self.disk.has_room(address.get(), blocks)
    }

    fn flush(&mut self, fence: &Fence, ticket: Ticket) {
        if self.admit(fence, ticket) {
            let ticket = self.lend(Owner::Flush { ticket });
            self.disk.flush(ticket);
        }
    }

    fn discard(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, blocks: u64) {
        if self.admit(fence, ticket) && self.in_data_area("discard", ticket, address, blocks) {
            let ticket = self.lend(Owner::Discard { ticket });
            self.disk.discard(ticket, address.get(), blocks);
        }
    }

    fn capabilities(&self) -> Capabilities {
        self.disk.capabilities()
    }

    fn block_count(&self) -> u64 {
        self.contents.geometry.block_count
    }

    fn data_start(&self) -> BlockAddress {
        BlockAddress::new(self.contents.geometry.data_start())
    }

    fn data_end(&self) -> BlockAddress {
        BlockAddress::new(self.contents.geometry.data_end())
    }
}

impl<D: Disk> LogStore for LocalMedia<D> {
    fn log_bytes(&self) -> u64 {
        self.contents.geometry.log_blocks * BLOCK_BYTES as u64
    }

    fn append(&mut self, fence: &Fence, ticket: Ticket, offset_bytes: u64, frame: Buffer) {
        if self.admit(fence, ticket)
            && let Some(block) = self.log_block("append", ticket, offset_bytes, block_length(&frame))
        {
            let ticket = self.lend(Owner::Append { ticket });
            self.disk.write(ticket, block, frame, true);
        }
    }

    fn read_log(&mut self, ticket: Ticket, offset_bytes: u64, buffer: Buffer) {
        if let Some(block) = self.log_block("read", ticket, offset_bytes, block_length(&buffer)) {
            let ticket = self.lend(Owner::Read { ticket });
            self.disk.read(ticket, block, buffer);
        }
    }

    fn seal(&mut self, fence: &Fence, ticket: Ticket) {
        if self.admit(fence, ticket) {
            self.complete(ticket, Ok(Done::Written(None)));
        }
    }
}

impl<D: Disk> RootStore for LocalMedia<D> {
    fn load_root(&mut self, ticket: Ticket) {
        let result = match &self.root_lost {
            Some(error) => Err(error.clone()),
            None => Ok(Done::Root(self.contents.root.clone(), self.contents.version)),
        };
        self.complete(ticket, result);
    }

    fn require_features(&mut self, incompatible: u64) {
        self.required_features |= incompatible;
    }

    fn features(&self) -> u64 {
        self.contents.incompatible
    }

    fn swap_root(&mut self, fence: &Fence, ticket: Ticket, version: u64, root: &[u8]) {
        if !self.admit(fence, ticket) {
            return;
        }
        if root.len() > MAX_ROOT_BYTES {
            let reason = format!("a root of {} bytes does not fit: at most {MAX_ROOT_BYTES}", root.len());
            return self.complete(ticket, Err(MediaError::BadRoot(reason)));
        }
        self.waiting_swaps.push_back((ticket, version, root.to_vec()));
        self.start_next_swap();
    }
}

impl<D: Disk> Media for LocalMedia<D> {
    fn submit(&mut self) {
        self.disk.submit();
    }

    fn poll(&mut self) -> Option<Completion> {
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Some(completion);
            }
            let Completion { ticket, result } = self.disk.poll()?;
            let bytes = match &result {
                Ok(Done::Read(buffer) | Done::Written(Some(buffer))) => u64::try_from(buffer.len()).unwrap_or_default(),
                _ => 0,
            };
            let owner = self.take_back(ticket);
            let statistics = &mut self.statistics;
            statistics.errors += u64::from(result.is_err());
            let succeeded = u64::from(result.is_ok());
            let ticket = match owner {
                Owner::Read { ticket } => {
                    statistics.reads += succeeded;
                    statistics.read_bytes += bytes;
                    ticket
                }
                Owner::Write { ticket } => {
                    statistics.writes += succeeded;
                    statistics.written_bytes += bytes;
                    ticket
                }
                Owner::Append { ticket } => {
                    statistics.appends += succeeded;
                    statistics.appended_bytes += bytes;
                    ticket
                }
                Owner::Flush { ticket } => {
                    statistics.flushes += succeeded;
                    ticket
                }
                Owner::Discard { ticket } => {
                    statistics.discards += succeeded;
                    ticket
                }
                Owner::Superblock | Owner::Vacant => {
                    self.advance_swap(result);
                    continue;
                }
            };
            return Some(Completion { ticket, result });
        }
    }

    fn wait(&mut self) {
        loop {
            if let Some(completion) = self.poll() {
                return self.ready.push_front(completion);
            }
            if self.disk.outstanding() == 0 {
                return;
            }
            self.disk.wait();
        }
    }

    fn extend(&mut self, growth: &Growth) -> Result<Grown, GrowthError> {
        if let Some(error) = &self.root_lost {
            let reason = std::io::Error::other(error.to_string());
            return Err(GrowthError::System { path: "the pool".to_owned(), operation: "growing", reason });
        }
        let under_way = self.swap.as_ref().map_or(&self.contents, |swap| &swap.contents);
        let block_count = self.extended.as_ref().map_or(under_way.geometry.block_count, |grown| grown.block_count);
        let terms = GrowthTerms { pool: self.contents.uuid, block_count, most_blocks: MAX_GROWN_BLOCKS };
        let extended = self.disk.extend(growth, &terms)?;
        let geometry = Geometry { block_count: extended.block_count, ..self.contents.geometry };
        self.extended = Some(extended);
        Ok(Grown { block_count: geometry.block_count, data_end: geometry.data_end() })
    }

    fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.disk.wake_descriptor()
    }

    fn clear_wake(&mut self) {
        self.disk.clear_wake();
    }
}
