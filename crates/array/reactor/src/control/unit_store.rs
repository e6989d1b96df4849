//! Implementation of [`UnitStore`], the interface of units to the rest of the array: `control`
//! stores reservations, sanitize operations and access states in the pool and knows the thresholds.

use super::super::ArrayUnits;
use super::{port_groups, reservations, sanitize, thresholds};
use block::VolumeId;
use control::Control;
use media::Media;
use std::rc::Weak;
use unit::{
    AccessState, AccessStateError, PersistedReservations, PersistedSanitize, SoftThreshold, StoreError, StoreFuture,
    UnitStore,
};

/// Store of every unit of the array. It keeps neither `control` nor the units alive: at shutdown, it
/// neither stores nor starts anything.
pub(crate) struct ArrayStore<M: Media + 'static> {
    control: Weak<Control>,
    units: Weak<ArrayUnits<M>>,
}

impl<M: Media + 'static> ArrayStore<M> {
    /// Store of the units of `units`, in the documents of `control`.
    pub fn new(control: Weak<Control>, units: Weak<ArrayUnits<M>>) -> Self {
        Self { control, units }
    }
}

impl<M: Media + 'static> UnitStore for ArrayStore<M> {
    fn store_reservations(
        &self,
        volume: VolumeId,
        reservations: Option<PersistedReservations>,
    ) -> StoreFuture<Result<(), StoreError>> {
        let control = self.control.upgrade();
        Box::pin(async move { reservations::store(&*control.ok_or(StoreError::Failed)?, volume, reservations).await })
    }

    fn store_sanitize(
        &self,
        volume: VolumeId,
        operation: Option<PersistedSanitize>,
    ) -> StoreFuture<Result<(), StoreError>> {
        let control = self.control.upgrade();
        Box::pin(async move { sanitize::store(&*control.ok_or(StoreError::Failed)?, volume, operation).await })
    }

    fn start_sanitize(&self, volume: VolumeId) {
        sanitize::start(&self.units, &self.control, volume);
    }

    fn set_access_states(&self, states: Vec<(u16, AccessState)>) -> StoreFuture<Result<(), AccessStateError>> {
        let control = self.control.upgrade();
        Box::pin(async move { port_groups::set_states(&*control.ok_or(AccessStateError::Failed)?, states).await })
    }

    fn soft_thresholds(&self, volume: VolumeId) -> Vec<SoftThreshold> {
        self.control.upgrade().map(|control| thresholds::of(&control, volume)).unwrap_or_default()
    }
}
