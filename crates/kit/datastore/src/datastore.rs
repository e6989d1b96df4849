//! A datastore as one host has it mounted.

use crate::error::DatastoreError;
use crate::format::{Header, Heartbeat, Lock, Owner, VERSION, label, text};
use crate::geometry::{Geometry, HEADER};
use crate::heartbeat::{Observed, PERIOD};
use crate::sector::{self, Loaded, SECTOR_BYTES};
use crate::store::Store;
use data_mover::{DataMover, Device, DeviceError, Extent, Patient};
use futures_util::lock::Mutex;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;
use uuid::Uuid;
use zerocopy::FromZeros;

/// Who mounts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// For people: at most 64 bytes are kept.
    pub name: String,
}

/// How to make one.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// For people: at most 64 bytes are kept.
    pub name: String,
    /// Bytes in a block: a power of two from 64 KiB to 64 MiB.
    pub block_bytes: u64,
    /// Hosts at a time.
    pub hosts: u32,
    /// Files at most.
    pub files: u32,
    /// Overwrite what is there.
    pub force: bool,
}

impl Default for FormatOptions {
    fn default() -> Self {
        Self { name: "datastore".into(), block_bytes: 1 << 20, hosts: 64, files: 2048, force: false }
    }
}

/// A heartbeat slot that a host has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its number.
    pub number: u32,
    /// Name of the host.
    pub host: String,
    /// Renewals so far.
    pub beat: u64,
    /// When it was last renewed by the host's clock, in seconds since 1970.
    pub renewed: u64,
    /// Locks of files that it holds.
    pub locks: u64,
}

/// Between two looks at the heartbeats: a little more than their period.
const LOOK: Duration = Duration::from_millis(3500);
/// How long a lock is waited for before the host's user is told.
pub(crate) const TOLD_AFTER: Duration = Duration::from_secs(1);

/// Hears what is waited for: the name of a file, and the host that has its lock.
pub type Told = Box<dyn Fn(&str, &str)>;

/// How long a command is sent again while other hosts have the logical unit reserved.
const RESERVATION_PATIENCE: Duration = Duration::from_secs(60);

/// See the module. One task at a time may do what it likes with it; several may share it.
pub struct Datastore<D> {
    pub(crate) store: Store<D>,
    pub(crate) host: Host,
    pub(crate) owner: Owner,
    pub(crate) observed: Observed,
    /// Sector of the allocation table where this host looks first.
    pub(crate) allocate_at: Cell<u32>,
    /// One task of the host allocates at a time.
    pub(crate) allocating: Mutex<()>,
    /// One task of this host at a time has the lock of the directory.
    pub(crate) directory: Mutex<()>,
    /// Files whose lock a task of this host has.
    pub(crate) open: RefCell<HashSet<u32>>,
    /// Files of which something may be left over: it is looked for when their lock is given back.
    pub(crate) untidy: RefCell<HashSet<u32>>,
    /// Where files were found.
    pub(crate) names: RefCell<HashMap<String, u32>>,
    /// Hears of locks that are waited for.
    pub(crate) told: RefCell<Option<Told>>,
    /// `None` of a host that only looks.
    heartbeat: Mutex<Option<Loaded<Heartbeat>>>,
    header: Header,
}

impl<D> Drop for Datastore<D> {
    /// Nobody is left who could send anything: whatever else uses the device goes on.
    fn drop(&mut self) {
        self.store.lease.given_back.set(true);
    }
}

impl<D: Device> Datastore<D> {
    /// Makes a datastore of the whole logical unit. What it held is lost.
    ///
    /// Errors: [`DatastoreError::NotEmpty`] unless its first blocks are zeros or `force` is given; [`DatastoreError::Geometry`].
    pub async fn format(device: &Rc<D>, mover: &Rc<DataMover>, options: &FormatOptions) -> Result<(), DatastoreError> {
        let identity = device.identity();
        if identity.block_bytes as usize != SECTOR_BYTES {
            let words = format!("a datastore wants logical blocks of 512 bytes; these have {}", identity.block_bytes);
            return Err(DatastoreError::Geometry(words));
        }
        let geometry = Geometry::fit(identity.blocks, options.block_bytes, options.hosts, options.files)?;
        let device = Patient::new(device.clone(), mover.clone(), RESERVATION_PATIENCE);
        let first = device.read(Extent { lba: 0, blocks: 128 }).await?;
        if !options.force && first.iter().any(|byte| *byte != 0) {
            return Err(DatastoreError::NotEmpty);
        }
        let metadata = Extent { lba: 0, blocks: geometry.block_lba(0) };
        mover.zero(&device, metadata, true, &|_| ()).await?;
        let mut header = Header::new_zeroed();
        header.version = VERSION.into();
        header.uuid = Uuid::new_v4().into_bytes();
        header.name = label(&options.name);
        header.created = mover.clock().unix_seconds().into();
        header.block_sectors = geometry.block_sectors.into();
        header.blocks = geometry.blocks.into();
        header.hosts = geometry.hosts.into();
        header.files = geometry.files.into();
        let image = sector::encode(1, &header);
        // The first copy last: what is found there is whole.
        device.write(geometry.second_header(), image.clone()).await?;
        device.write(HEADER, image).await?;
        Ok(())
    }

    /// The header of a datastore.
    async fn header(device: &Patient<D>) -> Result<Header, DatastoreError> {
        let image = device.read(Extent { lba: HEADER, blocks: 1 }).await?;
        let header = match sector::decode::<Header>(HEADER, image) {
            Ok(loaded) if loaded.version == 0 => return Err(DatastoreError::NoDatastore),
            Ok(loaded) => loaded.value,
            Err(DatastoreError::Damaged { what: "it is no metadata", .. }) => return Err(DatastoreError::NoDatastore),
            Err(error) => return Err(error),
        };
        match header.version.get() {
            VERSION => Ok(header),
            other => Err(DatastoreError::Version(other)),
        }
    }

    /// The datastore on a logical unit, as far as its header tells.
    async fn found(device: Rc<D>, mover: Rc<DataMover>) -> Result<(Store<D>, Header), DatastoreError> {
        let device = Patient::new(device, mover.clone(), RESERVATION_PATIENCE);
        if device.identity().block_bytes as usize != SECTOR_BYTES {
            return Err(DatastoreError::NoDatastore);
        }
        let header = Self::header(&device).await?;
        let geometry = Geometry::of(&header, device.identity().blocks)?;
        Ok((Store::new(device, mover, geometry), header))
    }

    /// Mounts it: takes a heartbeat slot. [`Self::keep_alive`] has to run from then on. Should the heartbeat be late, the device sends nothing any
    /// more ([`Device::only_while`]).
    pub async fn mount(device: Rc<D>, mover: Rc<DataMover>, host: Host) -> Result<Rc<Self>, DatastoreError> {
        let (store, header) = Self::found(device, mover).await?;
        let observed = Observed::default();
        let (owner, heartbeat) = store.take_slot(&host.name, &observed).await?;
        store.device.only_while(store.gate());
        Ok(Self::made(store, header, host, owner, observed, Some(heartbeat)))
    }

    /// Looks at it without a heartbeat slot: lists, statistics and checks; everything that writes is refused with [`DatastoreError::Evicted`].
    pub async fn view(device: Rc<D>, mover: Rc<DataMover>) -> Result<Rc<Self>, DatastoreError> {
        let (store, header) = Self::found(device, mover).await?;
        Ok(Self::seen(store, header))
    }

    /// The same by a header that was found elsewhere, which its geometry fits.
    pub(crate) fn view_by(device: Rc<D>, mover: Rc<DataMover>, header: Header, geometry: Geometry) -> Rc<Self> {
        let device = Patient::new(device, mover.clone(), RESERVATION_PATIENCE);
        Self::seen(Store::new(device, mover, geometry), header)
    }

    fn seen(store: Store<D>, header: Header) -> Rc<Self> {
        store.lease.evicted.set(true);
        let nobody = Owner { slot: u32::MAX - 1, generation: 0 };
        Self::made(store, header, Host { name: String::new() }, nobody, Observed::default(), None)
    }

    fn made(
        store: Store<D>,
        header: Header,
        host: Host,
        owner: Owner,
        observed: Observed,
        heartbeat: Option<Loaded<Heartbeat>>,
    ) -> Rc<Self> {
        let geometry = store.geometry;
        // Hosts begin to allocate far from each other.
        let start = u64::from(owner.slot) * u64::from(geometry.allocation_sectors()) / u64::from(geometry.hosts.max(1));
        Rc::new(Self {
            store,
            host,
            owner,
            observed,
            allocate_at: Cell::new(u32::try_from(start).unwrap_or(0)),
            allocating: Mutex::new(()),
            directory: Mutex::new(()),
            open: RefCell::default(),
            untidy: RefCell::default(),
            names: RefCell::default(),
            told: RefCell::default(),
            heartbeat: Mutex::new(heartbeat),
            header,
        })
    }

    /// Whoever is to hear, once for each, of locks of other hosts that are waited for.
    pub fn tell(&self, told: Told) {
        self.told.replace(Some(told));
    }

    /// The datastore of a logical unit and a host that is alive and has it mounted, before all of the unit is overwritten. `None` when there is no
    /// datastore, or nobody has it mounted. Takes a little more than the period of a heartbeat.
    pub async fn mounted_by(device: Rc<D>, mover: Rc<DataMover>) -> Result<Option<(String, Slot)>, DeviceError> {
        let store = match Self::view(device, mover).await {
            Ok(store) => store,
            Err(DatastoreError::Device(error)) => return Err(error),
            // There is none, or nothing that a host could have mounted.
            Err(_) => return Ok(None),
        };
        // A heartbeat that cannot be read is nobody's.
        let seen = store.slots_seen().await.unwrap_or_default();
        Ok(seen.into_iter().find(|(_, alive)| *alive).map(|(slot, _)| (store.name(), slot)))
    }

    /// Renews the heartbeat. Ends only when another host has taken the slot away; failures of the logical unit are tried again, while
    /// [`DatastoreError::LeaseExpired`] keeps everything else from writing.
    pub async fn keep_alive(&self) -> DatastoreError {
        loop {
            self.store.sleep(PERIOD).await;
            if let Err(error @ DatastoreError::Evicted) = self.renew().await {
                return error;
            }
        }
    }

    /// Renews the heartbeat once.
    pub async fn renew(&self) -> Result<(), DatastoreError> {
        match self.heartbeat.lock().await.as_mut() {
            Some(heartbeat) => self.store.renew(heartbeat).await,
            None => Err(DatastoreError::Evicted),
        }
    }

    /// Gives the heartbeat slot back; locks that were not given back fall with it.
    pub async fn unmount(&self) -> Result<(), DatastoreError> {
        let mut heartbeat = self.heartbeat.lock().await;
        let Some(heartbeat) = heartbeat.as_mut() else { return Ok(()) };
        let mut free = heartbeat.value;
        free.live = 0;
        let swapped = self.store.swap(heartbeat, free).await?;
        self.store.lease.evicted.set(true);
        self.store.lease.given_back.set(swapped);
        if swapped { Ok(()) } else { Err(DatastoreError::Evicted) }
    }

    /// Where everything is.
    pub fn geometry(&self) -> Geometry {
        self.store.geometry
    }

    /// Name of the datastore.
    pub fn name(&self) -> String {
        text(&self.header.name)
    }

    /// What names it for ever.
    pub fn uuid(&self) -> Uuid {
        Uuid::from_bytes(self.header.uuid)
    }

    /// The data mover of this host.
    pub fn mover(&self) -> &Rc<DataMover> {
        &self.store.mover
    }

    /// Seconds since 1970 when it was made.
    pub fn created(&self) -> u64 {
        self.header.created.get()
    }

    /// Those who have a heartbeat slot, with the locks that they hold. Whether one is alive shows when it is asked for twice: a heartbeat is
    /// renewed every 3 s.
    pub async fn slots(&self) -> Result<Vec<Slot>, DatastoreError> {
        let geometry = self.store.geometry;
        let (slots, _) = self.store.load_readable::<Heartbeat>(geometry.heartbeat(0), geometry.hosts.into()).await?;
        let (locks, _) = self.store.load_readable::<Lock>(geometry.lock(0), geometry.files.into()).await?;
        let mut hosts = Vec::new();
        for loaded in slots {
            let (number, slot) = (loaded.number, loaded.value);
            let owner = Owner { slot: number, generation: slot.generation.get() };
            if slot.live != 0 {
                hosts.push(Slot {
                    number,
                    host: text(&slot.host),
                    beat: slot.beat.get(),
                    renewed: slot.renewed.get(),
                    locks: locks.iter().filter(|lock| lock.value.owner() == Some(owner)).count() as u64,
                });
            }
        }
        Ok(hosts)
    }

    /// [`Self::slots`] looked at twice: true for those that renewed their heartbeat meanwhile.
    pub async fn slots_seen(&self) -> Result<Vec<(Slot, bool)>, DatastoreError> {
        let before = self.slots().await?;
        self.store.sleep(if before.is_empty() { Duration::ZERO } else { LOOK }).await;
        let alive = |slot: &Slot| {
            let old = before.iter().find(|old| old.number == slot.number && old.host == slot.host);
            old.is_none_or(|old| old.beat != slot.beat)
        };
        Ok(self.slots().await?.into_iter().map(|slot| (slot.clone(), alive(&slot))).collect())
    }

    /// Names of the hosts that have it mounted.
    pub async fn hosts(&self) -> Result<Vec<String>, DatastoreError> {
        let geometry = self.store.geometry;
        let (slots, _) = self.store.load_readable::<Heartbeat>(geometry.heartbeat(0), geometry.hosts.into()).await?;
        Ok(slots.iter().filter(|slot| slot.value.live != 0).map(|slot| text(&slot.value.host)).collect())
    }

    /// Frees unused blocks on the array, as `esxcli storage vmfs unmap` does: a few blocks at a time are claimed, unmapped and
    /// given back, so that no host writes to them meanwhile. Returns the bytes.
    pub async fn unmap_free(&self) -> Result<u64, DatastoreError> {
        let scratch = self.make_scratch().await?;
        let mut told = 0;
        for sector in 0..self.store.geometry.allocation_sectors() {
            let claimed = self.claim_free(scratch.id(), sector).await?;
            if !claimed.is_empty() {
                told += claimed.len() as u64 * self.store.geometry.block_bytes();
                self.free(scratch.id(), &claimed).await?;
            }
        }
        self.drop_scratch(scratch).await?;
        Ok(told)
    }
}
