//! The owner of the state: opens it, takes actions, commits changes.

use crate::environment::new_array_id;
use crate::record::{Document, load};
use crate::unique::{Patience, UniqueCounts};
use crate::{Action, ArrayRecord, Change, ControlError, Directory, Environment, Live, Reply};
use futures_util::lock::Mutex;
use jiff::Timestamp;
use pool::{Catalog, CatalogChange, ObjectId, ObjectInfo, PoolError};
use std::cell::{Ref, RefCell};
use std::rc::Rc;

/// Largest volume: 16 TiB.
pub const MAX_VOLUME_BYTES: u64 = 16 << 40;

/// What the configuration decides about the array.
#[derive(Clone, Debug)]
pub struct ArrayOptions {
    /// Name of the pool on every surface.
    pub pool_name: String,
    /// First part of the target's name, such as `iqn.2026-01.org.example`.
    pub iqn_base: String,
    /// Second part, after a colon; the first 12 digits of the array's id when absent.
    pub target_name: Option<String>,
}

/// Administration of one array. Used from the one thread that owns the pool; actions may overlap, changes happen one at a time.
pub struct Control<C> {
    pub(crate) catalog: Rc<C>,
    pub(crate) live: Rc<dyn Live>,
    pub(crate) environment: Rc<dyn Environment>,
    pub(crate) pool_name: String,
    pub(crate) started: Timestamp,
    unique: UniqueCounts,
    directory: RefCell<Directory>,
    /// Held from the first look at the directory until the change is published.
    changes: Mutex<()>,
}

impl<C: Catalog + 'static> Control<C> {
    /// Reads the state from the catalog; makes the array's identity at the first start.
    ///
    /// Errors: `Damaged` when documents cannot be read or contradict each other; the pool's errors at the first start.
    pub async fn open(
        catalog: Rc<C>,
        live: Rc<dyn Live>,
        environment: Rc<dyn Environment>,
        options: ArrayOptions,
    ) -> Result<Self, ControlError> {
        let array = match load::<ArrayRecord>(&*catalog)?.pop() {
            Some(array) => array,
            None => {
                let array = ArrayRecord { id: new_array_id(&*environment), created: environment.now() };
                let commit = catalog.commit(vec![array.put()?]).await;
                commit.map_err(|error| ControlError::from_pool(error, catalog.space().free_bytes))?;
                array
            }
        };
        let suffix = options.target_name.unwrap_or_else(|| array.id.simple().to_string().chars().take(12).collect());
        let target = format!("{}:{suffix}", options.iqn_base).to_ascii_lowercase();
        let directory = RefCell::new(Directory::load(&*catalog, array, target)?);
        let started = environment.now();
        let changes = Mutex::new(());
        Ok(Self {
            catalog,
            live,
            environment,
            pool_name: options.pool_name,
            started,
            unique: UniqueCounts::default(),
            directory,
            changes,
        })
    }

    /// Does what is asked. A change is durable and published to the running target before the reply.
    ///
    /// The future must be polled to its end: dropped in the middle of a commit, the state in memory would miss the change.
    pub async fn execute(&self, action: Action) -> Result<Reply, ControlError> {
        match action {
            Action::Ping => Ok(Reply::Done),
            Action::Status => Ok(Reply::Status(Box::new(self.status()))),
            Action::Metrics => Ok(Reply::Metrics(Box::new(self.metrics()))),
            Action::PoolList => Ok(Reply::Pools(vec![self.pool()])),
            Action::PoolShow { pool } => self.pool_show(&pool).map(Reply::Pool),
            Action::PortalList => {
                Ok(Reply::Portals { portals: self.live.portals(), target: self.directory().target.clone() })
            }
            Action::VolumeList => self.volume_list().await.map(Reply::Volumes),
            Action::VolumeShow { volume } => self.volume_show(&volume).await,
            Action::VolumeCreate(create) => self.volume_create(create).await,
            Action::VolumeSet(set) => self.volume_set(set).await,
            Action::VolumeDelete { volume, with_snapshots } => self.volume_delete(&volume, with_snapshots).await,
            Action::SnapshotList { volume } => self.snapshot_list(volume.as_deref()).await.map(Reply::Snapshots),
            Action::SnapshotShow { snapshot } => self.snapshot_show(&snapshot).await,
            Action::SnapshotCreate { volume, name } => self.snapshot_create(&volume, name).await,
            Action::SnapshotDelete { snapshot } => self.snapshot_delete(&snapshot).await,
            Action::HostList => Ok(Reply::Hosts(self.host_list())),
            Action::HostShow { host } => self.host_show(&host),
            Action::HostCreate(create) => self.host_create(create).await,
            Action::HostSet(set) => self.host_set(set).await,
            Action::HostDelete { host } => self.host_delete(&host).await,
            Action::AccessList { volume, grantee } => {
                self.access_list(volume.as_deref(), grantee.as_ref()).map(Reply::Accesses)
            }
            Action::AccessGrant { volume, grantee, lun } => self.access_grant(&volume, &grantee, lun).await,
            Action::AccessRevoke { volume, from } => self.access_revoke(&volume, &from).await,
            Action::OffloadStatistics { volume } => {
                self.offload_statistics(volume.as_deref()).map(Reply::OffloadStatistics)
            }
            Action::OffloadLog { volume, limit } => self.offload_log(volume.as_deref(), limit).map(Reply::OffloadLog),
            Action::SessionList => Ok(Reply::Sessions(self.session_list())),
            Action::SessionDrop { id } => self.session_drop(id),
        }
    }

    /// The state, for the running target: what exists at the start, and what an initiator may do when it logs in. Not to be held across
    /// an await.
    pub fn directory(&self) -> Ref<'_, Directory> {
        self.directory.borrow()
    }

    /// The right to change, one action at a time.
    pub(crate) async fn lock_changes(&self) -> futures_util::lock::MutexGuard<'_, ()> {
        self.changes.lock().await
    }

    /// Commits, then changes the state in memory, then tells the running target.
    pub(crate) async fn commit(
        &self,
        catalog_changes: Vec<CatalogChange>,
        apply: impl FnOnce(&mut Directory),
        published: &[Change],
    ) -> Result<(), ControlError> {
        self.catalog.commit(catalog_changes).await.map_err(|error| self.pool_error(error))?;
        apply(&mut self.directory.borrow_mut());
        let directory = self.directory();
        for change in published {
            self.live.publish(change, &directory);
        }
        Ok(())
    }

    /// What a pool error means here.
    pub(crate) fn pool_error(&self, error: PoolError) -> ControlError {
        ControlError::from_pool(error, self.catalog.space().free_bytes)
    }

    /// The object behind a document.
    pub(crate) fn object(&self, object: ObjectId) -> Result<ObjectInfo, ControlError> {
        self.catalog.object(object).ok_or_else(|| self.pool_error(PoolError::NoSuchObject(object.0)))
    }

    /// Object and unique bytes (`None`: still being counted); absent when the object was deleted meanwhile.
    pub(crate) async fn space_of(
        &self,
        object: ObjectId,
        patience: &mut Patience,
    ) -> Result<Option<(ObjectInfo, Option<u64>)>, ControlError> {
        let unique_bytes = match self.unique.of(&self.catalog, &*self.environment, object, patience).await {
            Ok(bytes) => bytes,
            Err(PoolError::NoSuchObject(_)) => return Ok(None),
            Err(error) => return Err(self.pool_error(error)),
        };
        Ok(self.catalog.object(object).map(|info| (info, unique_bytes)))
    }

    /// How long a request waits for [`Self::space_of`].
    pub(crate) fn patience(&self) -> Patience {
        Patience::new(&*self.environment)
    }

    /// Counts of objects that are gone are not needed any more.
    pub(crate) fn forget_counts(&self) {
        self.unique.retain(|object| self.catalog.object(object).is_some());
    }

    /// `iscsi://ADDRESS:PORT/TARGET/LUN` at the first portal.
    pub(crate) fn iscsi_url(&self, target: &str, lun: u16) -> String {
        let portals = self.live.portals();
        let address = portals.first().map_or("", |portal| portal.advertised.as_str());
        format!("iscsi://{address}/{target}/{lun}")
    }
}
