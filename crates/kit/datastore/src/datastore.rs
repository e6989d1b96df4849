//! A datastore as mounted by one host.

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

/// Identity of the host that mounts the datastore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name for display; at most 64 bytes are stored.
    pub name: String,
}

/// Parameters of a new datastore.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// Name for display; at most 64 bytes are stored.
    pub name: String,
    /// Block size in bytes: a power of two from 64 KiB to 64 MiB.
    pub block_bytes: u64,
    /// Number of heartbeat slots: hosts that can have it mounted at a time.
    pub hosts: u32,
    /// Number of file records.
    pub files: u32,
    /// Overwrite existing data.
    pub force: bool,
}

impl Default for FormatOptions {
    fn default() -> Self {
        Self { name: "datastore".into(), block_bytes: 1 << 20, hosts: 64, files: 2048, force: false }
    }
}

/// A heartbeat slot in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Number of the slot.
    pub number: u32,
    /// Name of the host.
    pub host: String,
    /// Number of renewals.
    pub beat: u64,
    /// Time of the last renewal by the host's clock, in seconds since 1970.
    pub renewed: u64,
    /// Number of file locks that the host holds.
    pub locks: u64,
}

/// Time between two reads of the heartbeats: a little more than their period.
const READ_INTERVAL: Duration = Duration::from_millis(3500);
/// Time after which a wait for a lock is reported to the callback.
pub(crate) const REPORT_AFTER: Duration = Duration::from_secs(1);

/// Callback for a lock that this host waits for; receives the file name and the holder's name.
pub type ContendedLockCallback = Box<dyn Fn(&str, &str)>;

/// Time for which a command is retried while other hosts have the logical unit reserved.
const RESERVATION_PATIENCE: Duration = Duration::from_secs(60);

/// A datastore as mounted by one host. Several tasks may share it.
pub struct Datastore<D> {
    pub(crate) store: Store<D>,
    pub(crate) host: Host,
    pub(crate) owner: Owner,
    pub(crate) observed: Observed,
    /// Sector of the allocation table where this host begins its search.
    pub(crate) allocate_at: Cell<u32>,
    /// Held by the task of this host that allocates.
    pub(crate) allocating: Mutex<()>,
    /// Held by the task of this host that has, or waits for, the lock of the directory.
    pub(crate) directory: Mutex<()>,
    /// Record numbers of files whose lock a task of this host has.
    pub(crate) open: RefCell<HashSet<u32>>,
    /// Record numbers of files that may have leftovers; these are looked for when the lock is
    /// released.
    pub(crate) untidy: RefCell<HashSet<u32>>,
    /// Record numbers by file name, from earlier look-ups.
    pub(crate) names: RefCell<HashMap<String, u32>>,
    /// Callback for locks that this host waits for.
    pub(crate) contended_lock: RefCell<Option<ContendedLockCallback>>,
    /// The heartbeat slot; `None` for a host that only views.
    heartbeat: Mutex<Option<Loaded<Heartbeat>>>,
    header: Header,
}

impl<D> Drop for Datastore<D> {
    /// No task is left that could send a command for the datastore: other users of the device go
    /// on.
    fn drop(&mut self) {
        self.store.lease.released.set(true);
    }
}

impl<D: Device> Datastore<D> {
    /// Creates a datastore on the whole logical unit. Existing data is lost.
    ///
    /// Errors: [`DatastoreError::NotEmpty`] unless its first blocks are zeros or `force` is given;
    /// [`DatastoreError::Geometry`].
    pub async fn format(device: &Rc<D>, mover: &Rc<DataMover>, options: &FormatOptions) -> Result<(), DatastoreError> {
        let identity = device.identity();
        if identity.block_bytes as usize != SECTOR_BYTES {
            let words = format!("a datastore needs logical blocks of 512 bytes; these have {}", identity.block_bytes);
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
        // The first copy is written last: a header found there implies that the second one exists.
        device.write(geometry.second_header(), image.clone()).await?;
        device.write(HEADER, image).await?;
        Ok(())
    }

    /// Reads the header of a datastore.
    async fn header(device: &Patient<D>) -> Result<Header, DatastoreError> {
        let image = device.read(Extent { lba: HEADER, blocks: 1 }).await?;
        if !sector::is_metadata(&image) {
            return Err(DatastoreError::NoDatastore);
        }
        let loaded = sector::decode::<Header>(HEADER, image)?;
        if loaded.version == 0 {
            return Err(DatastoreError::NoDatastore);
        }
        let header = loaded.value;
        match header.version.get() {
            VERSION => Ok(header),
            other => Err(DatastoreError::Version(other)),
        }
    }

    /// Reads the header, and returns the store that it describes.
    async fn open_store(device: Rc<D>, mover: Rc<DataMover>) -> Result<(Store<D>, Header), DatastoreError> {
        let device = Patient::new(device, mover.clone(), RESERVATION_PATIENCE);
        if device.identity().block_bytes as usize != SECTOR_BYTES {
            return Err(DatastoreError::NoDatastore);
        }
        let header = Self::header(&device).await?;
        let geometry = Geometry::of(&header, device.identity().blocks)?;
        Ok((Store::new(device, mover, geometry), header))
    }

    /// Mounts the datastore: takes a heartbeat slot. [`Self::keep_alive`] must run from then on. If
    /// the heartbeat is late, the device stops sending commands ([`Device::only_while`]).
    pub async fn mount(device: Rc<D>, mover: Rc<DataMover>, host: Host) -> Result<Rc<Self>, DatastoreError> {
        let (store, header) = Self::open_store(device, mover).await?;
        let observed = Observed::default();
        let (owner, heartbeat) = store.take_slot(&host.name, &observed).await?;
        store.device.only_while(store.gate());
        Ok(Self::assemble(store, header, host, owner, observed, Some(heartbeat)))
    }

    /// Opens the datastore without a heartbeat slot, for lists, statistics and checks. Every write
    /// is refused with [`DatastoreError::Evicted`].
    pub async fn view(device: Rc<D>, mover: Rc<DataMover>) -> Result<Rc<Self>, DatastoreError> {
        let (store, header) = Self::open_store(device, mover).await?;
        Ok(Self::viewing(store, header))
    }

    /// Like [`Self::view`], by a header found elsewhere and its geometry.
    pub(crate) fn view_by(device: Rc<D>, mover: Rc<DataMover>, header: Header, geometry: Geometry) -> Rc<Self> {
        let device = Patient::new(device, mover.clone(), RESERVATION_PATIENCE);
        Self::viewing(Store::new(device, mover, geometry), header)
    }

    fn viewing(store: Store<D>, header: Header) -> Rc<Self> {
        store.lease.evicted.set(true);
        let no_owner = Owner { slot: u32::MAX - 1, generation: 0 };
        Self::assemble(store, header, Host { name: String::new() }, no_owner, Observed::default(), None)
    }

    fn assemble(
        store: Store<D>,
        header: Header,
        host: Host,
        owner: Owner,
        observed: Observed,
        heartbeat: Option<Loaded<Heartbeat>>,
    ) -> Rc<Self> {
        let geometry = store.geometry;
        // Search positions of different hosts are far apart.
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
            contended_lock: RefCell::default(),
            heartbeat: Mutex::new(heartbeat),
            header,
        })
    }

    /// Sets the callback for contended locks. It is called once for each lock that another host
    /// holds and this host waits for.
    pub fn on_contended_lock(&self, callback: ContendedLockCallback) {
        self.contended_lock.replace(Some(callback));
    }

    /// Returns the datastore on a logical unit and a living host that has it mounted. Call it
    /// before the whole unit is overwritten. `None` when there is no datastore or no such host.
    /// Takes a little more than one heartbeat period.
    pub async fn mounted_by(device: Rc<D>, mover: Rc<DataMover>) -> Result<Option<(String, Slot)>, DeviceError> {
        let store = match Self::view(device, mover).await {
            Ok(store) => store,
            Err(DatastoreError::Device(error)) => return Err(error),
            // There is no datastore, or none that a host could have mounted.
            Err(_) => return Ok(None),
        };
        // Unreadable heartbeats are ignored.
        let seen = store.slots_seen().await.unwrap_or_default();
        Ok(seen.into_iter().find(|(_, alive)| *alive).map(|(slot, _)| (store.name(), slot)))
    }

    /// Renews the heartbeat until another host has taken the slot away. Failures of the logical
    /// unit are retried; meanwhile [`DatastoreError::LeaseExpired`] keeps everything else from
    /// writing.
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

    /// Releases the heartbeat slot. Locks that are still held become void.
    pub async fn unmount(&self) -> Result<(), DatastoreError> {
        let mut heartbeat = self.heartbeat.lock().await;
        let Some(heartbeat) = heartbeat.as_mut() else { return Ok(()) };
        let mut free = heartbeat.value;
        free.live = 0;
        let swapped = self.store.swap(heartbeat, free).await?;
        self.store.lease.evicted.set(true);
        self.store.lease.released.set(swapped);
        if swapped { Ok(()) } else { Err(DatastoreError::Evicted) }
    }

    /// Layout of the datastore.
    pub fn geometry(&self) -> Geometry {
        self.store.geometry
    }

    /// Name of the datastore.
    pub fn name(&self) -> String {
        text(&self.header.name)
    }

    /// UUID of the datastore; it never changes.
    pub fn uuid(&self) -> Uuid {
        Uuid::from_bytes(self.header.uuid)
    }

    /// The data mover of this host.
    pub fn mover(&self) -> &Rc<DataMover> {
        &self.store.mover
    }

    /// Creation time, in seconds since 1970.
    pub fn created(&self) -> u64 {
        self.header.created.get()
    }

    /// Heartbeat slots in use, with the number of locks that each host holds. To find out whether a
    /// host is alive, read them twice: a heartbeat is renewed every 3 s.
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

    /// Reads [`Self::slots`] twice; true for each host that renewed its heartbeat in between.
    pub async fn slots_seen(&self) -> Result<Vec<(Slot, bool)>, DatastoreError> {
        let before = self.slots().await?;
        self.store.sleep(if before.is_empty() { Duration::ZERO } else { READ_INTERVAL }).await;
        let alive = |slot: &Slot| {
            let old = before.iter().find(|old| old.number == slot.number && old.host == slot.host);
            old.is_none_or(|old| old.beat != slot.beat)
        };
        Ok(self.slots().await?.into_iter().map(|slot| (slot.clone(), alive(&slot))).collect())
    }

    /// Names of the hosts that have the datastore mounted.
    pub async fn hosts(&self) -> Result<Vec<String>, DatastoreError> {
        let geometry = self.store.geometry;
        let (slots, _) = self.store.load_readable::<Heartbeat>(geometry.heartbeat(0), geometry.hosts.into()).await?;
        Ok(slots.iter().filter(|slot| slot.value.live != 0).map(|slot| text(&slot.value.host)).collect())
    }

    /// Unmaps free blocks on the array, like `esxcli storage vmfs unmap`. A few blocks at a time
    /// are claimed, unmapped and freed, so that no host writes to them meanwhile. Returns the
    /// number of bytes.
    pub async fn unmap_free(&self) -> Result<u64, DatastoreError> {
        let scratch = self.create_scratch().await?;
        let mut bytes = 0;
        for sector in 0..self.store.geometry.allocation_sectors() {
            let claimed = self.claim_free(scratch.id(), sector).await?;
            if !claimed.is_empty() {
                bytes += claimed.len() as u64 * self.store.geometry.block_bytes();
                self.free(scratch.id(), &claimed).await?;
            }
        }
        self.drop_scratch(scratch).await?;
        Ok(bytes)
    }
}
