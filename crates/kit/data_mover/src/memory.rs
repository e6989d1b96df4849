//! A logical unit in memory, for tests: several hosts, reservations, and any primitive switched
//! off. It can hold each command in the middle, so that a test decides what comes between; it can
//! also fail, or lose a host.

use crate::device::{Compared, CopyDescriptor, Device, DeviceError, Extent, Identity, LbaStatus, Limits, Sense};
use bytes::{Bytes, BytesMut};
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

mod lie;

pub use lie::Lie;

/// Size of a logical block in bytes.
pub const BLOCK_BYTES: u32 = 512;

/// Largest number of runs in an answer to GET LBA STATUS.
const RUNS: usize = 16;

/// Callback that waits before a command takes effect, and before it is answered.
pub type Delay = Rc<dyn Fn() -> LocalBoxFuture<'static, ()>>;

/// Medium shared by all hosts. Blocks that were never written read as zeros.
#[derive(Default)]
pub struct MemoryUnit {
    blocks: RefCell<BTreeMap<u64, Bytes>>,
    /// Host that has the unit reserved.
    reserved_by: Cell<Option<u32>>,
    /// Number of resets.
    resets: Cell<u64>,
    commands: Cell<u64>,
    /// Changes that were answered but have not taken effect, each with the number of the command
    /// that it waits for.
    late: RefCell<Vec<(u64, Change)>>,
}

/// A change of the medium.
type Change = Box<dyn FnOnce(&MemoryUnit)>;

/// Number of commands after which a change of a late [`Lie`] takes effect.
const LATE: u64 = 3;

impl MemoryUnit {
    /// Schedules a change to take effect some commands later.
    fn later(&self, change: Change) {
        self.late.borrow_mut().push((self.commands.get() + LATE, change));
    }

    fn catch_up(&self) {
        loop {
            let mut late = self.late.borrow_mut();
            let Some(at) = late.iter().position(|(due, _)| *due <= self.commands.get()) else { return };
            let (_, change) = late.remove(at);
            drop(late);
            change(self);
        }
    }

    /// Number of allocated blocks.
    pub fn allocated(&self) -> usize {
        self.blocks.borrow().len()
    }

    /// Number of commands that reached the unit.
    pub fn commands(&self) -> u64 {
        self.commands.get()
    }

    /// Ends the reservation of a host, as the loss of its session does.
    pub fn forget_host(&self, host: u32) {
        if self.reserved_by.get() == Some(host) {
            self.reserved_by.set(None);
        }
    }

    /// Stores content without a command.
    pub fn poke(&self, lba: u64, data: &[u8]) {
        for (lba, block) in (lba..).zip(data.chunks(BLOCK_BYTES as usize)) {
            self.blocks.borrow_mut().insert(lba, Bytes::copy_from_slice(block));
        }
    }

    fn get(&self, extent: Extent) -> Bytes {
        let blocks = self.blocks.borrow();
        let mut content = BytesMut::with_capacity((extent.blocks * u64::from(BLOCK_BYTES)) as usize);
        for lba in extent.lba..extent.lba + extent.blocks {
            match blocks.get(&lba) {
                Some(block) => content.extend_from_slice(block),
                None => content.resize(content.len() + BLOCK_BYTES as usize, 0),
            }
        }
        content.freeze()
    }

    /// Runs of allocated and free blocks from `lba` on, at most [`RUNS`].
    fn runs(&self, lba: u64, end: u64) -> Vec<LbaStatus> {
        let blocks = self.blocks.borrow();
        let (mut runs, mut at) = (Vec::new(), lba);
        while at < end && runs.len() < RUNS {
            let mapped = blocks.contains_key(&at);
            let next = match mapped {
                true => (at..end).find(|lba| !blocks.contains_key(lba)).unwrap_or(end),
                false => blocks.range(at..end).next().map_or(end, |(lba, _)| *lba),
            };
            runs.push(LbaStatus { extent: Extent { lba: at, blocks: next - at }, mapped });
            at = next;
        }
        runs
    }

    fn free(&self, extent: Extent) {
        let mut blocks = self.blocks.borrow_mut();
        let doomed: Vec<u64> = blocks.range(extent.lba..extent.lba + extent.blocks).map(|(lba, _)| *lba).collect();
        for lba in doomed {
            blocks.remove(&lba);
        }
    }
}

/// Path of one host to a [`MemoryUnit`].
#[derive(Clone)]
pub struct MemoryDevice {
    unit: Rc<MemoryUnit>,
    host: u32,
    identity: Identity,
    delay: Option<Delay>,
    /// Whether the host still reaches the unit.
    alive: Rc<Cell<bool>>,
    /// Number of commands until the host is cut off.
    commands_left: Rc<Cell<Option<u64>>>,
    /// Number of blocks that the unit has space for.
    space: Option<usize>,
    /// Refuses UNMAP while this is set.
    refuses_unmap: Rc<Cell<bool>>,
    /// Number of resets for which the host has had its unit attention.
    resets_reported: Rc<Cell<u64>>,
    /// Lie that the unit tells: it answers GOOD, but does something else.
    lie: Rc<Cell<Option<Lie>>>,
    /// Sources of EXTENDED COPY by designator.
    sources: Vec<([u8; 16], Rc<MemoryUnit>)>,
}

impl fmt::Debug for MemoryDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDevice")
            .field("host", &self.host)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

impl MemoryDevice {
    /// Creates a host's path to a unit of `blocks` blocks that has every primitive; the designator
    /// is made of `number`.
    pub fn new(unit: &Rc<MemoryUnit>, host: u32, number: u8, blocks: u64) -> Self {
        let naa = [0x60 | number; 16];
        let limits = Limits {
            compare_and_write: 1,
            write_same: 8192,
            unmap: 65_536,
            unmap_descriptors: 4,
            unmap_granularity: 1,
            copy_segment: 2048,
            copy_segments: 4,
        };
        Self {
            unit: unit.clone(),
            host,
            identity: Identity { blocks, block_bytes: BLOCK_BYTES, naa: Some(naa), array: "MEMORY".into(), limits },
            delay: None,
            alive: Rc::new(Cell::new(true)),
            commands_left: Rc::default(),
            space: None,
            refuses_unmap: Rc::default(),
            resets_reported: Rc::new(Cell::new(unit.resets.get())),
            lie: Rc::default(),
            sources: vec![(naa, unit.clone())],
        }
    }

    /// Changes the announced identity of the unit.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Identity)) -> Self {
        change(&mut self.identity);
        self
    }

    /// Sets whether the unit refuses UNMAP with INVALID FIELD IN PARAMETER LIST although it
    /// announces it.
    pub fn refuse_unmap(&self, refuse: bool) {
        self.refuses_unmap.set(refuse);
    }

    /// Sets the lie that the unit tells, or makes it honest; applies to all clones of this path.
    pub fn set_lie(&self, lie: Option<Lie>) {
        self.lie.set(lie);
    }

    /// Lie that the unit tells.
    pub fn lie(&self) -> Option<Lie> {
        self.lie.get()
    }

    fn lies(&self, lie: Lie) -> bool {
        self.lie.get() == Some(lie)
    }

    /// Adds a delay in the middle of every command.
    #[must_use]
    pub fn with_delay(mut self, delay: Delay) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Lets EXTENDED COPY read from another unit of the array.
    #[must_use]
    pub fn with_source(mut self, other: &Self) -> Self {
        self.sources.extend(other.identity.naa.map(|naa| (naa, other.unit.clone())));
        self
    }

    /// Limits the unit's space in blocks: WRITE and EXTENDED COPY fail with [`DeviceError::Full`]
    /// when it is used up.
    #[must_use]
    pub fn with_space(mut self, blocks: usize) -> Self {
        self.space = Some(blocks);
        self
    }

    /// Cuts the host off before the command after the next `commands`.
    pub fn cut_after(&self, commands: u64) {
        self.commands_left.set(Some(commands));
    }

    /// The medium.
    pub fn unit(&self) -> &Rc<MemoryUnit> {
        &self.unit
    }

    /// Cuts the host off: commands in flight may or may not take effect, later ones do not.
    pub fn cut(&self) {
        self.alive.set(false);
        self.unit.forget_host(self.host);
    }

    async fn wait(&self) -> Result<(), DeviceError> {
        if let Some(delay) = &self.delay {
            delay().await;
        }
        match self.alive.get() {
            true => Ok(()),
            false => Err(DeviceError::Lost("the host is cut off".into())),
        }
    }

    async fn begin(&self, extents: &[Extent], command: &'static str) -> Result<(), DeviceError> {
        // Sent again after the unit attention.
        match self.begin_once(extents, command).await {
            Ok(true) => Ok(()),
            Ok(false) => self.begin_once(extents, command).await.map(drop),
            Err(error) => Err(error),
        }
    }

    /// Like [`Self::begin`], for a command that is not sent again.
    async fn begin_reserved(&self, extents: &[Extent], command: &'static str) -> Result<(), DeviceError> {
        match self.begin_once(extents, command).await? {
            true => Ok(()),
            false => Err(DeviceError::ReservationConflict),
        }
    }

    /// Returns false for a unit attention.
    async fn begin_once(&self, extents: &[Extent], command: &'static str) -> Result<bool, DeviceError> {
        if self.lie.get().is_some_and(|lie| lie.refuses(command)) {
            // INVALID COMMAND OPERATION CODE
            return Err(DeviceError::Refused { command, sense: Sense { key: 5, code: 0x20, qualifier: 0 } });
        }
        if let Some(left) = self.commands_left.get() {
            self.commands_left.set(Some(left.saturating_sub(1)));
            if left == 0 {
                self.cut();
            }
        }
        self.wait().await?;
        self.unit.commands.set(self.unit.commands.get() + 1);
        self.unit.catch_up();
        let resets = self.unit.resets.get();
        if self.resets_reported.replace(resets) != resets {
            return Ok(false);
        }
        if self.unit.reserved_by.get().is_some_and(|host| host != self.host) {
            return Err(DeviceError::ReservationConflict);
        }
        let outside = |extent: &Extent| extent.lba.saturating_add(extent.blocks) > self.identity.blocks;
        if extents.iter().any(outside) {
            // LOGICAL BLOCK ADDRESS OUT OF RANGE
            return Err(DeviceError::Refused { command, sense: Sense { key: 5, code: 0x21, qualifier: 0 } });
        }
        Ok(true)
    }

    fn has_space(&self) -> Result<(), DeviceError> {
        match self.space {
            Some(space) if self.unit.allocated() >= space => Err(DeviceError::Full),
            _ => Ok(()),
        }
    }

    fn supports(announced: u64, command: &'static str) -> Result<(), DeviceError> {
        if announced == 0 { Err(DeviceError::NotSupported(command)) } else { Ok(()) }
    }
}

fn blocks_of(data: &Bytes) -> u64 {
    data.len() as u64 / u64::from(BLOCK_BYTES)
}

impl Device for MemoryDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.begin(&[extent], "READ").await?;
        let data = self.as_read(self.unit.get(extent));
        self.wait().await?;
        Ok(data)
    }

    async fn write(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        self.begin(&[Extent { lba, blocks: blocks_of(&data) }], "WRITE").await?;
        self.has_space()?;
        self.take(lba, &data);
        self.wait().await
    }

    async fn compare_and_write(&self, lba: u64, expected: Bytes, new: Bytes) -> Result<Compared, DeviceError> {
        Self::supports(self.identity.limits.compare_and_write.into(), "COMPARE AND WRITE")?;
        let extent = Extent { lba, blocks: blocks_of(&expected) };
        self.begin(&[extent], "COMPARE AND WRITE").await?;
        let equal = self.compare(extent, &expected, new);
        self.wait().await?;
        Ok(if equal { Compared::Written } else { Compared::Miscompare })
    }

    async fn write_zeros(&self, extent: Extent, _unmap: bool) -> Result<(), DeviceError> {
        Self::supports(self.identity.limits.write_same, "WRITE SAME")?;
        self.begin(&[extent], "WRITE SAME").await?;
        self.zero(extent);
        self.wait().await
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), DeviceError> {
        Self::supports(self.identity.limits.unmap, "UNMAP")?;
        self.begin(extents, "UNMAP").await?;
        if self.refuses_unmap.get() || extents.len() > 4095 {
            let sense = Sense { key: 5, code: 0x26, qualifier: 0 };
            return Err(DeviceError::Refused { command: "UNMAP", sense });
        }
        for extent in extents {
            self.discard(*extent);
        }
        self.wait().await
    }

    async fn extended_copy(&self, source: &[u8; 16], segments: &[CopyDescriptor]) -> Result<(), DeviceError> {
        Self::supports(self.identity.limits.copy_segments.into(), "EXTENDED COPY")?;
        let to: Vec<_> = segments
            .iter()
            .map(|segment| Extent { lba: segment.destination_lba, blocks: segment.blocks.into() })
            .collect();
        self.begin(&to, "EXTENDED COPY").await?;
        let Some((_, from)) = self.sources.iter().find(|(naa, _)| naa == source) else {
            // COPY TARGET DEVICE NOT REACHABLE
            return Err(DeviceError::Refused {
                command: "EXTENDED COPY",
                sense: Sense { key: 0xa, code: 0x0d, qualifier: 2 },
            });
        };
        self.has_space()?;
        for segment in segments {
            self.copy(from, segment);
        }
        self.wait().await
    }

    /// Not supported by a unit without UNMAP.
    async fn lba_status(&self, lba: u64) -> Result<Vec<LbaStatus>, DeviceError> {
        Self::supports(self.identity.limits.unmap, "GET LBA STATUS")?;
        self.begin(&[Extent { lba, blocks: 1 }], "GET LBA STATUS").await?;
        let found = self.status(lba);
        self.wait().await?;
        Ok(found)
    }

    async fn reserve(&self) -> Result<(), DeviceError> {
        self.begin(&[], "RESERVE").await?;
        if !self.lies(Lie::ReserveNothing) {
            self.unit.reserved_by.set(Some(self.host));
        }
        self.wait().await
    }

    async fn release(&self) -> Result<(), DeviceError> {
        self.wait().await?;
        self.unit.forget_host(self.host);
        self.wait().await
    }

    async fn read_reserved(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.begin_reserved(&[extent], "READ").await?;
        let data = self.unit.get(extent);
        self.wait().await?;
        Ok(data)
    }

    async fn write_reserved(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        self.begin_reserved(&[Extent { lba, blocks: blocks_of(&data) }], "WRITE").await?;
        self.has_space()?;
        self.unit.poke(lba, &data);
        self.wait().await
    }

    async fn reset(&self) -> Result<(), DeviceError> {
        self.wait().await?;
        self.unit.reserved_by.set(None);
        self.unit.resets.set(self.unit.resets.get() + 1);
        self.wait().await
    }
}
