//! Disk of several files or block devices, one after the other. With one, the usual case, requests
//! pass straight through.
//!
//! The first member's blocks are the first of the pool. A further member begins with a label; its
//! blocks from 256 on follow those of the member before. Members are found by the table on the
//! first one, and verified by their labels before any of them is written to.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::disk::{block_length, range_error};
use crate::growth::{
    Extended, Growth, GrowthError, GrowthTerms, MAX_MEMBERS, MIN_MEMBER_BLOCKS, Member, wanted_blocks, within_limit,
};
use crate::member::{LABEL_BLOCKS, Label, MEMBER_SKIP_BLOCKS, Place, TABLE_BLOCKS, TABLE_LENGTH, Table, path_fits};
use crate::superblock::{Contents, CopyState};
use crate::{
    BLOCK_BYTES, Buffer, Capabilities, Completion, Disk, Done, FileDisk, MediaError, OpenError, OpenOptions, Ticket,
};

/// First ticket of pieces of a request. Bit 63 is reserved for the files below.
const PIECE: Ticket = 1 << 62;
/// Blocks at each end of a new member that have to be zeros.
const BLANK_BLOCKS: u64 = 256;
/// Number of places sampled in between.
const SAMPLES: u64 = 512;
/// Most blocks examined that a file has written (256 MiB): written blocks may be zeros.
const WRITTEN_BLOCKS: u64 = 65_536;

/// One file or device.
struct Part {
    disk: FileDisk,
    uuid: [u8; 16],
    path: PathBuf,
    /// Address of its first block in the pool.
    first: u64,
    /// Blocks of the pool on it.
    blocks: u64,
    /// Its own first block that belongs to the pool.
    skip: u64,
}

/// Request that crosses members, or concerns all of them.
struct Split {
    ticket: Ticket,
    /// Buffer of the whole read or write, returned at the end.
    buffer: Option<Buffer>,
    read: bool,
    outstanding: usize,
    failed: Option<MediaError>,
}

/// [`Disk`] of several files or devices. Tickets are below 2^62.
pub struct Span {
    parts: Vec<Part>,
    options: OpenOptions,
    generation: u64,
    splits: HashMap<u64, Split>,
    /// Split of each piece, and the piece's first block within the split's buffer.
    pieces: HashMap<Ticket, (u64, usize)>,
    next: u64,
    ready: VecDeque<Completion>,
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Span({} members, {} blocks)", self.parts.len(), self.block_count())
    }
}

impl Span {
    /// Opens the file or device `path`, and the other members of the pool that begins there.
    /// Refuses, naming the member, one that is missing, foreign, in another member's place or too
    /// short.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let mut first = FileDisk::open(path, options)?;
        let table = stored_table(&mut first);
        let blocks = first.block_count();
        let generation = table.as_ref().map_or(0, |table| table.generation);
        let part = Part { disk: first, uuid: [0; 16], path: path.to_owned(), first: 0, blocks, skip: 0 };
        let mut span = Self {
            parts: vec![part],
            options: options.clone(),
            generation,
            splits: HashMap::new(),
            pieces: HashMap::new(),
            next: 0,
            ready: VecDeque::new(),
        };
        span.refuse_a_further_member(path)?;
        let named = span.named_members();
        let named = if named.is_empty() { members_of_table(&mut span, table.as_ref()) } else { named };
        if named.len() > 1 {
            span.open_members(path, &named, table.as_ref())?;
        }
        Ok(span)
    }

    /// Members that the superblock copies at the start name. An interrupted swap may have left two
    /// lists, where one has an additional member or a larger last member: that one is returned.
    fn named_members(&mut self) -> Vec<Member> {
        let mut named: Vec<Member> = Vec::new();
        for index in [0, 1] {
            let Some(Contents { members, .. }) = self.copy(index) else { continue };
            let blocks = |members: &[Member]| members.iter().map(|member| member.blocks).sum::<u64>();
            if (members.len(), blocks(&members)) > (named.len(), blocks(&named)) {
                named = members;
            }
        }
        named
    }

    fn copy(&mut self, index: usize) -> Option<Contents> {
        let at = u64::try_from(index).ok()?;
        let disk = &mut self.parts.first_mut()?.disk;
        if at >= disk.block_count() {
            return None;
        }
        let block = disk.read_now(at, 1).ok()?;
        CopyState::examine(block.as_blocks().first()?, index, at).contents().cloned()
    }

    /// Refuses a further member as the start of a pool.
    fn refuse_a_further_member(&mut self, path: &Path) -> Result<(), OpenError> {
        let Some(part) = self.parts.first_mut() else { return Ok(()) };
        if part.disk.block_count() == 0 {
            return Ok(());
        }
        let Ok(block) = part.disk.read_now(0, 1) else { return Ok(()) };
        match block.as_blocks().first().map(Label::decode) {
            Some(Ok(Some(label))) => Err(OpenError::Member {
                path: path.display().to_string(),
                member: "the first file or device of the pool".to_owned(),
                reason: format!("this one is member {} of it; give the path of the first", label.index + 1),
            }),
            _ => Ok(()),
        }
    }

    fn open_members(&mut self, path: &Path, members: &[Member], table: Option<&Table>) -> Result<(), OpenError> {
        let refused =
            |member: String, reason: String| OpenError::Member { path: path.display().to_string(), member, reason };
        let total = members.len();
        for (index, member) in members.iter().enumerate() {
            let called = |place: &Path| format!("member {} of {total}, {}", index + 1, place.display());
            if index == 0 {
                let Some(part) = self.parts.first_mut() else { continue };
                if part.disk.block_count() < member.blocks {
                    let reason = shrunk(part.disk.block_count(), member.blocks);
                    return Err(refused(called(path), reason));
                }
                part.blocks = member.blocks;
                part.uuid = member.uuid;
                continue;
            }
            let place = table.and_then(|table| table.places.iter().find(|place| place.member == member.uuid));
            let Some(place) = place else {
                let reason = "the pool does not tell where it is, since its table of members is damaged".to_owned();
                return Err(refused(format!("member {} of {total}", index + 1), reason));
            };
            let pool = members.first().map(|first| first.uuid).unwrap_or_default();
            let mut failure = None;
            let mut found = None;
            for candidate in candidates(path, &place.path) {
                match self.open_member(&candidate, &pool, index, member) {
                    Ok(disk) => {
                        found = Some((candidate, disk));
                        break;
                    }
                    Err(reason) => failure = Some((candidate, reason)),
                }
            }
            let Some((place, disk)) = found else {
                let (place, reason) = failure.unwrap_or_else(|| (place.path.clone(), "it is missing".to_owned()));
                return Err(refused(called(&place), reason));
            };
            let first = self.end();
            let (blocks, skip) = (member.blocks, MEMBER_SKIP_BLOCKS);
            self.parts.push(Part { disk, uuid: member.uuid, path: place, first, blocks, skip });
        }
        Ok(())
    }

    /// Opens one further member and verifies its identity; otherwise returns its defect.
    fn open_member(&self, path: &Path, pool: &[u8; 16], index: usize, member: &Member) -> Result<FileDisk, String> {
        let options = OpenOptions { create_bytes: None, ..self.options.clone() };
        let Some(wake) = self.parts.first().map(|part| part.disk.shared_wake()) else { return Err(String::new()) };
        let mut disk = FileDisk::open_sharing(path, &options, wake, true).map_err(|error| match error {
            OpenError::NotFound { .. } => "it is missing: no such file or device".to_owned(),
            error => error.to_string(),
        })?;
        let label = read_label(&mut disk)?.ok_or(
            "it carries no label of a pool's member: another file or device has taken its place, or it was wiped",
        )?;
        if label.pool != *pool {
            return Err("it belongs to another pool".to_owned());
        }
        if label.member != member.uuid || label.index != index {
            return Err(format!("it is member {} of the pool: two were swapped", label.index + 1));
        }
        let needed = member.blocks.saturating_add(MEMBER_SKIP_BLOCKS);
        if disk.block_count() < needed {
            return Err(shrunk(disk.block_count(), needed));
        }
        Ok(disk)
    }

    /// First file or device.
    fn first(&self) -> &Part {
        // `open` creates a span with one part, and no part is ever removed.
        self.parts.first().expect("a span has a first member")
    }

    /// Paths of the files and devices, in order.
    pub fn paths(&self) -> Vec<&Path> {
        self.parts.iter().map(|part| part.path.as_path()).collect()
    }

    /// Whether `open` created the first file, or gave an empty one its size.
    pub fn created(&self) -> bool {
        self.first().disk.created()
    }

    /// Whether the file is on tmpfs or ramfs: content does not survive the machine.
    pub fn memory(&self) -> bool {
        self.first().disk.memory()
    }

    /// Line for the log: kind of the disk and access to it.
    pub fn description(&self) -> String {
        let first = self.first().disk.description();
        match self.parts.len() {
            1 => first,
            count => format!("{count} files or devices, the first a {first}"),
        }
    }

    fn end(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.first + part.blocks)
    }

    /// Part that holds all of the blocks, with the first of them in the part's own numbering.
    fn locate(&self, block: u64, blocks: u64) -> Option<(usize, u64)> {
        let index = self.parts.partition_point(|part| part.first <= block).checked_sub(1)?;
        let part = self.parts.get(index)?;
        let offset = block - part.first;
        (offset.checked_add(blocks)? <= part.blocks).then_some((index, offset + part.skip))
    }

    /// Splits a range, which lies on the disk, at the borders of members: part, its own first
    /// block, number of blocks, offset in the range.
    fn cut(&self, mut block: u64, blocks: u64) -> Vec<(usize, u64, u64, usize)> {
        let end = block + blocks;
        let mut pieces = Vec::new();
        let mut at = 0;
        for (index, part) in self.parts.iter().enumerate() {
            let until = end.min(part.first + part.blocks);
            if block >= until || block < part.first {
                continue;
            }
            let length = until - block;
            pieces.push((index, block - part.first + part.skip, length, at));
            at += usize::try_from(length).unwrap_or(usize::MAX);
            block = until;
        }
        pieces
    }

    fn begin_split(&mut self, ticket: Ticket, buffer: Option<Buffer>, read: bool, outstanding: usize) -> u64 {
        let id = self.next;
        self.next += 1;
        self.splits.insert(id, Split { ticket, buffer, read, outstanding, failed: None });
        id
    }

    fn piece(&mut self, split: u64, at: usize) -> Ticket {
        let ticket = PIECE | self.next;
        self.next += 1;
        self.pieces.insert(ticket, (split, at));
        ticket
    }

    /// Handles the completion of a piece; returns the whole request after its last piece.
    fn gather(&mut self, ticket: Ticket, result: Result<Done, MediaError>) -> Option<Completion> {
        let (id, at) = self.pieces.remove(&ticket)?;
        let split = self.splits.get_mut(&id)?;
        split.outstanding = split.outstanding.saturating_sub(1);
        match result {
            Ok(Done::Read(part)) if split.read => {
                if let Some(buffer) = &mut split.buffer {
                    let target = buffer.as_blocks_mut().get_mut(at..).unwrap_or_default();
                    target.iter_mut().zip(part.as_blocks()).for_each(|(to, from)| to.0 = from.0);
                }
            }
            Ok(_) => {}
            Err(error) => {
                split.failed.get_or_insert(error);
            }
        }
        if split.outstanding > 0 {
            return None;
        }
        let Split { ticket, buffer, read, failed, .. } = self.splits.remove(&id)?;
        let done = match (read, buffer) {
            (true, Some(buffer)) => Done::Read(buffer),
            (_, buffer) => Done::Written(buffer),
        };
        Some(Completion { ticket, result: failed.map_or(Ok(done), Err) })
    }

    fn poll_parts(&mut self) -> Option<Completion> {
        if let [part] = self.parts.as_mut_slice() {
            return part.disk.poll();
        }
        for index in 0..self.parts.len() {
            while let Some(part) = self.parts.get_mut(index)
                && let Some(mut completion) = part.disk.poll()
            {
                if let Err(error) = &mut completion.result {
                    relocate(error, part.first, part.skip);
                }
                if completion.ticket & PIECE == 0 {
                    return Some(completion);
                }
                if let Some(whole) = self.gather(completion.ticket, completion.result) {
                    return Some(whole);
                }
            }
        }
        None
    }

    /// Adds the device at `path`. Every step that can fail comes before changes to the pool's own
    /// members.
    fn add(&mut self, path: &Path, terms: &GrowthTerms) -> Result<(), GrowthError> {
        let shown = || path.display().to_string();
        if self.parts.len() >= MAX_MEMBERS {
            return Err(GrowthError::TooManyMembers);
        }
        let absolute = match path.canonicalize() {
            Ok(absolute) => absolute,
            Err(reason) if reason.kind() == std::io::ErrorKind::NotFound => {
                return Err(OpenError::NotFound { path: shown() }.into());
            }
            Err(reason) => return Err(GrowthError::System { path: shown(), operation: "looking up", reason }),
        };
        if !path_fits(&absolute) {
            return Err(GrowthError::PathTooLong { path: shown() });
        }
        if self.parts.iter().any(|part| same_file(&part.path, &absolute)) {
            return Err(GrowthError::Member { path: shown() });
        }
        let options = OpenOptions { create_bytes: None, read_only: false, ..self.options.clone() };
        let mut disk = FileDisk::open_sharing(path, &options, self.first().disk.shared_wake(), false)?;
        let physical = disk.block_count();
        if physical < MIN_MEMBER_BLOCKS {
            let block_bytes = BLOCK_BYTES as u64;
            let (bytes, least_bytes) = (physical * block_bytes, MIN_MEMBER_BLOCKS * block_bytes);
            return Err(GrowthError::DeviceTooSmall { path: shown(), bytes, least_bytes });
        }
        if disk.memory() != self.memory() {
            return Err(GrowthError::Mixed { path: shown() });
        }
        let failed = |operation: &'static str| {
            move |reason: std::io::Error| GrowthError::System { path: path.display().to_string(), operation, reason }
        };
        // The last member may be larger than the part that the pool uses.
        let start = terms.block_count;
        let blocks = physical - MEMBER_SKIP_BLOCKS;
        within_limit(start.saturating_add(blocks), terms)?;
        let leftover = match read_label(&mut disk) {
            Ok(Some(label)) => label.pool == terms.pool && !self.parts.iter().any(|part| part.uuid == label.member),
            Ok(None) | Err(_) => false,
        };
        // A device that an interrupted growth has labelled holds no other data.
        if !leftover && let Some(block) = first_data(&mut disk).map_err(failed("reading"))? {
            return Err(GrowthError::NotBlank { path: shown(), block });
        }
        // The last superblock copy gets its place there, which must not fail for lack of space.
        disk.write_now(physical - 1, Buffer::zeroed(1)).map_err(failed("allocating its last block"))?;
        let mut uuid = [0; 16];
        getrandom::fill(&mut uuid)
            .map_err(|reason| failed("finding random numbers")(std::io::Error::other(reason.to_string())))?;
        let index = self.parts.len();
        let label = Label { pool: terms.pool, member: uuid, index, blocks }.encode();
        for block in LABEL_BLOCKS {
            disk.write_now(block, Buffer::from_blocks(vec![label.clone()])).map_err(failed("writing the label"))?;
        }
        disk.flush_now().map_err(failed("writing the label"))?;
        let mut places = self.places(terms);
        if let Some(last) = places.last_mut() {
            last.blocks = start - self.parts.last().map_or(0, |part| part.first);
        }
        places.push(Place { member: uuid, blocks, path: absolute.clone() });
        self.write_table(terms, places)?;
        if let Some(last) = self.parts.last_mut() {
            last.blocks = start - last.first;
        }
        if let Some(first) = self.parts.first_mut() {
            first.uuid = terms.pool;
        }
        self.parts.push(Part { disk, uuid, path: absolute, first: start, blocks, skip: MEMBER_SKIP_BLOCKS });
        Ok(())
    }

    /// Extends the last member so that the pool has `wanted` blocks.
    fn lengthen(&mut self, wanted: u64, terms: &GrowthTerms) -> Result<(), GrowthError> {
        let several = self.parts.len() > 1;
        let Some(last) = self.parts.last_mut() else { return Ok(()) };
        let blocks = wanted - last.first;
        last.disk.grow(blocks + last.skip)?;
        if several {
            let mut places = self.places(terms);
            if let Some(place) = places.last_mut() {
                place.blocks = blocks;
            }
            self.write_table(terms, places)?;
        }
        if let Some(last) = self.parts.last_mut() {
            last.blocks = blocks;
        }
        Ok(())
    }

    fn places(&self, terms: &GrowthTerms) -> Vec<Place> {
        let place = |(index, part): (usize, &Part)| match index {
            0 => Place { member: terms.pool, blocks: part.blocks, path: PathBuf::new() },
            _ => Place { member: part.uuid, blocks: part.blocks, path: part.path.clone() },
        };
        self.parts.iter().enumerate().map(place).collect()
    }

    /// Writes both copies, the first one durable before the second begins.
    fn write_table(&mut self, terms: &GrowthTerms, places: Vec<Place>) -> Result<(), GrowthError> {
        self.generation += 1;
        let table = Table { pool: terms.pool, generation: self.generation, places }.encode();
        let Some(first) = self.parts.first_mut() else { return Ok(()) };
        for block in TABLE_BLOCKS {
            let path = || first.path.display().to_string();
            let operation = "writing the table of members";
            let written = first.disk.write_now(block, table.clone());
            written.map_err(|reason| GrowthError::System { path: path(), operation, reason })?;
            let flushed = first.disk.flush_now();
            flushed.map_err(|reason| GrowthError::FlushFailed { path: path(), reason })?;
        }
        Ok(())
    }
}

fn shrunk(found: u64, needed: u64) -> String {
    format!(
        "it has {found} blocks of 4096 bytes, and the pool uses {needed} of it: it was cut off, or only partly copied"
    )
}

/// Paths at which to look for a member: beside the first one, where a pool that was moved as a
/// whole has it, then the recorded one.
fn candidates(first: &Path, recorded: &Path) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    let first = first.canonicalize().unwrap_or_else(|_| first.to_owned());
    if let (Some(folder), Some(name)) = (first.parent(), recorded.file_name()) {
        let beside = folder.join(name);
        if beside != recorded && beside.exists() {
            candidates.push(beside);
        }
    }
    candidates.push(recorded.to_owned());
    candidates
}

/// Table of members on the first one, if it has an intact one.
fn stored_table(disk: &mut FileDisk) -> Option<Table> {
    let mut best: Option<Table> = None;
    for block in TABLE_BLOCKS {
        if block + TABLE_LENGTH as u64 > disk.block_count() {
            continue;
        }
        let Ok(buffer) = disk.read_now(block, TABLE_LENGTH) else { continue };
        if let Some(table) = Table::decode(&buffer)
            && best.as_ref().is_none_or(|best| best.generation < table.generation)
        {
            best = Some(table);
        }
    }
    best
}

/// Members according to the table, used when both superblock copies at the start are lost. An
/// interrupted growth may have left one member too many; the only effect is that copy 3 is looked
/// for behind it.
fn members_of_table(span: &mut Span, table: Option<&Table>) -> Vec<Member> {
    let (Some(table), None, None) = (table, span.copy(0), span.copy(1)) else { return Vec::new() };
    table.places.iter().map(|place| Member { uuid: place.member, blocks: place.blocks }).collect()
}

/// Label of a further member; one intact copy is enough.
fn read_label(disk: &mut FileDisk) -> Result<Option<Label>, String> {
    let mut outcome = Ok(None);
    for block in LABEL_BLOCKS {
        if block >= disk.block_count() {
            break;
        }
        let found = match disk.read_now(block, 1) {
            Ok(buffer) => buffer.as_blocks().first().map_or(Ok(None), Label::decode),
            Err(reason) => Err(format!("its label cannot be read: {reason}")),
        };
        match found {
            Ok(Some(label)) => return Ok(Some(label)),
            Ok(None) => {}
            Err(reason) => outcome = Err(reason),
        }
    }
    outcome
}

/// First block found that is not zeros. Examined are both ends, where partition tables, file
/// systems and volume managers leave data, samples in between, and the written parts of a file.
fn first_data(disk: &mut FileDisk) -> std::io::Result<Option<u64>> {
    let blocks = disk.block_count();
    let data_in = |disk: &mut FileDisk, start: u64, count: u64| -> std::io::Result<Option<u64>> {
        let count = count.min(blocks.saturating_sub(start));
        let buffer = disk.read_now(start, usize::try_from(count).unwrap_or_default())?;
        let data = (start..).zip(buffer.as_blocks()).find(|(_, content)| content.0.iter().any(|byte| *byte != 0));
        Ok(data.map(|(block, _)| block))
    };
    for start in [0, blocks.saturating_sub(BLANK_BLOCKS)] {
        if let Some(block) = data_in(disk, start, BLANK_BLOCKS)? {
            return Ok(Some(block));
        }
    }
    for sample in 1..SAMPLES {
        if let Some(block) = data_in(disk, blocks / SAMPLES * sample, 1)? {
            return Ok(Some(block));
        }
    }
    let (mut at, mut looked_at) = (0, 0);
    while looked_at < WRITTEN_BLOCKS
        && let Some(start) = disk.written_from(at)
    {
        if let Some(block) = data_in(disk, start, BLANK_BLOCKS)? {
            return Ok(Some(block));
        }
        looked_at += BLANK_BLOCKS;
        at = start + BLANK_BLOCKS;
    }
    Ok(None)
}

/// Whether two paths refer to one file or device.
fn same_file(a: &Path, b: &Path) -> bool {
    let (Ok(a), Ok(b)) = (std::fs::metadata(a), std::fs::metadata(b)) else { return false };
    let device = |metadata: &std::fs::Metadata| metadata.file_type().is_block_device().then(|| metadata.rdev());
    match (device(&a), device(&b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// Translates the member's own block in an error into an address of the pool.
fn relocate(error: &mut MediaError, first: u64, skip: u64) {
    if let MediaError::Io { address, .. } | MediaError::NoSpace { address, .. } = error {
        *address = address.saturating_sub(skip).saturating_add(first);
    }
}

impl Disk for Span {
    fn block_count(&self) -> u64 {
        match self.parts.as_slice() {
            [part] => part.disk.block_count(),
            _ => self.end(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        let mut all = self.first().disk.capabilities();
        for part in self.parts.iter().skip(1) {
            let one = part.disk.capabilities();
            all.torn_writes |= one.torn_writes;
            all.needs_flush |= one.needs_flush;
            all.immediate &= one.immediate;
            all.max_request_bytes = all.max_request_bytes.min(one.max_request_bytes);
        }
        all
    }

    fn read_only(&self) -> bool {
        self.first().disk.read_only()
    }

    fn members(&self) -> Vec<Member> {
        match self.parts.as_slice() {
            [_] => Vec::new(),
            parts => parts.iter().map(|part| Member { uuid: part.uuid, blocks: part.blocks }).collect(),
        }
    }

    fn settle(&mut self, members: &[Member]) {
        self.parts.truncate(members.len().max(1));
        for (part, member) in self.parts.iter_mut().zip(members) {
            part.blocks = member.blocks;
        }
    }

    fn extend(&mut self, growth: &Growth, terms: &GrowthTerms) -> Result<Extended, GrowthError> {
        if self.read_only() {
            return Err(GrowthError::Unsupported("a pool that was opened for reading only"));
        }
        match growth {
            Growth::Size(bytes) => {
                let (before, skip) = self.parts.last().map_or((0, 0), |last| (last.first, last.skip));
                let wanted = wanted_blocks(*bytes, terms, before, skip)?;
                self.lengthen(wanted, terms)?;
                Ok(Extended { block_count: wanted, members: self.members() })
            }
            Growth::Device(path) => {
                self.add(path, terms)?;
                Ok(Extended { block_count: self.end(), members: self.members() })
            }
        }
    }

    fn read(&mut self, ticket: Ticket, block: u64, buffer: Buffer) {
        if let [part] = self.parts.as_mut_slice() {
            return part.disk.read(ticket, block, buffer);
        }
        let blocks = block_length(&buffer);
        if let Some(error) = range_error("read", block, blocks, self.end()) {
            return self.ready.push_back(Completion { ticket, result: Err(error) });
        }
        if let Some((index, own)) = self.locate(block, blocks) {
            if let Some(part) = self.parts.get_mut(index) {
                part.disk.read(ticket, own, buffer);
            }
            return;
        }
        let pieces = self.cut(block, blocks);
        let split = self.begin_split(ticket, Some(buffer), true, pieces.len());
        for (index, own, length, at) in pieces {
            let ticket = self.piece(split, at);
            if let Some(part) = self.parts.get_mut(index) {
                part.disk.read(ticket, own, Buffer::zeroed(usize::try_from(length).unwrap_or_default()));
            }
        }
    }

    fn write(&mut self, ticket: Ticket, block: u64, buffer: Buffer, durable: bool) {
        if let [part] = self.parts.as_mut_slice() {
            return part.disk.write(ticket, block, buffer, durable);
        }
        let blocks = block_length(&buffer);
        if let Some(error) = range_error("write", block, blocks, self.end()) {
            return self.ready.push_back(Completion { ticket, result: Err(error) });
        }
        if let Some((index, own)) = self.locate(block, blocks) {
            if let Some(part) = self.parts.get_mut(index) {
                part.disk.write(ticket, own, buffer, durable);
            }
            return;
        }
        let pieces = self.cut(block, blocks);
        let copies: Vec<Buffer> = pieces
            .iter()
            .map(|(_, _, length, at)| {
                let length = usize::try_from(*length).unwrap_or_default();
                Buffer::from_blocks(buffer.as_blocks().get(*at..at + length).unwrap_or_default().to_vec())
            })
            .collect();
        let split = self.begin_split(ticket, Some(buffer), false, pieces.len());
        for ((index, own, _, at), copy) in pieces.into_iter().zip(copies) {
            let ticket = self.piece(split, at);
            if let Some(part) = self.parts.get_mut(index) {
                part.disk.write(ticket, own, copy, durable);
            }
        }
    }

    fn has_room(&mut self, block: u64, blocks: u64) -> bool {
        let pieces = self.cut(block, blocks);
        pieces.into_iter().all(|(index, own, length, _)| {
            self.parts.get_mut(index).is_some_and(|part| part.disk.has_room(own, length))
        })
    }

    fn flush(&mut self, ticket: Ticket) {
        if let [part] = self.parts.as_mut_slice() {
            return part.disk.flush(ticket);
        }
        let split = self.begin_split(ticket, None, false, self.parts.len());
        for index in 0..self.parts.len() {
            let ticket = self.piece(split, 0);
            if let Some(part) = self.parts.get_mut(index) {
                part.disk.flush(ticket);
            }
        }
    }

    fn discard(&mut self, ticket: Ticket, block: u64, blocks: u64) {
        if let [part] = self.parts.as_mut_slice() {
            return part.disk.discard(ticket, block, blocks);
        }
        if let Some(error) = range_error("discard", block, blocks, self.end()) {
            return self.ready.push_back(Completion { ticket, result: Err(error) });
        }
        let pieces = self.cut(block, blocks);
        let split = self.begin_split(ticket, None, false, pieces.len());
        for (index, own, length, at) in pieces {
            let ticket = self.piece(split, at);
            if let Some(part) = self.parts.get_mut(index) {
                part.disk.discard(ticket, own, length);
            }
        }
    }

    fn submit(&mut self) {
        for part in &mut self.parts {
            part.disk.submit();
        }
    }

    fn poll(&mut self) -> Option<Completion> {
        self.ready.pop_front().or_else(|| self.poll_parts())
    }

    fn wait(&mut self) {
        self.submit();
        loop {
            if let Some(completion) = self.poll() {
                return self.ready.push_front(completion);
            }
            if self.outstanding() == 0 {
                return;
            }
            if let [part] = self.parts.as_mut_slice() {
                part.disk.wait();
                continue;
            }
            // The members share one event descriptor. The time limit is a safety net.
            let limit = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            let wake = self.first().disk.shared_wake();
            let _ = rustix::event::poll(&mut [PollFd::new(&wake, PollFlags::IN)], Some(&limit));
            self.clear_wake();
        }
    }

    fn outstanding(&self) -> usize {
        let below: usize = self.parts.iter().map(|part| part.disk.outstanding()).sum();
        self.ready.len() + below - self.pieces.len() + self.splits.len()
    }

    fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.first().disk.wake_descriptor()
    }

    fn clear_wake(&mut self) {
        if let Some(part) = self.parts.first_mut() {
            part.disk.clear_wake();
        }
    }
}
