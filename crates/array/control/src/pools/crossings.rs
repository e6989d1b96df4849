//! Thresholds that usage has reached, and their documents.

use crate::catalog::DynCatalog;
use crate::error::ControlError;
use crate::live::Level;
use crate::record::{Document, load};
use jiff::Timestamp;
use pool::CatalogChange;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Limit that usage can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mark {
    /// A threshold of the pool.
    Pool,
    /// End of the pool's space.
    PoolFull,
    /// A threshold of a volume.
    Volume(Uuid),
    /// A threshold of a share with a quota.
    Share(Uuid),
}

/// Reached mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrossingRecord {
    pub mark: Mark,
    pub level: Level,
    pub since: Timestamp,
}

impl Document for CrossingRecord {
    const PREFIX: &'static str = "crossing/";
    fn key(&self) -> String {
        match self.mark {
            Mark::Pool => format!("{}pool", Self::PREFIX),
            Mark::PoolFull => format!("{}pool-full", Self::PREFIX),
            Mark::Volume(volume) => format!("{}volume/{volume}", Self::PREFIX),
            Mark::Share(share) => format!("{}share/{share}", Self::PREFIX),
        }
    }
}

/// Reached marks.
pub(crate) struct Crossings {
    pub(super) reached: RefCell<BTreeMap<Mark, CrossingRecord>>,
    /// Marks whose documents differ from `reached`.
    pub(super) unsaved: RefCell<BTreeSet<Mark>>,
}

impl Crossings {
    pub fn load(catalog: &dyn DynCatalog) -> Result<Self, ControlError> {
        let reached = load::<CrossingRecord>(catalog)?.into_iter().map(|record| (record.mark, record)).collect();
        Ok(Self { reached: RefCell::new(reached), unsaved: RefCell::default() })
    }

    pub(super) fn level(&self, mark: Mark) -> Option<Level> {
        self.reached.borrow().get(&mark).map(|record| record.level)
    }

    /// Changes that write the documents of unsaved marks.
    pub(super) fn changes(&self) -> Result<Vec<CatalogChange>, ControlError> {
        let reached = self.reached.borrow();
        let change = |mark: &Mark| match reached.get(mark) {
            Some(record) => record.put(),
            None => Ok(CrossingRecord { mark: *mark, level: Level::Warning, since: Timestamp::UNIX_EPOCH }.delete()),
        };
        self.unsaved.borrow().iter().map(change).collect()
    }
}
