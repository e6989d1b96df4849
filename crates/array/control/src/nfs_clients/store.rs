//! Runs of the NFS server, and its records of clients: one document for each.

use super::record::{NfsClientRecord, NfsServerRecord, hexadecimal};
use crate::control::{Control, Loaded};
use crate::environment::Secret;
use crate::error::ControlError;
use crate::record::{Document, load};
use bytes::Bytes;
use std::time::Duration;

/// Bytes of the key of filehandles.
const KEY_BYTES: usize = 16;

/// Run of the NFS server that has begun.
#[derive(Clone, Debug)]
pub struct NfsRun {
    /// Its number, larger than those of all earlier runs.
    pub boot: u32,
    /// Key under which filehandles are sealed, the same in all runs.
    pub handle_key: [u8; KEY_BYTES],
    /// Lease of the run before; zero if there was none.
    pub previous_lease: Duration,
    /// Clients that may reclaim.
    pub clients: Vec<NfsClientRecord>,
}

/// Change of the records of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NfsClientChange {
    /// Writes a record, in place of one of the same owner.
    Write(NfsClientRecord),
    /// Removes the record of an owner, if there is one.
    Remove {
        /// Name of the client.
        owner: Bytes,
    },
}

impl Loaded {
    /// Begins a run of the NFS server with this lease; makes the key at the first one. The number of the run
    /// is durable on return, so that no later run has it.
    ///
    /// Errors: `Damaged` if a document cannot be read or the numbers are used up; the pool's errors.
    pub async fn begin_nfs_run(&self, lease: Duration) -> Result<NfsRun, ControlError> {
        let catalog = self.catalog();
        let last: Option<NfsServerRecord> = load(catalog)?.pop();
        let handle_key = match &last {
            Some(last) => key_of(last)?,
            None => {
                let mut key = [0; KEY_BYTES];
                self.environment().fill_random(&mut key);
                key
            }
        };
        let used_up =
            || ControlError::Damaged { reason: "the numbers of runs of the NFS server are used up".to_owned() };
        let boot = last.as_ref().map_or(Some(1), |last| last.boot.checked_add(1)).ok_or_else(used_up)?;
        let record = NfsServerRecord {
            boot,
            handle_key: Secret::new(hexadecimal::text(&handle_key)),
            lease_seconds: lease.as_secs(),
        };
        let commit = catalog.commit(vec![record.put()?]).await;
        commit.map_err(|error| ControlError::from_pool(error, &catalog.space()))?;
        let previous_lease = Duration::from_secs(last.map_or(0, |last| last.lease_seconds));
        Ok(NfsRun { boot, handle_key, previous_lease, clients: load(catalog)? })
    }
}

fn key_of(record: &NfsServerRecord) -> Result<[u8; KEY_BYTES], ControlError> {
    let key = hexadecimal::bytes(record.handle_key.expose()).and_then(|key| key.try_into().ok());
    key.ok_or_else(|| ControlError::Damaged { reason: format!("document {} has no key of filehandles", record.key()) })
}

impl Control {
    /// Makes changes of the records of clients durable, all of them or none. They do not wait for other
    /// changes, with which they have nothing in common: replies of the NFS server wait for them.
    ///
    /// Errors: the pool's.
    pub async fn store_nfs_clients(&self, changes: Vec<NfsClientChange>) -> Result<(), ControlError> {
        let change = |change| match change {
            NfsClientChange::Write(record) => record.put(),
            NfsClientChange::Remove { owner } => Ok(NfsClientRecord { owner, boot: 0, denies: false }.delete()),
        };
        self.store(changes.into_iter().map(change).collect::<Result<_, _>>()?).await
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use crate::control::ArrayOptions;
    use crate::memory::MemoryCatalog;
    use crate::memory::environment::MemoryEnvironment;
    use crate::memory::live::MemoryLive;
    use crate::pools::limits::Limits;
    use futures_executor::block_on;
    use std::rc::Rc;

    fn loaded(catalog: &Rc<MemoryCatalog>) -> Loaded {
        let options = ArrayOptions {
            pool_name: "p0".to_owned(),
            iqn_base: "iqn.2026-01.org.example".to_owned(),
            target_name: None,
            limits: Limits::default(),
            background_share_percent: 20,
            portals: Vec::new(),
            https_fault: None,
        };
        block_on(Control::load(Rc::clone(catalog), Rc::new(MemoryEnvironment::default()), options)).unwrap()
    }

    fn started(loaded: Loaded) -> Rc<Control> {
        block_on(loaded.start(|_| Rc::new(MemoryLive::default()))).0
    }

    fn record(owner: &'static str, boot: u32) -> NfsClientRecord {
        NfsClientRecord { owner: Bytes::from_static(owner.as_bytes()), boot, denies: false }
    }

    fn begin(catalog: &Rc<MemoryCatalog>, lease_seconds: u64) -> NfsRun {
        block_on(loaded(catalog).begin_nfs_run(Duration::from_secs(lease_seconds))).unwrap()
    }

    #[test]
    fn each_run_has_a_larger_number_and_the_same_key() {
        let catalog = Rc::new(MemoryCatalog::default());
        let first = begin(&catalog, 30);
        assert_eq!((first.boot, first.previous_lease), (1, Duration::ZERO));
        assert_ne!(first.handle_key, [0; KEY_BYTES]);
        let second = begin(&catalog, 90);
        assert_eq!((second.boot, second.previous_lease), (2, Duration::from_secs(30)));
        assert_eq!(second.handle_key, first.handle_key);
        assert_eq!(begin(&catalog, 5).previous_lease, Duration::from_secs(90));
    }

    #[test]
    fn recorded_clients_may_reclaim_in_the_next_run() {
        let catalog = Rc::new(MemoryCatalog::default());
        assert_eq!(begin(&catalog, 30).clients, []);
        let control = started(loaded(&catalog));
        let store = |changes| block_on(control.store_nfs_clients(changes)).unwrap();
        store(vec![NfsClientChange::Write(record("a", 1)), NfsClientChange::Write(record("b", 1))]);
        store(vec![
            NfsClientChange::Write(record("a", 2)),
            NfsClientChange::Remove { owner: Bytes::from_static(b"b") },
            NfsClientChange::Remove { owner: Bytes::from_static(b"unknown") },
        ]);
        assert_eq!(begin(&catalog, 30).clients, [record("a", 2)]);
    }

    #[test]
    fn a_damaged_document_begins_no_run() {
        for (boot, key) in [(u32::MAX, "00112233445566778899aabbccddeeff"), (1, "00"), (1, "no digits")] {
            let catalog = Rc::new(MemoryCatalog::default());
            let document = format!(r#"{{"boot":{boot},"handle_key":"{key}","lease_seconds":30}}"#);
            catalog.put_document("nfs/server", &document);
            let begun = block_on(loaded(&catalog).begin_nfs_run(Duration::from_secs(30)));
            assert!(matches!(begun, Err(ControlError::Damaged { .. })), "{begun:?}");
        }
    }
}
