//! Shares: show. Each other verb has its own file.
//!
//! A share is an address space of the pool with a document. `control` creates it empty, in one
//! commit, and knows nothing of the files in it.

mod clone;
mod create;
mod delete;
pub(crate) mod error;
mod list;
pub(crate) mod record;
mod rollback;
mod set;
mod space;

pub use clone::ShareClone;
pub use create::ShareCreate;
pub use delete::ShareDelete;
pub use error::ShareError;
pub use list::{ShareHas, ShareList, SharesServed};
pub use record::{CopyPolicy, Protocols, RootRecord, ShareRecord};
pub use rollback::ShareRollback;
pub use set::ShareSet;
pub use space::{ShareIo, ShareIoView, ShareSpace};

use crate::condition::Noun;
use crate::control::Control;
use crate::error::ControlError;
use crate::exports::ExportView;
use crate::facts::Facts;
use crate::pools::count;
use crate::pools::state::Warning;
use crate::read::Read;
use crate::volumes::SourceView;
use crate::volumes::record::SourceRecord;
use pool::{ObjectId, ObjectInfo};

/// Shows one share.
#[derive(Clone, Debug)]
pub struct ShareShow {
    /// Name or id.
    pub share: String,
}

/// Share with its space and access.
#[derive(Clone, Debug)]
pub struct ShareView {
    /// Document of the share.
    pub record: ShareRecord,
    /// Name of its pool.
    pub pool: String,
    /// Object of the share: an address space, whose size no host sees.
    pub object: ObjectInfo,
    /// Bytes that deleting it would free; absent during the first count.
    pub unique_bytes: Option<u64>,
    /// Bytes that deleting all its snapshots together would free; absent during the first count.
    pub snapshot_bytes: Option<u64>,
    /// Number of its snapshots.
    pub snapshots: u64,
    /// Source of a clone.
    pub source: Option<SourceView>,
    /// Its export rules, the most exact first.
    pub exports: Vec<ExportView>,
    /// Addresses of the NFS server as hosts see them, `ADDRESS:PORT`; none if NFS is not served.
    pub portals: Vec<String>,
    /// Warnings about the consequences of the request that this view answers.
    pub warnings: Vec<Warning>,
}

impl Read for ShareShow {
    type Reply = ShareView;
    const NAME: &'static str = "share-show";
    const FRESH_COUNTS: bool = true;

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        let share = facts.directory().share(&self.share);
        share.map(|share| facts.counted_of(share.object, share.id).collect()).unwrap_or_default()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<ShareView, ControlError> {
        let record = facts.directory().share(&self.share)?;
        let gone = || ControlError::NotFound { noun: Noun::Share, name: record.name.clone() };
        facts.share_view(record.clone()).ok_or_else(gone)
    }
}

impl Control {
    /// Counts one share and returns its view. Errors: `NotFound` if it was deleted meanwhile.
    async fn show_share(&self, record: ShareRecord) -> Result<ShareView, ControlError> {
        let name = record.name.clone();
        self.count_content(record.object, record.id, &mut self.patience()).await;
        let view = self.see(|facts| facts.share_view(record));
        view.ok_or(ControlError::NotFound { noun: Noun::Share, name })
    }
}

impl dyn Facts + '_ {
    /// View of a share with its space and access; absent if it was deleted meanwhile.
    fn share_view(&self, record: ShareRecord) -> Option<ShareView> {
        let object = self.object(record.object)?;
        let unique_bytes = self.unique_bytes(&[record.object]);
        let (snapshot_bytes, directory) = (self.snapshot_bytes(record.id), self.directory());
        let snapshots = count(directory.snapshots_of(record.id).count());
        let source = record.source.map(|source| {
            let (snapshot, id) = match source {
                SourceRecord::Snapshot(id) => (true, id),
                SourceRecord::Share(id) | SourceRecord::Volume(id) => (false, id),
            };
            SourceView { snapshot, id, name: directory.source_name(source) }
        });
        let mut exports: Vec<ExportView> =
            directory.exports_by_share(record.id).map(|export| self.export_view(export)).collect();
        exports.sort_by_cached_key(ExportView::order);
        Some(ShareView {
            record,
            pool: self.pool_name().to_owned(),
            object,
            unique_bytes,
            snapshot_bytes,
            snapshots,
            source,
            exports,
            portals: self.nfs_portals(),
            warnings: Vec::new(),
        })
    }
}
