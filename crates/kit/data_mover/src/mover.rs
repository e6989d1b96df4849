//! The data mover: copies, zeros and frees, by the array if it can, else by reading and writing.

use crate::clock::Clock;
use crate::device::{CopyDescriptor, Device, DeviceError, Extent};
use crate::foreground::{Foreground, Outstanding, Turn};
use crate::lock::StandingReservation;
use crate::range_lock::RangeLock;
use crate::settings::Settings;
use crate::tally::{Moved, Reason, Tally};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::rc::Rc;

/// Largest WRITE SAME in bytes, if the unit takes that much: the unit of work of VMware's data
/// mover.
const ZERO_BYTES: u64 = 32 << 20;
/// Largest number of descriptors of an UNMAP: more do not fit the parameter list, whose length has
/// 16 bits (SBC-4 §5.35).
const UNMAP_DESCRIPTORS: usize = 4095;

/// Data mover of a host, for all of its devices.
pub struct DataMover {
    settings: Cell<Settings>,
    clock: Rc<dyn Clock>,
    pub(crate) tally: RefCell<Tally>,
    /// Locks for updates under reservations, by designator. A reservation belongs to the host and
    /// not to a task, so one update at a time runs under one. Units without a designator share a
    /// lock.
    reserving: RefCell<BTreeMap<Option<[u8; 16]>, Rc<RangeLock>>>,
    /// Reservations of other hosts, by their scope.
    pub(crate) standing: RefCell<BTreeMap<Option<[u8; 16]>, StandingReservation>>,
    pub(crate) foreground: Foreground,
    /// Set when copies and zeroing must end.
    interrupted: Cell<bool>,
}

impl fmt::Debug for DataMover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataMover")
            .field("settings", &self.settings)
            .field("tally", &self.tally)
            .finish_non_exhaustive()
    }
}

/// Splits a run of blocks into steps of at most `step`: (first, length).
fn steps(blocks: u64, step: u64) -> impl Iterator<Item = (u64, u64)> {
    let step = step.max(1);
    (0..blocks.div_ceil(step)).map(move |index| (index * step, step.min(blocks - index * step)))
}

/// Runs the steps with `depth` in flight. After the first error no further step begins, and steps
/// that have begun are awaited: the caller may free the blocks, and nothing may land there
/// afterwards.
async fn in_flight<F: Future<Output = Result<(), DeviceError>>>(
    depth: usize,
    work: impl Iterator<Item = F>,
) -> Result<(), DeviceError> {
    let failed = RefCell::new(None);
    let steps = stream::iter(work.take_while(|_| failed.borrow().is_none()));
    let finish = |step: F| {
        let failed = &failed;
        async move {
            if let Err(error) = step.await {
                failed.borrow_mut().get_or_insert(error);
            }
        }
    };
    steps.for_each_concurrent(depth.max(1), finish).await;
    failed.into_inner().map_or(Ok(()), Err)
}

impl DataMover {
    /// Creates a data mover with these switches.
    pub fn new(settings: Settings, clock: Rc<dyn Clock>) -> Self {
        Self {
            settings: Cell::new(settings),
            clock,
            tally: RefCell::default(),
            reserving: RefCell::default(),
            standing: RefCell::default(),
            foreground: Foreground::default(),
            interrupted: Cell::new(false),
        }
    }

    /// Switches of the host.
    pub fn settings(&self) -> Settings {
        self.settings.get()
    }

    /// Changes the switches; operations that run continue with the old ones.
    pub fn set(&self, settings: Settings) {
        self.settings.set(settings);
    }

    /// Ends copies and zeroing, present and future, with [`DeviceError::Interrupted`] before their
    /// next command. The work of tidying up continues: frees, locks, single reads and writes.
    pub fn interrupt(&self) {
        self.interrupted.set(true);
    }

    /// Whether [`Self::interrupt`] was called.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.get()
    }

    fn check_interrupted(&self) -> Result<(), DeviceError> {
        if self.interrupted.get() { Err(DeviceError::Interrupted) } else { Ok(()) }
    }

    /// Clock of the host.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Lock for updates under a reservation of this unit.
    pub(crate) fn turns<D: Device>(&self, device: &D) -> Rc<RangeLock> {
        self.reserving.borrow_mut().entry(device.reserves()).or_default().clone()
    }

    /// Totals so far.
    pub fn tally(&self) -> Tally {
        self.tally.borrow().clone()
    }

    /// Copies blocks from one logical unit to another, or within one (the extents must not
    /// overlap). `progress` receives the bytes of each step. Steps that the array refuses are
    /// copied by the host.
    ///
    /// Errors: those of [`Device`]; blocks copied until then stay.
    pub async fn copy<D: Device>(
        &self,
        (source, source_lba): (&D, u64),
        (destination, destination_lba): (&D, u64),
        blocks: u64,
        progress: &dyn Fn(u64),
    ) -> Result<Moved, DeviceError> {
        let settings = self.settings.get();
        let block_bytes = u64::from(source.identity().block_bytes);
        let moved = RefCell::new(Moved::default());
        let refused = Cell::new(why_not_copy(source, destination, settings));
        let by_host = |lba: u64, count: u64, reason: Reason| {
            let moved = &moved;
            async move {
                let (from, to) = ((source, source_lba + lba), (destination, destination_lba + lba));
                self.copy_by_host(from, to, count, settings).await?;
                moved.borrow_mut().host(reason, count * block_bytes);
                progress(count * block_bytes);
                Ok(())
            }
        };
        if let (None, Some(naa)) = (refused.get(), source.identity().naa) {
            let limits = destination.identity().limits;
            let segment = limits.copy_segment.min(u64::from(u16::MAX)).max(1);
            let command = u64::from(settings.max_hardware_transfer_bytes) / block_bytes;
            let command = command.clamp(1, segment * u64::from(limits.copy_segments.max(1)));
            let work = steps(blocks, command).map(|(lba, count)| {
                let (moved, refused, by_host) = (&moved, &refused, &by_host);
                async move {
                    self.check_interrupted()?;
                    if let Some(reason) = refused.get() {
                        return by_host(lba, count, reason).await;
                    }
                    let segments: Vec<_> = steps(count, segment)
                        .map(|(from, blocks)| CopyDescriptor {
                            source_lba: source_lba + lba + from,
                            destination_lba: destination_lba + lba + from,
                            blocks: u16::try_from(blocks).unwrap_or(u16::MAX),
                        })
                        .collect();
                    match destination.extended_copy(&naa, &segments).await {
                        Ok(()) => {
                            moved.borrow_mut().offloaded_bytes += count * block_bytes;
                            progress(count * block_bytes);
                            Ok(())
                        }
                        Err(error) => {
                            let reason = Reason::of(&error).ok_or(error)?;
                            // The unit does not know the command: later steps do not try it.
                            if reason == Reason::NotSupported {
                                refused.set(Some(reason));
                            }
                            by_host(lba, count, reason).await
                        }
                    }
                }
            });
            in_flight(settings.depth, work).await?;
        } else if let Some(reason) = refused.get() {
            let step = u64::from(settings.software_transfer_bytes) / block_bytes * settings.depth.max(1) as u64;
            for (lba, count) in steps(blocks, step) {
                by_host(lba, count, reason).await?;
            }
        }
        let moved = moved.into_inner();
        self.tally.borrow_mut().copied.add(&moved);
        Ok(moved)
    }

    /// Zeroes blocks. Beside the I/O of guests ([`Self::guest_io`]) few WRITE SAME are outstanding,
    /// so that guests need not wait for them. With `unmap` the array may free the blocks; otherwise
    /// they stay allocated where the array distinguishes.
    pub async fn zero<D: Device>(
        &self,
        device: &D,
        extent: Extent,
        unmap: bool,
        progress: &dyn Fn(u64),
    ) -> Result<Moved, DeviceError> {
        let settings = self.settings.get();
        let identity = device.identity();
        let block_bytes = u64::from(identity.block_bytes);
        let moved = RefCell::new(Moved::default());
        let refused = Cell::new(match identity.limits.write_same {
            _ if !settings.hardware_accelerated_init => Some(Reason::SwitchedOff),
            0 => Some(Reason::NotSupported),
            _ => None,
        });
        let command = match refused.get() {
            // A unit without a stated maximum may take long for a large command.
            None if identity.limits.write_same == u64::from(u32::MAX) => {
                u64::from(settings.max_hardware_transfer_bytes) / block_bytes
            }
            None => identity.limits.write_same.min(ZERO_BYTES / block_bytes),
            Some(_) => u64::from(settings.software_transfer_bytes) / block_bytes,
        };
        let outstanding = Outstanding::default();
        let work = steps(extent.blocks, command).map(|(from, blocks)| {
            let (moved, refused, outstanding) = (&moved, &refused, &outstanding);
            let part = Extent { lba: extent.lba + from, blocks };
            async move {
                let turn = match refused.get() {
                    Some(_) => None,
                    None => Some(outstanding.turn(|| self.max_outstanding(settings.depth)).await),
                };
                self.check_interrupted()?;
                let reason = match refused.get() {
                    Some(reason) => reason,
                    None => match self.timed(turn.as_ref(), device.write_zeros(part, unmap)).await {
                        Ok(()) => {
                            moved.borrow_mut().offloaded_bytes += blocks * block_bytes;
                            progress(blocks * block_bytes);
                            return Ok(());
                        }
                        Err(error) => {
                            let reason = Reason::of(&error).ok_or(error)?;
                            if reason == Reason::NotSupported {
                                refused.set(Some(reason));
                            }
                            reason
                        }
                    },
                };
                drop(turn);
                self.zero_by_host(device, part, settings).await?;
                moved.borrow_mut().host(reason, blocks * block_bytes);
                progress(blocks * block_bytes);
                Ok(())
            }
        });
        in_flight(settings.depth, work).await?;
        let moved = moved.into_inner();
        self.tally.borrow_mut().zeroed.add(&moved);
        Ok(moved)
    }

    /// Frees blocks on the array. Returns the bytes for which UNMAP was sent; 0 when the unit has
    /// no UNMAP.
    pub async fn unmap<D: Device>(&self, device: &D, extents: &[Extent]) -> Result<u64, DeviceError> {
        self.unmap_by(device, extents, false).await
    }

    /// Like [`Self::unmap`], as a hint: a refusal is no error, and is counted in
    /// [`Tally::not_unmapped`].
    pub async fn unmap_as_hint<D: Device>(&self, device: &D, extents: &[Extent]) -> Result<u64, DeviceError> {
        self.unmap_by(device, extents, true).await
    }

    async fn unmap_by<D: Device>(&self, device: &D, extents: &[Extent], advice: bool) -> Result<u64, DeviceError> {
        let settings = self.settings.get();
        let identity = device.identity();
        let limits = identity.limits;
        if limits.unmap == 0 || limits.unmap_descriptors == 0 {
            return Ok(0);
        }
        let pieces = extents.iter().flat_map(|extent| {
            let lba = extent.lba;
            steps(extent.blocks, limits.unmap).map(move |(from, blocks)| Extent { lba: lba + from, blocks })
        });
        // Limits of a command: number of descriptors, and number of blocks in all.
        let most = (limits.unmap_descriptors as usize).min(UNMAP_DESCRIPTORS);
        let mut pieces = pieces.peekable();
        // Built one by one as they are sent: a large unit may need very many.
        let commands = std::iter::from_fn(|| {
            let mut room = limits.unmap;
            let mut command = Vec::new();
            while let Some(piece) = pieces.next_if(|piece| command.len() < most && piece.blocks <= room) {
                room -= piece.blocks;
                command.push(piece);
            }
            (!command.is_empty()).then_some(command)
        });
        let unmapped = Cell::new(0);
        let work = commands.map(|extents| {
            let unmapped = &unmapped;
            async move {
                let blocks = extents.iter().map(|extent| extent.blocks).sum::<u64>();
                match device.unmap(&extents).await {
                    Ok(()) => unmapped.set(unmapped.get() + blocks),
                    Err(DeviceError::NotSupported(_)) => {}
                    Err(error) => match Reason::of_advice(&error).filter(|_| advice) {
                        Some(reason) => {
                            let mut tally = self.tally.borrow_mut();
                            *tally.not_unmapped.entry(reason).or_default() += blocks * u64::from(identity.block_bytes);
                        }
                        None => return Err(error),
                    },
                }
                Ok(())
            }
        });
        in_flight(settings.depth, work).await?;
        let bytes = unmapped.get() * u64::from(identity.block_bytes);
        self.tally.borrow_mut().unmapped_bytes += bytes;
        Ok(bytes)
    }

    async fn copy_by_host<D: Device>(
        &self,
        (source, source_lba): (&D, u64),
        (destination, destination_lba): (&D, u64),
        blocks: u64,
        settings: Settings,
    ) -> Result<(), DeviceError> {
        let step = u64::from(settings.software_transfer_bytes) / u64::from(source.identity().block_bytes);
        let work = steps(blocks, step).map(|(from, blocks)| async move {
            self.check_interrupted()?;
            let data = source.read(Extent { lba: source_lba + from, blocks }).await?;
            destination.write(destination_lba + from, data).await
        });
        in_flight(settings.depth, work).await
    }

    /// Awaits a WRITE SAME, and records the array's time for it.
    async fn timed(
        &self,
        turn: Option<&Turn<'_>>,
        command: impl Future<Output = Result<(), DeviceError>>,
    ) -> Result<(), DeviceError> {
        let (begun, outstanding) = (self.clock().now(), turn.map_or(1, Turn::outstanding));
        let done = command.await;
        if done.is_ok() {
            self.record_service_time(self.clock().now().saturating_sub(begun), outstanding);
        }
        done
    }

    /// Counts zeros that the caller has written itself, and why.
    pub fn zeroed_by_host(&self, reason: Reason, bytes: u64) {
        let mut moved = Moved::default();
        moved.host(reason, bytes);
        self.tally.borrow_mut().zeroed.add(&moved);
    }

    async fn zero_by_host<D: Device>(&self, device: &D, extent: Extent, settings: Settings) -> Result<(), DeviceError> {
        let block_bytes = device.identity().block_bytes;
        let step = settings.software_transfer_bytes / block_bytes;
        let zeros = Bytes::from(vec![0; (step.max(1) * block_bytes) as usize]);
        let work = steps(extent.blocks, u64::from(step)).map(|(from, blocks)| {
            let data = zeros.slice(..usize::try_from(blocks * u64::from(block_bytes)).unwrap_or(0));
            async move {
                self.check_interrupted()?;
                device.write(extent.lba + from, data).await
            }
        });
        in_flight(settings.depth, work).await
    }
}

fn why_not_copy<D: Device>(source: &D, destination: &D, settings: Settings) -> Option<Reason> {
    let (from, to) = (source.identity(), destination.identity());
    if !settings.hardware_accelerated_move {
        Some(Reason::SwitchedOff)
    } else if from.block_bytes != to.block_bytes {
        Some(Reason::DifferentBlockLength)
    } else if from.array != to.array {
        Some(Reason::DifferentArray)
    } else if from.naa.is_none() || to.naa.is_none() {
        Some(Reason::NoDesignator)
    } else if to.limits.copy_segments == 0 || to.limits.copy_segment == 0 {
        Some(Reason::NotSupported)
    } else {
        None
    }
}
