//! In-memory stand-in for the rest of the array: keeps the state that units store, and fails on
//! request.

use block::VolumeId;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{poll_fn, ready};
use std::rc::{Rc, Weak};
use std::task::Poll;
use unit::{
    AccessState, AccessStateError, PersistedReservations, PersistedSanitize, SoftThreshold, StoreError, StoreFuture,
    UnitStore,
};

type SetStates = dyn Fn(Vec<(u16, AccessState)>) -> Result<(), AccessStateError>;

pub(crate) struct TestStore {
    this: Weak<Self>,
    pub reservations: RefCell<Option<PersistedReservations>>,
    /// Calls of `store_reservations`.
    pub reservation_calls: Cell<u32>,
    /// `store_reservations` does not complete until this is false.
    pub holds_reservations: Cell<bool>,
    pub sanitize: RefCell<Option<PersistedSanitize>>,
    /// Sanitize operations that have begun.
    pub sanitizes_begun: Cell<u32>,
    /// Result of both `store` calls.
    pub error: Cell<Option<StoreError>>,
    /// Sets access states; without it requests are refused.
    pub set_states: RefCell<Option<Box<SetStates>>>,
    pub thresholds: RefCell<BTreeMap<VolumeId, Vec<SoftThreshold>>>,
}

impl TestStore {
    pub fn new() -> Rc<Self> {
        Rc::new_cyclic(|this| Self {
            this: this.clone(),
            reservations: RefCell::default(),
            reservation_calls: Cell::default(),
            holds_reservations: Cell::default(),
            sanitize: RefCell::default(),
            sanitizes_begun: Cell::default(),
            error: Cell::default(),
            set_states: RefCell::default(),
            thresholds: RefCell::default(),
        })
    }

    fn this(&self) -> Rc<Self> {
        self.this.upgrade().unwrap()
    }
}

impl UnitStore for TestStore {
    fn store_reservations(
        &self,
        _: VolumeId,
        reservations: Option<PersistedReservations>,
    ) -> StoreFuture<Result<(), StoreError>> {
        let store = self.this();
        store.reservation_calls.set(store.reservation_calls.get() + 1);
        Box::pin(async move {
            poll_fn(|_| if store.holds_reservations.get() { Poll::Pending } else { Poll::Ready(()) }).await;
            store.error.get().map_or(Ok(()), Err)?;
            store.reservations.replace(reservations);
            Ok(())
        })
    }

    fn store_sanitize(&self, _: VolumeId, operation: Option<PersistedSanitize>) -> StoreFuture<Result<(), StoreError>> {
        let store = self.this();
        Box::pin(async move {
            store.error.get().map_or(Ok(()), Err)?;
            store.sanitize.replace(operation);
            Ok(())
        })
    }

    fn start_sanitize(&self, _: VolumeId) {
        self.sanitizes_begun.set(self.sanitizes_begun.get() + 1);
    }

    fn set_access_states(&self, states: Vec<(u16, AccessState)>) -> StoreFuture<Result<(), AccessStateError>> {
        let set = self.set_states.borrow();
        Box::pin(ready(set.as_ref().map_or(Err(AccessStateError::Failed), |set| set(states))))
    }

    fn soft_thresholds(&self, volume: VolumeId) -> Vec<SoftThreshold> {
        self.thresholds.borrow().get(&volume).cloned().unwrap_or_default()
    }
}
