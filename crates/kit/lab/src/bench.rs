//! The bench that every case works with: logical units cut into places, hosts, the scale, rounds of
//! off and on, disks filled and verified.

use crate::case::Primitive;
use crate::content::{self, Base, Ledger};
use crate::device::{Place, Unit};
use crate::error::LabError;
use crate::host::{Connection, Disk, Host, Store};
use crate::outcome::{Outcome, Side};
use crate::runner::Watch;
use crate::scale::Size;
use crate::space::{self, Space};
use data_mover::{Clock, DataMover, DeviceError, Extent, Identity, Settings};
use datastore::{DiskFormat, DiskOptions, FormatOptions};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;

/// Bytes of one read or write when a disk is filled or verified.
const STEP_BYTES: u64 = 512 * KIB;
/// Number of such reads or writes in flight.
const STEP_DEPTH: usize = 8;
/// Time that an array may take to account for freed space, and the period of checks.
const SETTLE: Duration = Duration::from_secs(10);
const SETTLE_STEP: Duration = Duration::from_millis(100);

/// Connects a host, given by its number, to the logical units of the run.
pub(crate) type Connect = Box<dyn Fn(u32) -> LocalBoxFuture<'static, Result<Connection, LabError>>>;

/// Everything that a case works with.
pub(crate) struct Bench {
    pub(crate) clock: Rc<dyn Clock>,
    pub(crate) size: Size,
    pub(crate) pairs: u32,
    /// Identities of the logical units.
    pub(crate) units: Vec<Identity>,
    pub(crate) watch: Rc<dyn Watch>,
    connect: Connect,
    connections: RefCell<BTreeMap<u32, Rc<Connection>>>,
    designators: Rc<Vec<Option<[u8; 16]>>>,
    needs: Cell<&'static [Primitive]>,
    seeds: Cell<u64>,
}

impl Bench {
    pub(crate) fn new(
        clock: Rc<dyn Clock>,
        units: Vec<Identity>,
        connect: Connect,
        (size, pairs): (Size, u32),
        watch: Rc<dyn Watch>,
    ) -> Self {
        let designators = Rc::new(units.iter().map(|unit| unit.naa).collect());
        Self {
            clock,
            size,
            pairs,
            units,
            watch,
            connect,
            connections: RefCell::default(),
            designators,
            needs: Cell::new(&[]),
            seeds: Cell::new(1),
        }
    }

    /// Begins a case: sets the primitives that the off side does without, and records which side
    /// cannot run on these units.
    pub(crate) async fn begin(
        &self,
        needs: &'static [Primitive],
        second_unit: bool,
        outcome: &mut Outcome,
    ) -> Result<(), LabError> {
        self.needs.set(needs);
        let used = if second_unit { self.units.len() } else { 1 };
        for unit in self.units.iter().take(used) {
            let missing = needs.iter().find_map(|need| need.missing(&unit.limits, unit.naa.is_some()));
            outcome.no_on = outcome.no_on.take().or(missing.map(str::to_owned));
        }
        // Without COMPARE AND WRITE every lock is a reservation.
        let reserves = needs.contains(&Primitive::Locking)
            || self.units.iter().take(used).any(|unit| unit.limits.compare_and_write == 0);
        if reserves && let Err(error) = self.try_reserve(used).await {
            if error.is_gone() {
                return Err(error);
            }
            let why = format!("the logical unit does not support RESERVE ({error})");
            match needs.contains(&Primitive::Locking) {
                true => outcome.no_off = Some(why),
                false => outcome.impossible = Some(format!("no locking works: no COMPARE AND WRITE, and {why}")),
            }
        }
        if outcome.no_on.is_some() && outcome.no_off.is_some() {
            outcome.impossible = Some("neither side can run on this logical unit".into());
        }
        Ok(())
    }

    async fn try_reserve(&self, units: usize) -> Result<(), LabError> {
        let host = self.connection(1).await?;
        for unit in host.units.iter().take(units) {
            match unit.reserve().await {
                // The reservation of a session that is gone: the unit belongs to the laboratory.
                // (istgt keeps such reservations.)
                Err(DeviceError::ReservationConflict) => {
                    unit.reset().await?;
                    unit.reserve().await?;
                }
                reserved => reserved?,
            }
            unit.release().await?;
        }
        Ok(())
    }

    /// Rounds in their order: each side once per pair, with the first side alternating. A side that
    /// cannot run is left out. The observer hears of each when it begins.
    pub(crate) fn rounds<'a>(&'a self, outcome: &Outcome) -> impl Iterator<Item = (u32, Side)> + use<'a> {
        let runs = |side: &Side| match side {
            Side::Off => outcome.no_off.is_none(),
            Side::On => outcome.no_on.is_none(),
        };
        (0..self.pairs.max(1))
            .flat_map(|pair| {
                let order = if pair % 2 == 0 { [Side::Off, Side::On] } else { [Side::On, Side::Off] };
                order.into_iter().filter(runs).map(move |side| (pair, side))
            })
            .collect::<Vec<_>>()
            .into_iter()
            .inspect(|(pair, side)| self.watch.round(pair + 1, *side))
    }

    /// Bytes sent and received so far by the hosts, over the sessions that they have.
    pub(crate) fn wire_bytes(&self) -> u64 {
        let counters = self.connections().into_iter().map(|connection| connection.counters());
        counters.map(|of| of.sent_bytes + of.received_bytes).sum()
    }

    async fn connection(&self, number: u32) -> Result<Rc<Connection>, LabError> {
        let known = self.connections.borrow().get(&number).cloned();
        if let Some(connection) = known.filter(|connection| connection.is_up()) {
            return Ok(connection);
        }
        self.log_in(number).await
    }

    /// Gives a host new sessions. Its old ones stay its own until then.
    async fn log_in(&self, number: u32) -> Result<Rc<Connection>, LabError> {
        let connection = Rc::new((self.connect)(number).await?);
        let same =
            |unit: &Unit, known: &Identity| (unit.identity().naa, unit.identity().blocks) == (known.naa, known.blocks);
        if !connection.units.iter().zip(&self.units).all(|(unit, known)| same(unit, known)) {
            return Err(LabError::Unsuitable("after the reconnection another logical unit has this address".into()));
        }
        self.connections.borrow_mut().insert(number, connection.clone());
        Ok(connection)
    }

    /// Creates a host, numbered from 1, with the switches of a side.
    pub(crate) async fn host(&self, number: u32, side: Side) -> Result<Host, LabError> {
        let mut settings = Settings::default();
        if side == Side::Off {
            for need in self.needs.get() {
                need.switch_off(&mut settings);
            }
        }
        Ok(Host {
            name: format!("lab-host-{number}"),
            mover: Rc::new(DataMover::new(settings, self.clock.clone())),
            connection: self.connection(number).await?,
            designators: self.designators.clone(),
            unmap: side == Side::On || !self.needs.get().contains(&Primitive::Unmap),
        })
    }

    /// Hosts 1 to `count`.
    pub(crate) async fn hosts(&self, count: u32, side: Side) -> Result<Vec<Host>, LabError> {
        let mut hosts = Vec::new();
        for number in 1..=count {
            hosts.push(self.host(number, side).await?);
        }
        Ok(hosts)
    }

    /// Reconnects hosts whose sessions are lost: the array closed them or was restarted, or the
    /// host lost its lease of a datastore.
    pub(crate) async fn reconnect(&self) -> Result<(), LabError> {
        let known: Vec<(u32, Rc<Connection>)> =
            self.connections.borrow().iter().map(|(number, connection)| (*number, connection.clone())).collect();
        for (number, connection) in known {
            if !connection.is_up() || !connection.answers().await {
                self.log_in(number).await?;
            }
        }
        Ok(())
    }

    /// All sessions of the run, to be ended.
    pub(crate) fn connections(&self) -> Vec<Rc<Connection>> {
        self.connections.borrow().values().cloned().collect()
    }

    /// The whole first logical unit.
    pub(crate) fn whole(&self) -> Place {
        Place { unit: 0, first: 0, blocks: self.units.first().map_or(0, |unit| unit.blocks) }
    }

    /// Two places for two datastores: two logical units, or two halves of the only one.
    pub(crate) fn two_places(&self, outcome: &mut Outcome) -> (Place, Place) {
        let first = self.whole();
        if let Some(unit) = self.units.get(1) {
            return (first, Place { unit: 1, first: 0, blocks: unit.blocks });
        }
        outcome.note("both datastores are on one logical unit; a second URL gives each its own");
        // Halves are aligned to 8 MiB.
        let half = (first.blocks / 2) & !0x3fff;
        (Place { blocks: half, ..first }, Place { first: half, blocks: first.blocks - half, ..first })
    }

    /// Bytes that files may take on a place.
    pub(crate) fn room(&self, place: Place) -> u64 {
        let block_bytes = self.units.get(place.unit).map_or(512, |unit| u64::from(unit.block_bytes));
        // Without the datastore's own tables, and with a reserve.
        (place.blocks * block_bytes).saturating_sub(32 * MIB) / 100 * 97
    }

    /// Size of a disk: that of the scale, or less if the place has no room for `disks` such disks.
    /// A multiple of 1 MiB, and at least 1 MiB.
    ///
    /// Errors: [`LabError::Impossible`] when there is no room.
    pub(crate) fn fit(
        &self,
        outcome: &mut Outcome,
        (small, paper): (u64, u64),
        place: Place,
        disks: f64,
    ) -> Result<u64, LabError> {
        self.fit_bytes(outcome, self.size.bytes(small, paper), place, disks)
    }

    /// Like [`Self::fit`], for a disk of `wanted` bytes.
    pub(crate) fn fit_bytes(
        &self,
        outcome: &mut Outcome,
        wanted: u64,
        place: Place,
        disks: f64,
    ) -> Result<u64, LabError> {
        let room = self.room(place) as f64 / disks;
        // Far below 2^53.
        let fits = (room as u64).min(wanted) / MIB * MIB;
        if fits < MIB {
            return Err(LabError::Impossible("the logical unit is too small for this case".into()));
        }
        if fits < wanted {
            let (fits, wanted) = (text::size::format(fits), text::size::format(wanted));
            outcome.note(format!("the disk has {fits} instead of {wanted}: the logical unit has no room for more"));
        }
        Ok(fits)
    }

    /// Returns a seed that no other disk of this run has.
    pub(crate) fn seed(&self) -> u64 {
        let seed = self.seeds.get();
        self.seeds.set(seed + 1);
        seed << 20 | 0x1ab
    }

    /// Shows the current step to the user.
    pub(crate) fn say(&self, words: &str) {
        self.watch.step(words);
    }

    /// Returns a callback that shows the progress of a step over `total` bytes.
    pub(crate) fn progress(&self, total: u64) -> impl Fn(u64) + use<> {
        let watch = self.watch.clone();
        let done = Cell::new(0);
        move |bytes| {
            done.set(done.get() + bytes);
            watch.progress(done.get(), total);
        }
    }

    /// Creates a datastore on a place, and unmaps the place first if the array can.
    pub(crate) async fn datastore(
        &self,
        host: &Host,
        place: Place,
        options: FormatOptions,
    ) -> Result<Rc<Store>, LabError> {
        self.unmap(place).await?;
        host.format(place, &options).await?;
        host.mount(place).await
    }

    /// Like [`Self::datastore`], created by the first of some hosts and mounted by all, in their
    /// order.
    pub(crate) async fn shared_datastore(
        &self,
        hosts: &[Host],
        place: Place,
        options: FormatOptions,
    ) -> Result<Vec<Rc<Store>>, LabError> {
        let mut stores = Vec::with_capacity(hosts.len());
        for host in hosts {
            stores.push(match stores.is_empty() {
                true => self.datastore(host, place, options.clone()).await?,
                false => host.mount(place).await?,
            });
        }
        Ok(stores)
    }

    /// Unmaps a place.
    pub(crate) async fn unmap(&self, place: Place) -> Result<(), LabError> {
        let host = self.host(1, Side::On).await?;
        host.mover.unmap(&*host.slice(place)?, &[Extent { lba: 0, blocks: place.blocks }]).await?;
        Ok(())
    }

    /// Whether the unit of a place has UNMAP. Without it, blocks of earlier rounds stay mapped, and
    /// the numbers mean nothing.
    pub(crate) fn can_free(&self, place: Place) -> bool {
        self.units.get(place.unit).is_some_and(|unit| unit.limits.unmap > 0)
    }

    /// Space that a place takes, as the array reports it.
    pub(crate) async fn space(&self, place: Place) -> Result<Space, LabError> {
        let connection = self.connection(1).await?;
        match connection.units.get(place.unit) {
            Some(unit) => Ok(space::space(unit, place).await?),
            None => Ok(Space::default()),
        }
    }

    /// Like [`Self::space`], once the numbers are stable: arrays free space in the background.
    pub(crate) async fn settled_space(&self, place: Place) -> Result<Space, LabError> {
        let deadline = self.clock.now() + SETTLE;
        let mut last = self.space(place).await?;
        let mut same = 0;
        while same < 3 && !last.is_unknown() && self.clock.now() < deadline {
            self.clock.sleep(SETTLE_STEP).await;
            let now = self.space(place).await?;
            same = if now == last { same + 1 } else { 0 };
            last = now;
        }
        Ok(last)
    }

    /// Whether unmapped blocks read as zeros on the first logical unit.
    pub(crate) async fn reads_zeros(&self) -> Result<bool, LabError> {
        let connection = self.connection(1).await?;
        Ok(connection.units.first().is_some_and(Unit::reads_zeros))
    }

    /// Creates a disk filled with `base`, and leaves it open.
    pub(crate) async fn filled(
        &self,
        store: &Rc<Store>,
        (name, format, size): (&str, DiskFormat, u64),
        base: Base,
    ) -> Result<(Disk, Ledger), LabError> {
        let disk = store.create_open(name, DiskOptions { format, size }, &|_| ()).await?;
        self.fill(&disk, base).await?;
        Ok((disk, Ledger::new(self.seed(), base)))
    }

    /// Writes the data of `base`, and skips its zeros.
    pub(crate) async fn fill(&self, disk: &Disk, base: Base) -> Result<(), LabError> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < disk.size() {
            let (expected, length) = base.at(at);
            let length = length.min(disk.size() - at);
            if let content::Expected::Stamped { seed, .. } = expected {
                let steps = (0..length).step_by(usize::try_from(STEP_BYTES).unwrap_or(usize::MAX));
                pieces.extend(steps.map(|from| (seed, at + from, STEP_BYTES.min(length - from))));
            }
            at += length;
        }
        let progress = self.progress(pieces.iter().map(|(_, _, bytes)| bytes).sum());
        let writes = stream::iter(pieces).map(Ok::<_, LabError>);
        writes
            .try_for_each_concurrent(STEP_DEPTH, |(seed, offset, bytes)| {
                let progress = &progress;
                async move {
                    disk.write(offset, content::stamped(seed, offset, bytes, 0)).await?;
                    progress(bytes);
                    Ok(())
                }
            })
            .await
    }

    /// Reads all of a disk, and compares it with its expected content.
    ///
    /// Errors: [`LabError::WrongData`].
    pub(crate) async fn verify(&self, disk: &Disk, ledger: &Ledger) -> Result<(), LabError> {
        let size = disk.size();
        let progress = self.progress(size);
        let steps = (0..size.div_ceil(STEP_BYTES)).map(|step| step * STEP_BYTES);
        let reads = stream::iter(steps).map(Ok::<_, LabError>);
        reads
            .try_for_each_concurrent(STEP_DEPTH, |offset| {
                let progress = &progress;
                async move {
                    let bytes = STEP_BYTES.min(size - offset);
                    let data = disk.read(offset, bytes).await?;
                    ledger.check(offset, &data)?;
                    progress(bytes);
                    Ok(())
                }
            })
            .await
    }

    /// Opens a copied disk and compares it: a difference is a failed check and not an error.
    pub(crate) async fn check_disk(
        &self,
        outcome: &mut Outcome,
        store: &Rc<Store>,
        name: &str,
        ledger: &Ledger,
    ) -> Result<(), LabError> {
        self.say("comparing every byte");
        let disk = store.open(name).await?;
        let verified = self.verify(&disk, ledger).await;
        disk.close().await?;
        match verified {
            Err(LabError::WrongData(words)) => {
                outcome.fail(format!("{name} has wrong content: {words}"));
                Ok(())
            }
            other => other,
        }
    }

    /// Checks the metadata of a datastore.
    pub(crate) async fn check_store(&self, outcome: &mut Outcome, store: &Rc<Store>) -> Result<(), LabError> {
        let report = store.check().await?;
        for problem in report.problems.into_iter().take(5) {
            outcome.fail(format!("datastore check: {problem}"));
        }
        Ok(())
    }
}

/// Options of a datastore for few files, whose tables are read quickly.
pub(crate) fn few_files() -> FormatOptions {
    FormatOptions { name: "windlass-lab".into(), hosts: 16, files: 64, ..FormatOptions::default() }
}

/// A part of a size: `size / of` in whole mebibytes, at least 1 MiB and at most `most`.
pub(crate) fn part(size: u64, of: u64, most: u64) -> u64 {
    (size / of / MIB * MIB).clamp(MIB, most)
}

/// Place of a datastore's blocks, without its tables.
pub(crate) fn data_of(place: Place, store: &Store) -> Place {
    let geometry = store.geometry();
    let blocks = u64::from(geometry.blocks) * u64::from(geometry.block_sectors);
    Place { first: place.first + geometry.sectors() - blocks, blocks, ..place }
}
