//! Interface of the steps of jobs to the array.

use crate::catalog::DynCatalog;
use crate::directory::Directory;
use crate::error::ControlError;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use pool::{ObjectId, Place, PoolError};
use std::cell::Ref;

/// The array, as far as steps of jobs need it.
pub(super) trait Context {
    /// Catalog of the pool.
    fn catalog(&self) -> &dyn DynCatalog;
    /// Names of objects. Must not be borrowed across an await.
    fn directory(&self) -> Ref<'_, Directory>;
    /// Present time.
    fn now(&self) -> Timestamp;
    /// Converts an error of the pool.
    fn pool_error(&self, error: PoolError) -> ControlError;
    /// Raises an event for unreadable metadata, once per sentence, and returns the sentence with
    /// names. `object`: object that was being processed.
    fn report_damage(&self, sentence: &str, object: Option<ObjectId>) -> String;
    /// Raises an event for each range of bad blocks that has not been reported.
    fn report_bad(&self, places: Vec<Place>) -> LocalBoxFuture<'_, ()>;
}
