//! Statistics: reads, writes and offload of each share, offload of each client, and refusals with their reasons.
//!
//! They begin with the run. Reasons, counters and the log are those of volumes (crate `unit`). The owner gives the
//! clock, and takes the entries of the log. A published share has the statistics that count its operations
//! ([`Counted`]); a snapshot of a share has those of the share. Operations in progress keep them beyond the deletion
//! of the share, and are no longer counted then.

mod clients;
mod reasons;

pub use clients::ClientOffload;
pub use reasons::Refusal;

use clients::Clients;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use unit::{
    DeletedOffload, Ending, Io, LogEntry, OffloadClient, OffloadStatistics, OffloadWork, Primitive, Reason, UsedUnits,
    VolumeId, VolumeOffload,
};

/// Statistics of all shares.
pub struct Statistics {
    /// Nanoseconds since a fixed instant; never decreases.
    now_ns: Box<dyn Fn() -> u64>,
    log: Box<dyn Fn(LogEntry)>,
    shares: RefCell<BTreeMap<u64, Rc<ShareStatistics>>>,
    clients: RefCell<Clients>,
    used: UsedUnits,
    deleted: RefCell<DeletedOffload>,
}

/// Statistics of one share and its snapshots.
#[derive(Debug)]
pub struct ShareStatistics {
    object: u64,
    name: RefCell<String>,
    /// True after the deletion of the share.
    deleted: Cell<bool>,
    /// Reads, writes, and offload of all clients.
    pub unit: unit::Statistics,
}

/// Where the operations on a published share are counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Statistics of the share.
    pub share: Rc<ShareStatistics>,
    /// Name of the snapshot, if it is one of the share that is published.
    pub snapshot: Option<String>,
}

/// By identity of the statistics.
impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.share, &other.share) && self.snapshot == other.snapshot
    }
}

/// Offload operation that ended.
pub struct Offloaded<'a> {
    /// Who has sent it.
    pub client: OffloadClient,
    /// Primitive.
    pub primitive: Primitive,
    /// Name in the standard.
    pub operation: &'static str,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
    /// Work, or why it was refused or failed.
    pub result: Result<&'a OffloadWork, Refusal>,
}

impl Statistics {
    /// Empty statistics. `now_ns`: nanoseconds since a fixed instant, never decreasing. `log` gets each refusal,
    /// without number and time.
    pub fn new(now_ns: Box<dyn Fn() -> u64>, log: Box<dyn Fn(LogEntry)>) -> Self {
        Self {
            now_ns,
            log,
            shares: RefCell::default(),
            clients: RefCell::default(),
            used: UsedUnits::default(),
            deleted: RefCell::default(),
        }
    }

    /// Statistics of a share that is published under this name.
    pub fn published(&self, object: u64, name: &str) -> Rc<ShareStatistics> {
        let mut shares = self.shares.borrow_mut();
        let share = shares.entry(object).or_insert_with(|| {
            let unit = unit::Statistics::new(VolumeId(object), self.used.clone());
            Rc::new(ShareStatistics { object, name: RefCell::default(), deleted: Cell::default(), unit })
        });
        if *share.name.borrow() != name {
            share.name.replace(name.to_owned());
        }
        Rc::clone(share)
    }

    /// Statistics of a share that was published.
    pub fn share(&self, object: u64) -> Option<Rc<ShareStatistics>> {
        self.shares.borrow().get(&object).cloned()
    }

    /// Offload of each client of a share.
    pub fn clients(&self, object: u64) -> Vec<ClientOffload> {
        self.clients.borrow().of_share(object)
    }

    /// At most `most` shares, by object, whose statistics changed since they were last returned here.
    pub fn take_used(&self, most: usize) -> Vec<u64> {
        let used = self.used.take(most);
        let used: Vec<u64> = used.into_iter().map(|VolumeId(object)| object).collect();
        used.iter().filter_map(|object| self.share(*object)).for_each(|share| share.unit.reported());
        used
    }

    /// A share was deleted: keeps its offload counters for a while. Operations in progress are not counted any more.
    pub fn deleted(&self, object: u64) {
        let share = self.shares.borrow_mut().remove(&object);
        self.clients.borrow_mut().forget(object);
        if let Some(share) = share {
            share.deleted.set(true);
            self.deleted.borrow_mut().keep(share.offload(true));
        }
    }

    /// Offload counters of shares deleted lately, the oldest first.
    pub fn deleted_offload(&self) -> Vec<VolumeOffload> {
        self.deleted.borrow().rows()
    }

    /// Present time of the clock.
    pub fn now_ns(&self) -> u64 {
        (self.now_ns)()
    }

    /// Counts a read or write that succeeded.
    pub(crate) fn moved(&self, counted: &Counted, io: Io, bytes: u64, duration_ns: u64) {
        let share = &counted.share;
        if share.deleted.get() {
            return;
        }
        match io {
            Io::Read => share.unit.count_read(bytes),
            Io::Write => share.unit.count_write(bytes),
        }
        share.unit.record_latency(io, duration_ns);
    }

    /// Counts an offload operation, and logs it if it was refused, failed, or had no benefit.
    pub fn offloaded(&self, counted: &Counted, ended: Offloaded<'_>) {
        let Offloaded { client, primitive, operation, duration_ns, result } = ended;
        let share = &counted.share;
        if share.deleted.get() {
            return;
        }
        let count = |counters: &mut OffloadStatistics| match &result {
            Ok(work) => counters.succeeded(duration_ns, Some(work)),
            Err(refusal) => counters.not_succeeded(duration_ns, Some(refusal.reason())),
        };
        share.unit.account(primitive, count);
        count(self.clients.borrow_mut().counters(share.object, client, primitive));
        let (ending, reason, bytes, detail) = match result {
            Ok(OffloadWork { not_offloaded: Some((reason, detail)), bytes, .. }) => {
                (Ending::Ineffective, *reason, *bytes, detail.clone())
            }
            Ok(_) => return,
            Err(refusal) => (refusal.reason().ending(), refusal.reason(), 0, refusal.into_detail()),
        };
        (self.log)(LogEntry {
            sequence: 0,
            count: 0,
            first_unix_ms: 0,
            unix_ms: 0,
            volume: VolumeId(share.object),
            volume_name: share.name.borrow().clone(),
            snapshot: counted.snapshot.clone(),
            initiator: client.to_string(),
            primitive,
            command: operation,
            ending,
            reason,
            holder: None,
            bytes,
            detail,
        });
    }
}

impl ShareStatistics {
    /// Offload counters, a row for each primitive that was used. `deleted`: the share was deleted.
    pub fn offload(&self, deleted: bool) -> Vec<VolumeOffload> {
        self.unit.offload_rows(&self.name.borrow(), deleted)
    }
}

/// Reason for which a copy had no benefit.
pub(crate) const HAD_TO_COPY: Reason = Reason::Misaligned;
