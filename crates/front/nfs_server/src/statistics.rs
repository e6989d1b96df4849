//! Statistics: reads, writes and offload of each share, offload of each client, and refusals with their reasons.
//!
//! They begin with the run. Reasons, counters and the log are those of volumes (crate `unit`). The owner gives the
//! clock, and takes the entries of the log.

mod clients;
mod reasons;

pub use clients::ClientOffload;
pub(crate) use reasons::Refusal;

use crate::shares::Share;
use clients::Clients;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use unit::{
    DeletedOffload, Ending, Io, LogEntry, OffloadStatistics, OffloadWork, Primitive, Reason, UsedUnits, VolumeId,
    VolumeOffload,
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

/// Statistics of one share.
#[derive(Debug)]
pub struct ShareStatistics {
    name: RefCell<String>,
    /// Reads, writes, and offload of all clients.
    pub unit: unit::Statistics,
}

/// Offload operation that ended.
pub(crate) struct Offloaded<'a> {
    pub client: IpAddr,
    pub primitive: Primitive,
    /// Name in the standard.
    pub operation: &'static str,
    pub duration_ns: u64,
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

    /// Statistics of a share that was used.
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

    /// A share was deleted: keeps its offload counters for a while.
    pub fn deleted(&self, object: u64) {
        let share = self.shares.borrow_mut().remove(&object);
        self.clients.borrow_mut().forget(object);
        if let Some(share) = share {
            self.deleted.borrow_mut().keep(share.offload(true));
        }
    }

    /// Offload counters of shares deleted lately, the oldest first.
    pub fn deleted_offload(&self) -> Vec<VolumeOffload> {
        self.deleted.borrow().rows()
    }

    pub(crate) fn now_ns(&self) -> u64 {
        (self.now_ns)()
    }

    /// Statistics of a share, under its present name.
    fn of<F>(&self, share: &Share<F>) -> Rc<ShareStatistics> {
        let mut shares = self.shares.borrow_mut();
        let statistics = shares.entry(share.object).or_insert_with(|| {
            let unit = unit::Statistics::new(VolumeId(share.object), self.used.clone());
            Rc::new(ShareStatistics { name: RefCell::default(), unit })
        });
        let name = share.name.as_text().unwrap_or_default();
        if *statistics.name.borrow() != name {
            statistics.name.replace(name.to_owned());
        }
        Rc::clone(statistics)
    }

    /// Counts a read or write that succeeded.
    pub(crate) fn moved<F>(&self, share: &Share<F>, io: Io, bytes: u64, duration_ns: u64) {
        let statistics = self.of(share);
        match io {
            Io::Read => statistics.unit.count_read(bytes),
            Io::Write => statistics.unit.count_write(bytes),
        }
        statistics.unit.record_latency(io, duration_ns);
    }

    /// Counts an offload operation, and logs it if it was refused, failed, or had no benefit.
    pub(crate) fn offloaded<F>(&self, share: &Share<F>, ended: Offloaded<'_>) {
        let Offloaded { client, primitive, operation, duration_ns, result } = ended;
        let statistics = self.of(share);
        let count = |counters: &mut OffloadStatistics| match &result {
            Ok(work) => counters.succeeded(duration_ns, Some(work)),
            Err(refusal) => counters.not_succeeded(duration_ns, Some(refusal.reason)),
        };
        statistics.unit.account(primitive, count);
        count(self.clients.borrow_mut().counters(share.object, client, primitive));
        let (ending, reason, detail) = match result {
            Ok(OffloadWork { not_offloaded: Some((reason, detail)), .. }) => {
                (Ending::Ineffective, *reason, detail.clone())
            }
            Ok(_) => return,
            Err(Refusal { reason, detail }) => (reason.ending(), reason, detail),
        };
        (self.log)(LogEntry {
            sequence: 0,
            unix_ms: 0,
            volume: VolumeId(share.object),
            volume_name: statistics.name.borrow().clone(),
            initiator: client.to_canonical().to_string(),
            primitive,
            command: operation,
            ending,
            reason,
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
