//! Implementation of [`UnitStore`], the interface of units to the rest of the array: `control`
//! stores reservations, sanitize operations and access states in the pool and knows the thresholds.

use super::super::array::Reactor;
use super::{port_groups, reservations, sanitize, thresholds};
use block::VolumeId;
use control::Control;
use media::Media;
use std::cell::OnceCell;
use std::rc::{Rc, Weak};
use unit::{
    AccessState, AccessStateError, PersistedReservations, PersistedSanitize, SoftThreshold, StoreError, StoreFuture,
    UnitStore,
};

/// Store of every unit of the array. It keeps neither `control` nor the units alive: at shutdown, it
/// neither stores nor starts anything.
pub(crate) struct ArrayStore<M: Media + 'static> {
    control: OnceCell<Weak<Control>>,
    reactor: OnceCell<Weak<Reactor<M>>>,
}

impl<M: Media + 'static> ArrayStore<M> {
    /// A store that is not connected yet.
    pub fn new() -> Self {
        Self { control: OnceCell::new(), reactor: OnceCell::new() }
    }

    /// Connects the store with the rest of the array, before the first command.
    pub fn connect(&self, reactor: &Rc<Reactor<M>>, control: &Rc<Control>) {
        let _only_once = self.control.set(Rc::downgrade(control));
        let _only_once = self.reactor.set(Rc::downgrade(reactor));
    }

    fn control(&self) -> Option<Rc<Control>> {
        self.control.get()?.upgrade()
    }

    fn reactor(&self) -> Option<Rc<Reactor<M>>> {
        self.reactor.get()?.upgrade()
    }
}

impl<M: Media + 'static> UnitStore for ArrayStore<M> {
    fn store_reservations(
        &self,
        volume: VolumeId,
        reservations: Option<PersistedReservations>,
    ) -> StoreFuture<Result<(), StoreError>> {
        let control = self.control();
        Box::pin(async move { reservations::store(&*control.ok_or(StoreError::Failed)?, volume, reservations).await })
    }

    fn store_sanitize(
        &self,
        volume: VolumeId,
        operation: Option<PersistedSanitize>,
    ) -> StoreFuture<Result<(), StoreError>> {
        let control = self.control();
        Box::pin(async move { sanitize::store(&*control.ok_or(StoreError::Failed)?, volume, operation).await })
    }

    fn start_sanitize(&self, volume: VolumeId) {
        if let (Some(reactor), Some(control)) = (self.reactor(), self.control()) {
            sanitize::start(&reactor, &control, volume);
        }
    }

    fn set_access_states(&self, states: Vec<(u16, AccessState)>) -> StoreFuture<Result<(), AccessStateError>> {
        let control = self.control();
        Box::pin(async move { port_groups::set_states(&*control.ok_or(AccessStateError::Failed)?, states).await })
    }

    fn soft_thresholds(&self, volume: VolumeId) -> Vec<SoftThreshold> {
        self.control().map(|control| thresholds::of(&control, volume)).unwrap_or_default()
    }
}
