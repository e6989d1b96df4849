//! Implementation of the catalog for `control`, through the handle.

use super::Pool;
use crate::interface::operation::{Reshare, pool_error};
use crate::interface::{
    BlockId, Catalog, CatalogChange, CheckStep, Growth, Incident, ObjectId, ObjectInfo, Place, PoolError, PoolSpace,
    ReshareStep, Revision, ScanStep,
};
use crate::request::Request;
use bytes::Bytes;
use media::Media;

impl<M: Media> Catalog for Pool<M> {
    fn new_object_id(&self) -> ObjectId {
        self.0.core.borrow_mut().new_object_id()
    }

    async fn commit(&self, changes: Vec<CatalogChange>) -> Result<(), PoolError> {
        self.run(Request::catalog(changes)).await.map_err(pool_error)
    }

    fn object(&self, id: ObjectId) -> Option<ObjectInfo> {
        self.0.core.borrow().object(id)
    }

    fn objects_from(&self, from: ObjectId, most: usize) -> Vec<ObjectInfo> {
        self.0.core.borrow().objects_from(from, most)
    }

    fn captures(&self) -> Vec<ObjectId> {
        self.0.core.borrow().capture_ids()
    }

    fn last_object_id(&self) -> ObjectId {
        self.0.core.borrow().last_object_id()
    }

    fn document(&self, key: &str) -> Option<Bytes> {
        self.0.core.borrow().documents().get(key).cloned()
    }

    fn documents(&self, prefix: &str) -> Vec<(String, Bytes)> {
        let core = self.0.core.borrow();
        core.documents()
            .range(prefix.to_string()..)
            .take_while(|(k, _)| k.starts_with(prefix))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    }

    async fn unique_bytes(&self, ids: &[ObjectId]) -> Result<u64, PoolError> {
        self.run(Request::unique(ids.to_vec())).await.map_err(pool_error)
    }

    async fn reclaim_zeros(&self, id: ObjectId, offset_bytes: u64) -> Result<ScanStep, PoolError> {
        self.run(Request::reclaim_zeros(id, offset_bytes)).await.map_err(pool_error)
    }

    async fn reshare(&self, reshare: Reshare) -> Result<ReshareStep, PoolError> {
        self.run(Request::reshare(reshare)).await.map_err(pool_error)
    }

    async fn verify(&self, id: ObjectId, offset_bytes: u64, anew: bool) -> Result<ScanStep, PoolError> {
        self.run(Request::verify(id, offset_bytes, anew)).await.map_err(pool_error)
    }

    async fn places_of(&self, blocks: Vec<BlockId>) -> Result<Vec<Place>, PoolError> {
        self.run(Request::places_of(blocks)).await.map_err(pool_error)
    }

    async fn check_step(&self) -> Result<CheckStep, PoolError> {
        self.run(Request::check_step()).await.map_err(pool_error)
    }

    fn abandon_check(&self) {
        self.0.core.borrow_mut().abandon_check();
    }

    async fn recount(&self, id: ObjectId) -> Result<(), PoolError> {
        self.run(Request::recount(id)).await.map_err(pool_error)
    }

    async fn grow(&self, growth: Growth) -> Result<(), PoolError> {
        self.run(Request::grow(growth)).await.map_err(pool_error)
    }

    fn take_incidents(&self) -> Vec<Incident> {
        self.0.core.borrow_mut().take_incidents()
    }

    fn take_changed(&self, most: usize) -> Vec<ObjectId> {
        self.0.core.borrow_mut().take_changed(most)
    }

    fn changes(&self) -> Revision {
        let core = self.0.core.borrow();
        Revision { next_record: core.next_sequence(), reclaimable_bytes: core.space().reclaimable_bytes }
    }

    fn space(&self) -> PoolSpace {
        self.0.core.borrow().space()
    }

    fn offer_space(&self, is_made: bool) {
        self.0.core.borrow_mut().offer_space(is_made);
    }

    fn take_space_wanted(&self) -> bool {
        self.0.core.borrow_mut().take_space_wanted()
    }
}
