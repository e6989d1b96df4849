//! Catalog of the pool behind one type: [`Control`](crate::Control) has no type parameter for the
//! pool, so that requests can be sent from other threads without naming its type.

use crate::environment::yield_now;
use bytes::Bytes;
use futures_util::future::{FutureExt, LocalBoxFuture};
use pool::{
    BlockId, Catalog, CatalogChange, CheckStep, Growth, Incident, ObjectId, ObjectInfo, Place, PoolError, PoolSpace,
    Reshare, ReshareStep, Revision, ScanStep,
};

/// Number of objects that [`each_object`] holds.
const OBJECTS_AT_ONCE: usize = 1024;

/// [`Catalog`] with boxed futures. Each method calls the one of the same name.
pub(crate) trait DynCatalog {
    fn new_object_id(&self) -> ObjectId;
    fn commit(&self, changes: Vec<CatalogChange>) -> LocalBoxFuture<'_, Result<(), PoolError>>;
    fn object(&self, id: ObjectId) -> Option<ObjectInfo>;
    fn objects_from(&self, from: ObjectId, most: usize) -> Vec<ObjectInfo>;
    fn captures(&self) -> Vec<ObjectId>;
    fn last_object_id(&self) -> ObjectId;
    fn document(&self, key: &str) -> Option<Bytes>;
    fn documents(&self, prefix: &str) -> Vec<(String, Bytes)>;
    fn unique_bytes<'a>(&'a self, ids: &'a [ObjectId]) -> LocalBoxFuture<'a, Result<u64, PoolError>>;
    fn reclaim_zeros(&self, id: ObjectId, offset_bytes: u64) -> LocalBoxFuture<'_, Result<ScanStep, PoolError>>;
    fn reshare(&self, reshare: Reshare) -> LocalBoxFuture<'_, Result<ReshareStep, PoolError>>;
    fn verify(&self, id: ObjectId, offset_bytes: u64, anew: bool) -> LocalBoxFuture<'_, Result<ScanStep, PoolError>>;
    fn places_of(&self, blocks: Vec<BlockId>) -> LocalBoxFuture<'_, Result<Vec<Place>, PoolError>>;
    fn check_step(&self) -> LocalBoxFuture<'_, Result<CheckStep, PoolError>>;
    fn abandon_check(&self);
    fn recount(&self, id: ObjectId) -> LocalBoxFuture<'_, Result<(), PoolError>>;
    fn grow(&self, growth: Growth) -> LocalBoxFuture<'_, Result<(), PoolError>>;
    fn take_incidents(&self) -> Vec<Incident>;
    fn take_changed(&self, most: usize) -> Vec<ObjectId>;
    fn changes(&self) -> Revision;
    fn space(&self) -> PoolSpace;
    fn offer_space(&self, is_made: bool);
    fn take_space_wanted(&self) -> bool;
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

    fn objects_from(&self, from: ObjectId, most: usize) -> Vec<ObjectInfo> {
        Catalog::objects_from(self, from, most)
    }

    fn captures(&self) -> Vec<ObjectId> {
        Catalog::captures(self)
    }

    fn last_object_id(&self) -> ObjectId {
        Catalog::last_object_id(self)
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

    fn reshare(&self, reshare: Reshare) -> LocalBoxFuture<'_, Result<ReshareStep, PoolError>> {
        Catalog::reshare(self, reshare).boxed_local()
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

    fn changes(&self) -> Revision {
        Catalog::changes(self)
    }

    fn space(&self) -> PoolSpace {
        Catalog::space(self)
    }

    fn offer_space(&self, is_made: bool) {
        Catalog::offer_space(self, is_made);
    }

    fn take_space_wanted(&self) -> bool {
        Catalog::take_space_wanted(self)
    }
}

/// Calls `visit` with each object, by id. A pool may have ten million of them, so only a few are in
/// memory at once, and other tasks run meanwhile.
pub(crate) async fn each_object(catalog: &dyn DynCatalog, mut visit: impl FnMut(&ObjectInfo)) {
    let mut from = ObjectId(0);
    loop {
        let objects = catalog.objects_from(from, OBJECTS_AT_ONCE);
        objects.iter().for_each(&mut visit);
        let Some(next) = objects.last().and_then(|last| last.id.0.checked_add(1)) else { return };
        from = ObjectId(next);
        yield_now().await;
    }
}

/// First object that `wanted` accepts, from `from` on and up to `last`.
pub(crate) async fn first_object(
    catalog: &dyn DynCatalog,
    mut from: ObjectId,
    last: ObjectId,
    wanted: impl Fn(&ObjectInfo) -> bool,
) -> Option<ObjectId> {
    // The first one is often the wanted one.
    let mut most = 1;
    loop {
        let objects = catalog.objects_from(from, most);
        most = OBJECTS_AT_ONCE.min(4 * most);
        if let Some(found) = objects.iter().find(|object| object.id > last || wanted(object)) {
            return (found.id <= last).then_some(found.id);
        }
        from = ObjectId(objects.last()?.id.0.checked_add(1)?);
        yield_now().await;
    }
}
