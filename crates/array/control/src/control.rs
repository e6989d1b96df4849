//! Owner of the array's state: opens it, executes requests, commits changes.

use crate::catalog::DynCatalog;
use crate::directory::{Directory, Edit, SharedDirectory};
use crate::environment::{Environment, new_array_id};
use crate::error::ControlError;
use crate::events::note::AlertNotes;
use crate::events::{Draft, Events, Severity};
use crate::jobs::Jobs;
use crate::live::{Change, Live};
use crate::mirror::publisher::Publisher;
use crate::paths::part::PathWatch;
use crate::pools::limits::Limits;
use crate::pools::part::{PoolPart, size_of_volume};
use crate::ports;
use crate::ports::PortalOptions;
use crate::qos::part::LimitWatch;
use crate::record::{Document, load};
use crate::revision::expected::Expected;
use crate::schedules::part::Schedules;
use crate::system::certificates_in_use::Certificates;
use crate::system::https_fault::HttpsFault;
use crate::system::management::Management;
use crate::system::record::ArrayRecord;
use crate::trash::part::TrashTimes;
use crate::trusted_time::part::TrustedTime;
use futures_util::lock::Mutex;
use jiff::Timestamp;
use pool::{Catalog, CatalogChange, ObjectId, ObjectInfo, PoolError};
use std::cell::{Ref, RefCell};
use std::collections::BTreeSet;
use std::rc::{Rc, Weak};

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
    /// Reason why REST over TLS is not served, if it is configured.
    pub https_fault: Option<HttpsFault>,
}

/// Administration of one array, on the one thread that owns the pool. Requests may overlap; changes
/// are serialized.
pub struct Control {
    catalog: Rc<dyn DynCatalog>,
    live: Rc<dyn Live>,
    environment: Rc<dyn Environment>,
    started: Timestamp,
    /// Configured portals.
    portals: Vec<PortalOptions>,
    https_fault: Option<HttpsFault>,
    management: Management,
    certificates: Certificates,
    pool: PoolPart,
    jobs: Jobs,
    events: Events,
    alert_notes: AlertNotes,
    publisher: Publisher,
    schedules: Schedules,
    trusted_time: TrustedTime,
    trash_times: TrashTimes,
    watches: Watches,
    directory: Rc<RefCell<Directory>>,
    /// Held from the first read of the directory until the change is published.
    changes: Mutex<()>,
    /// Object that the request which runs at present expects to be unchanged.
    expected: RefCell<Option<Expected>>,
}

/// Conditions that are reported as alerts while they last.
#[derive(Default)]
struct Watches {
    paths: PathWatch,
    limits: LimitWatch,
}

/// Deletes the captures of an earlier run, which are invalid after it.
async fn discard_captures(catalog: &dyn DynCatalog) -> Result<(), PoolError> {
    const AT_ONCE: usize = 256;
    for ids in catalog.captures().chunks(AT_ONCE) {
        catalog.commit(ids.iter().map(|id| CatalogChange::DeleteObject { id: *id }).collect()).await?;
    }
    Ok(())
}

/// Object whose size a change may alter.
fn resized_object(change: &CatalogChange) -> Option<ObjectId> {
    match change {
        CatalogChange::CreateVolume { id, .. }
        | CatalogChange::CreateCapture { id, .. }
        | CatalogChange::CloneObject { id, .. }
        | CatalogChange::DeleteObject { id }
        | CatalogChange::Resize { id, .. }
        | CatalogChange::Rollback { id, .. } => Some(*id),
        CatalogChange::SetWriteCache { .. }
        | CatalogChange::SetReservation { .. }
        | CatalogChange::SetZeroDetection { .. }
        | CatalogChange::SetCeiling { .. }
        | CatalogChange::Lock { .. }
        | CatalogChange::Unlock { .. }
        | CatalogChange::SetReplica { .. }
        | CatalogChange::PutDocument { .. }
        | CatalogChange::DeleteDocument { .. } => None,
    }
}

/// State of the array, read from the catalog, before anything runs on it. The parts of the running
/// array are built between [`Control::load`] and [`Self::start`], so that each has what it needs
/// from its construction.
pub struct Loaded {
    catalog: Rc<dyn DynCatalog>,
    environment: Rc<dyn Environment>,
    directory: SharedDirectory,
    complete: Box<dyn FnOnce(Rc<dyn Live>) -> Control>,
}

impl Loaded {
    /// Names, hosts and access, for code on the same thread that looks up records, also while
    /// `control` runs.
    pub fn shared_directory(&self) -> SharedDirectory {
        self.directory.clone()
    }

    /// Catalog of the pool.
    pub(crate) fn catalog(&self) -> &dyn DynCatalog {
        &*self.catalog
    }

    /// Time and randomness.
    pub(crate) fn environment(&self) -> &dyn Environment {
        &*self.environment
    }

    /// Starts with the running array that `connect` builds. It may keep the pointer to `control`,
    /// which is valid from the return of this function on. Returns both.
    pub async fn start<L: Live + 'static>(self, connect: impl FnOnce(&Weak<Control>) -> Rc<L>) -> (Rc<Control>, Rc<L>) {
        let mut connected = None;
        let control = Rc::new_cyclic(|control| {
            let live = connected.insert(connect(control));
            (self.complete)(Rc::<L>::clone(live))
        });
        let Some(live) = connected else { unreachable!("the closure above was called") };
        control.announce_start().await;
        (control, live)
    }
}

impl Control {
    /// Reads the state from the catalog and starts; see [`Self::load`].
    pub async fn open(
        catalog: Rc<impl Catalog + 'static>,
        live: Rc<dyn Live>,
        environment: Rc<dyn Environment>,
        options: ArrayOptions,
    ) -> Result<Self, ControlError> {
        let loaded = Self::load(catalog, environment, options).await?;
        let control = (loaded.complete)(live);
        control.announce_start().await;
        Ok(control)
    }

    /// Reads the state from the catalog; creates the array's identity at the first start.
    ///
    /// Errors: `Damaged` if documents cannot be read or contradict each other; the pool's errors at
    /// the first start.
    pub async fn load(
        catalog: Rc<impl Catalog + 'static>,
        environment: Rc<dyn Environment>,
        options: ArrayOptions,
    ) -> Result<Loaded, ControlError> {
        let catalog: Rc<dyn DynCatalog> = catalog;
        let array = match load::<ArrayRecord>(&*catalog)?.pop() {
            Some(array) => array,
            None => {
                let array = ArrayRecord { id: new_array_id(&*environment), created: environment.now() };
                let commit = catalog.commit(vec![array.put()?]).await;
                commit.map_err(|error| ControlError::from_pool(error, &catalog.space()))?;
                array
            }
        };
        match discard_captures(&*catalog).await {
            // A pool without space even for this change still serves hosts; the next start deletes
            // the captures.
            Ok(()) | Err(PoolError::PoolFull) => {}
            Err(error) => return Err(ControlError::from_pool(error, &catalog.space())),
        }
        let suffix = options.target_name.unwrap_or_else(|| array.id.simple().to_string().chars().take(12).collect());
        let target = format!("{}:{suffix}", options.iqn_base).to_ascii_lowercase();
        let started = environment.now();
        let mut directory = Directory::load(&*catalog, array, target)?;
        ports::record(&*catalog, &mut directory, &options.portals, started).await?;
        let directory = Rc::new(RefCell::new(directory));
        let (changes, expected) = (Mutex::new(()), RefCell::default());
        let pool = PoolPart::load(&*catalog, options.pool_name, options.limits).await?;
        pool.leave_out(&*catalog, &directory.borrow().trash_objects());
        let jobs = Jobs::load(&*catalog, options.background_share_percent)?;
        let events = Events::load(&*catalog, &*environment)?;
        let trusted_time = TrustedTime::load(&*catalog, &*environment)?;
        let schedules = Schedules::new(directory.borrow().schedules().map(|schedule| schedule.id));
        let shared = SharedDirectory::new(&directory);
        let (own_catalog, own_environment) = (Rc::clone(&catalog), Rc::clone(&environment));
        let complete = move |live| Self {
            catalog,
            live,
            environment,
            started,
            portals: options.portals,
            https_fault: options.https_fault,
            management: Management::default(),
            certificates: Certificates::default(),
            pool,
            jobs,
            events,
            alert_notes: AlertNotes::default(),
            publisher: Publisher::default(),
            schedules,
            trusted_time,
            trash_times: TrashTimes::default(),
            watches: Watches::default(),
            directory,
            changes,
            expected,
        };
        Ok(Loaded {
            catalog: own_catalog,
            environment: own_environment,
            directory: shared,
            complete: Box::new(complete),
        })
    }

    /// Gives the limits to the running target, which serves no host yet, and raises the events of a start.
    async fn announce_start(&self) {
        self.pass_on_all_limits();
        self.lock_objects().await;
        self.raise(Draft::new(Severity::Info, "array-started", "array", "the array started"));
        self.report_unrecorded_portals();
        self.report_https_fault();
        self.save_events(false).await;
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

    /// Locks changes if no request has locked them.
    pub(crate) fn try_lock_changes(&self) -> Option<futures_util::lock::MutexGuard<'_, ()>> {
        self.changes.try_lock()
    }

    /// Sets the object that a request expects to be unchanged when it commits, for as long as it
    /// runs without a pause. Returns the one before.
    pub(crate) fn expect(&self, expected: Option<Expected>) -> Option<Expected> {
        self.expected.replace(expected)
    }

    /// Errors: `ChangedMeanwhile` if the object has none of the expected tags.
    pub(crate) fn check_expected(&self, expected: Option<&Expected>) -> Result<(), ControlError> {
        let Some(expected) = expected else { return Ok(()) };
        if expected.is_met(self.directory().tag(self.started, expected.id).as_ref()) {
            return Ok(());
        }
        Err(ControlError::ChangedMeanwhile { id: expected.id })
    }

    /// Checks what the running request expects. A request that does more than to commit checks it
    /// under the lock of changes, before its first effect. Errors: `ChangedMeanwhile`.
    pub(crate) fn check_expectation(&self) -> Result<(), ControlError> {
        self.check_expected(self.expected.borrow().as_ref())
    }

    /// Commits, then changes the state in memory, then publishes to the running target.
    pub(crate) async fn commit(
        &self,
        catalog_changes: Vec<CatalogChange>,
        edits: Vec<Edit>,
        published: &[Change],
    ) -> Result<(), ControlError> {
        self.check_expectation()?;
        let resized: BTreeSet<ObjectId> = catalog_changes.iter().filter_map(resized_object).collect();
        let before = self.volume_bytes(&resized);
        self.store(catalog_changes).await?;
        self.pool.volumes_resized(before, self.volume_bytes(&resized));
        self.apply(edits);
        self.publish(published).await;
        Ok(())
    }

    /// Changes the state in memory, of which the catalog has the documents.
    pub(crate) fn apply(&self, edits: Vec<Edit>) {
        for edit in edits {
            self.publish_edit(&edit);
            self.pass_on_limits(&edit);
            self.directory.borrow_mut().apply(edit);
        }
    }

    /// Size of a volume as hosts see it; 0 for another object.
    pub(crate) fn size_of_volume(&self, object: ObjectId) -> u64 {
        self.catalog.object(object).map_or(0, |info| size_of_volume(&info))
    }

    /// Sum of the sizes of those objects that are volumes.
    fn volume_bytes(&self, objects: &BTreeSet<ObjectId>) -> u64 {
        let infos = objects.iter().filter_map(|object| self.catalog.object(*object));
        infos.map(|info| size_of_volume(&info)).fold(0, u64::saturating_add)
    }

    /// Makes catalog changes durable.
    pub(crate) async fn store(&self, changes: Vec<CatalogChange>) -> Result<(), ControlError> {
        self.catalog.commit(changes).await.map_err(|error| self.pool_error(error))
    }

    /// Publishes changes to the running target. On return, nothing that the changes forbid can take
    /// effect any more.
    pub(crate) async fn publish(&self, changes: &[Change]) {
        for change in changes {
            self.live.publish(change, &self.directory());
        }
        if !changes.is_empty() {
            self.live.settled().await;
        }
    }

    /// Converts a pool error to a control error.
    pub(crate) fn pool_error(&self, error: PoolError) -> ControlError {
        ControlError::from_pool(error, &self.catalog.space())
    }

    /// Object of a document.
    pub(crate) fn object(&self, object: ObjectId) -> Result<ObjectInfo, ControlError> {
        self.catalog.object(object).ok_or_else(|| self.pool_error(PoolError::NoSuchObject(object)))
    }

    /// Objects captured for ROD tokens.
    pub(crate) fn captures(&self) -> Vec<ObjectId> {
        self.catalog.captures()
    }

    /// Catalog of the pool.
    pub(crate) fn catalog(&self) -> &Rc<dyn DynCatalog> {
        &self.catalog
    }

    /// Running target.
    pub(crate) fn live(&self) -> &Rc<dyn Live> {
        &self.live
    }

    /// Time and randomness.
    pub(crate) fn environment(&self) -> &Rc<dyn Environment> {
        &self.environment
    }

    /// Time at which the array was opened.
    pub(crate) fn started(&self) -> Timestamp {
        self.started
    }

    /// Configured portals.
    pub(crate) fn portal_options(&self) -> &[PortalOptions] {
        &self.portals
    }

    /// Conditions of the management plane.
    pub(crate) fn management(&self) -> &Management {
        &self.management
    }

    /// Reason why REST over TLS is not served, if it is configured.
    pub(crate) fn https_fault(&self) -> Option<&HttpsFault> {
        self.https_fault.as_ref()
    }

    /// The pool beside its space.
    pub(crate) fn pool(&self) -> &PoolPart {
        &self.pool
    }

    /// Jobs.
    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Events.
    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    /// Certificates in use.
    pub(crate) fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// What the management plane knows of alerts.
    pub(crate) fn alert_notes(&self) -> &AlertNotes {
        &self.alert_notes
    }

    /// State of schedules.
    pub(crate) fn schedules(&self) -> &Schedules {
        &self.schedules
    }

    /// Trusted time of this run.
    pub(crate) fn trusted_time(&self) -> &TrustedTime {
        &self.trusted_time
    }

    /// Times of the trash in this run.
    pub(crate) fn trash_times(&self) -> &TrashTimes {
        &self.trash_times
    }

    /// Paths of hosts.
    pub(crate) fn paths(&self) -> &PathWatch {
        &self.watches.paths
    }

    /// Volumes and hosts whose commands wait for long.
    pub(crate) fn limit_watch(&self) -> &LimitWatch {
        &self.watches.limits
    }

    /// Publisher of facts.
    pub(crate) fn publisher(&self) -> &Publisher {
        &self.publisher
    }
}
