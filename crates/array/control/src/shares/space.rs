//! `share stat`: space of a share, and its reads and writes.

use super::ShareRecord;
use crate::condition::Noun;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::live::VolumeCounters;
use crate::read::Read;
use crate::volumes::SpaceView;
use pool::ObjectId;
use unit::Primitive;

/// Shows the space of a share and the results of hosts' DEALLOCATE operations.
#[derive(Clone, Debug)]
pub struct ShareSpace {
    /// Name or id.
    pub share: String,
}

/// Shows the reads and writes of a share since the array started.
#[derive(Clone, Debug)]
pub struct ShareIo {
    /// Name or id.
    pub share: String,
}

/// Reads and writes of a share.
#[derive(Clone, Debug)]
pub struct ShareIoView {
    /// Document of the share.
    pub record: ShareRecord,
    /// Counters; absent until it is read or written.
    pub counters: Option<VolumeCounters>,
}

impl Read for ShareSpace {
    type Reply = SpaceView;
    const NAME: &'static str = "share-space";
    const FRESH_COUNTS: bool = true;

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        let Ok(share) = facts.directory().share(&self.share) else { return Vec::new() };
        let snapshots = facts.directory().snapshots_of(share.id).map(|snapshot| vec![snapshot.object]);
        facts.counted_of(share.object, share.id).chain(snapshots).collect()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<SpaceView, ControlError> {
        let record = facts.directory().share(&self.share)?;
        let gone = || ControlError::NotFound { noun: Noun::Share, name: self.share.clone() };
        facts.space_view(&record.name, record.object, record.id, Primitive::Free).ok_or_else(gone)
    }
}

impl Read for ShareIo {
    type Reply = ShareIoView;
    const NAME: &'static str = "share-io";

    fn answer(&self, facts: &dyn Facts) -> Result<ShareIoView, ControlError> {
        let record = facts.directory().share(&self.share)?.clone();
        let counters = facts.unit(record.object).counters;
        Ok(ShareIoView { record, counters })
    }
}
