//! Catalog of the pool behind one type: [`Control`](crate::Control) has no type parameter for the
//! pool, so that requests can be sent from other threads without naming its type.

use bytes::Bytes;
use futures_util::future::{FutureExt, LocalBoxFuture};
use pool::{
    BlockId, Catalog, CatalogChange, CheckStep, Growth, Incident, ObjectId, ObjectInfo, Place, PoolError, PoolSpace,
    ScanStep,
};

/// [`Catalog`] with boxed futures. Each method calls the one of the same name.
pub(crate) trait DynCatalog {
    fn new_object_id(&self) -> ObjectId;
    fn commit(&self, changes: Vec<CatalogChange>) -> LocalBoxFuture<'_, Result<(), PoolError>>;
    fn object(&self, id: ObjectId) -> Option<ObjectInfo>;
    fn objects(&self) -> Vec<ObjectInfo>;
    fn document(&self, key: &str) -> Option<Bytes>;
    fn documents(&self, prefix: &str) -> Vec<(String, Bytes)>;
    fn unique_bytes<'a>(&'a self, ids: &'a [ObjectId]) -> LocalBoxFuture<'a, Result<u64, PoolError>>;
    fn reclaim_zeros(&self, id: ObjectId, offset_bytes: u64) -> LocalBoxFuture<'_, Result<ScanStep, PoolError>>;
    fn verify(&self, id: ObjectId, offset_bytes: u64, anew: bool) -> LocalBoxFuture<'_, Result<ScanStep, PoolError>>;
    fn places_of(&self, blocks: Vec<BlockId>) -> LocalBoxFuture<'_, Result<Vec<Place>, PoolError>>;
    fn check_step(&self) -> LocalBoxFuture<'_, Result<CheckStep, PoolError>>;
    fn abandon_check(&self);
    fn recount(&self, id: ObjectId) -> LocalBoxFuture<'_, Result<(), PoolError>>;
    fn grow(&self, growth: Growth) -> LocalBoxFuture<'_, Result<(), PoolError>>;
    fn take_incidents(&self) -> Vec<Incident>;
    fn take_changed(&self, most: usize) -> Vec<ObjectId>;
    fn changes(&self) -> [u64; 2];
    fn space(&self) -> PoolSpace;
}

impl<C: Catalog> DynCatalog for C {
    fn new_object_id(&self) -> ObjectId {
        Catalog::new_object_id(self)
    }

    fn commit(&self, changes: Vec<CatalogChange>) -> LocalBoxFuture<'_, Result<(), PoolError>> {
        Catalog::commit(self, changes).boxed_local()
    }

    fn object(&self, id: ObjectId) -> Option<ObjectInfo> {
        Catalog::object(self, id)
    }

    fn objects(&self) -> Vec<ObjectInfo> {
        Catalog::objects(self)
    }

    fn document(&self, key: &str) -> Option<Bytes> {
        Catalog::document(self, key)
    }

    fn documents(&self, prefix: &str) -> Vec<(String, Bytes)> {
        Catalog::documents(self, prefix)
    }

    fn unique_bytes<'a>(&'a self, ids: &'a [ObjectId]) -> LocalBoxFuture<'a, Result<u64, PoolError>> {
        Catalog::unique_bytes(self, ids).boxed_local()
    }

    fn reclaim_zeros(&self, id: ObjectId, offset_bytes: u64) -> LocalBoxFuture<'_, Result<ScanStep, PoolError>> {
        Catalog::reclaim_zeros(self, id, offset_bytes).boxed_local()
    }

    fn verify(&self, id: ObjectId, offset_bytes: u64, anew: bool) -> LocalBoxFuture<'_, Result<ScanStep, PoolError>> {
        Catalog::verify(self, id, offset_bytes, anew).boxed_local()
    }

    fn places_of(&self, blocks: Vec<BlockId>) -> LocalBoxFuture<'_, Result<Vec<Place>, PoolError>> {
        Catalog::places_of(self, blocks).boxed_local()
    }

    fn check_step(&self) -> LocalBoxFuture<'_, Result<CheckStep, PoolError>> {
        Catalog::check_step(self).boxed_local()
    }

    fn abandon_check(&self) {
        Catalog::abandon_check(self);
    }

    fn recount(&self, id: ObjectId) -> LocalBoxFuture<'_, Result<(), PoolError>> {
        Catalog::recount(self, id).boxed_local()
    }

    fn grow(&self, growth: Growth) -> LocalBoxFuture<'_, Result<(), PoolError>> {
        Catalog::grow(self, growth).boxed_local()
    }

    fn take_incidents(&self) -> Vec<Incident> {
        Catalog::take_incidents(self)
    }

    fn take_changed(&self, most: usize) -> Vec<ObjectId> {
        Catalog::take_changed(self, most)
    }

    fn changes(&self) -> [u64; 2] {
        Catalog::changes(self)
    }

    fn space(&self) -> PoolSpace {
        Catalog::space(self)
    }
}
