//! Owner of the array's state: opens it, executes requests, commits changes.

use crate::catalog::DynCatalog;
use crate::environment::new_array_id;
use crate::events::{Draft, Events, Severity};
use crate::jobs::Jobs;
use crate::pools::integrity::Integrity;
use crate::pools::thresholds::Crossings;
use crate::pools::unique::{Patience, UniqueCounts};
use crate::ports::{self, PortalOptions};
use crate::record::{Document, load};
use crate::{
    ArrayRecord, Change, CheckRecord, ControlError, Directory, Environment, Limits, Live, PoolRecord, Request,
    ScrubRecord,
};
use futures_util::lock::Mutex;
use jiff::Timestamp;
use pool::{Catalog, CatalogChange, ObjectId, ObjectInfo, ObjectKind, PoolError};
use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::time::Duration;
use uuid::Uuid;

/// Settings of the array from the configuration.
#[derive(Clone, Debug)]
pub struct ArrayOptions {
    /// Name of the pool in every interface.
    pub pool_name: String,
    /// First part of the target's name, such as `iqn.2026-01.org.example`.
    pub iqn_base: String,
    /// Second part, after a colon; the first 12 digits of the array's id if absent.
    pub target_name: Option<String>,
    /// Thresholds and limit of the pool, unless a command has set others.
    pub limits: Limits,
    /// Percent of the time that a job gets while hosts are active, 1 to 100, unless the job has its
    /// own share.
    pub background_share_percent: u8,
    /// Portals, in the order of [`Live::portals`].
    pub portals: Vec<PortalOptions>,
}

/// Results that are kept.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub scrub: Option<ScrubRecord>,
    pub check: Option<CheckRecord>,
}

/// Administration of one array. Used from the one thread that owns the pool; actions may overlap, changes happen one at a time.
pub struct Control {
    pub(crate) catalog: Rc<dyn DynCatalog>,
    pub(crate) live: Rc<dyn Live>,
    pub(crate) environment: Rc<dyn Environment>,
    pub(crate) pool_name: String,
    pub(crate) started: Timestamp,
    pub(crate) default_limits: Limits,
    pub(crate) settings: RefCell<PoolRecord>,
    pub(crate) results: RefCell<Results>,
    pub(crate) jobs: Jobs,
    pub(crate) events: Events,
    pub(crate) crossings: Crossings,
    pub(crate) integrity: Integrity,
    /// That the pool stopped was told.
    pub(crate) stop_told: Cell<bool>,
    /// Since when what is below the pool is full.
    pub(crate) starved_since: Cell<Option<Timestamp>>,
    unique: UniqueCounts,
    directory: RefCell<Directory>,
    /// Held from the first look at the directory until the change is published.
    changes: Mutex<()>,
}

/// Objects captured for ROD tokens.
fn captures(catalog: &dyn DynCatalog) -> Vec<ObjectId> {
    let objects = catalog.objects();
    objects.iter().filter(|object| object.kind == ObjectKind::Capture).map(|object| object.id).collect()
}

/// Deletes the captures of an earlier run, which are invalid after it.
async fn discard_captures(catalog: &dyn DynCatalog) -> Result<(), PoolError> {
    const AT_ONCE: usize = 256;
    for ids in captures(catalog).chunks(AT_ONCE) {
        catalog.commit(ids.iter().map(|id| CatalogChange::DeleteObject { id: *id }).collect()).await?;
    }
    Ok(())
}

impl Control {
    /// Reads the state from the catalog and starts; see [`Self::load`].
    pub async fn open(
        catalog: Rc<impl Catalog + 'static>,
        live: Rc<dyn Live>,
        environment: Rc<dyn Environment>,
        options: ArrayOptions,
    ) -> Result<Self, ControlError> {
        let catalog: Rc<dyn DynCatalog> = catalog;
        let array = match load::<ArrayRecord>(&*catalog)?.pop() {
            Some(array) => array,
            None => {
                let array = ArrayRecord { id: new_array_id(&*environment), created: environment.now() };
                let commit = catalog.commit(vec![array.put()?]).await;
                commit.map_err(|error| ControlError::from_pool(error, catalog.space().free_bytes))?;
                array
            }
        };
        match discard_captures(&*catalog).await {
            // A pool without space even for this change still serves hosts; the next start deletes
            // the captures.
            Ok(()) | Err(PoolError::PoolFull) => {}
            Err(error) => return Err(ControlError::from_pool(error, catalog.space().free_bytes)),
        }
        let suffix = options.target_name.unwrap_or_else(|| array.id.simple().to_string().chars().take(12).collect());
        let target = format!("{}:{suffix}", options.iqn_base).to_ascii_lowercase();
        let started = environment.now();
        let mut directory = Directory::load(&*catalog, array, target)?;
        let (identifiers, new) = ports::assign(&mut directory.portals, &options.portals, started)?;
        if !new.is_empty() {
            let commit = catalog.commit(new).await;
            commit.map_err(|error| ControlError::from_pool(error, catalog.space().free_bytes))?;
        }
        let configured = identifiers.iter().zip(&options.portals);
        directory.configured_groups = configured.filter_map(|(port, portal)| Some((*port, portal.group?))).collect();
        directory.port_identifiers = identifiers;
        let directory = RefCell::new(directory);
        let changes = Mutex::new(());
        let results = Results { scrub: load(&*catalog)?.pop(), check: load(&*catalog)?.pop() };
        let integrity = Integrity::default();
        if let Some(scrub) = &results.scrub {
            integrity.scrubbed(scrub);
        }
        let settings = load::<PoolRecord>(&*catalog)?.pop().unwrap_or_default();
        let jobs = Jobs::load(&*catalog, options.background_share_percent)?;
        let events = Events::load(&*catalog, &*environment)?;
        let crossings = Crossings::load(&*catalog)?;
        let control = Self {
            catalog,
            live,
            environment,
            pool_name: options.pool_name,
            started,
            default_limits: options.limits,
            settings: RefCell::new(settings),
            results: RefCell::new(results),
            jobs,
            events,
            crossings,
            integrity,
            stop_told: Cell::new(false),
            starved_since: Cell::new(None),
            unique: UniqueCounts::default(),
            directory,
            changes,
        };
        control.raise(Draft::new(Severity::Info, "array-started", "array", "the array started"));
        control.save_events(false).await;
        Ok(control)
    }

    /// Does what is asked. A change and its event are durable, and the change is published to the running target, before
    /// the reply.
    ///
    /// The future must be polled to its end: if it is dropped during a commit, the state in memory
    /// misses the change.
    pub async fn execute<R: Request>(&self, request: R) -> Result<R::Reply, ControlError> {
        let reply = request.run(self).await?;
        if let Some(event) = request.event(&reply) {
            self.raise(event);
            self.check_thresholds().await;
            // The watch task retries if the document cannot be written.
            if self.events.is_dirty() {
                self.save_events(false).await;
            }
        }
        Ok(reply)
    }

    /// State for the running target: the volumes at the start, and an initiator's access at login.
    /// The borrow must not be held across an await.
    pub fn directory(&self) -> Ref<'_, Directory> {
        self.directory.borrow()
    }

    /// Locks changes; one request changes the state at a time.
    pub(crate) async fn lock_changes(&self) -> futures_util::lock::MutexGuard<'_, ()> {
        self.changes.lock().await
    }

    /// Commits, then changes the state in memory, then publishes to the running target.
    pub(crate) async fn commit(
        &self,
        catalog_changes: Vec<CatalogChange>,
        apply: impl FnOnce(&mut Directory),
        published: &[Change],
    ) -> Result<(), ControlError> {
        self.catalog.commit(catalog_changes).await.map_err(|error| self.pool_error(error))?;
        apply(&mut self.directory.borrow_mut());
        for change in published {
            self.live.publish(change, &self.directory());
        }
        if !published.is_empty() {
            self.live.settled().await;
        }
        Ok(())
    }

    /// What a pool error means here.
    pub(crate) fn pool_error(&self, error: PoolError) -> ControlError {
        ControlError::from_pool(error, self.catalog.space().free_bytes)
    }

    /// Object of a document.
    pub(crate) fn object(&self, object: ObjectId) -> Result<ObjectInfo, ControlError> {
        self.catalog.object(object).ok_or_else(|| self.pool_error(PoolError::NoSuchObject(object.0)))
    }

    /// Object and unique bytes (`None`: still being counted, or not countable); absent when the object was deleted meanwhile.
    pub(crate) async fn space_of(
        &self,
        object: ObjectId,
        patience: &mut Patience,
    ) -> Option<(ObjectInfo, Option<u64>)> {
        let unique_bytes = self.count(&[object], patience).await;
        self.catalog.object(object).map(|info| (info, unique_bytes))
    }

    /// What deleting all snapshots of a volume together would free (`None`: still being counted, or not countable).
    pub(crate) async fn snapshot_bytes(&self, volume: Uuid, patience: &mut Patience) -> Option<u64> {
        let snapshots = self.directory().snapshot_objects(volume);
        if snapshots.is_empty() {
            return Some(0);
        }
        self.count(&snapshots, patience).await
    }

    /// What deleting all captures would free: what only ROD tokens keep (`None`: still being counted, or not countable).
    pub(crate) async fn token_bytes(&self, patience: &mut Patience) -> Option<u64> {
        let captures = captures(&*self.catalog);
        if captures.is_empty() {
            return Some(0);
        }
        self.count(&captures, patience).await
    }

    /// What deleting these objects together would free. That one cannot be counted is no reason to say nothing of all others.
    async fn count(&self, objects: &[ObjectId], patience: &mut Patience) -> Option<u64> {
        match self.unique.of(&self.catalog, &*self.environment, objects, patience).await {
            Ok(bytes) => bytes,
            Err(PoolError::Damaged(reason)) => {
                self.report_damage(&reason, objects.first().copied());
                None
            }
            // One was deleted meanwhile, or the pool stopped, which is told elsewhere.
            Err(_) => None,
        }
    }

    /// How long a request waits for [`Self::space_of`].
    pub(crate) fn patience(&self) -> Patience {
        Patience::new(&*self.environment)
    }

    /// Another patience.
    pub(crate) fn patience_of(&self, time: Duration) -> Patience {
        Patience::of(&*self.environment, time)
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
