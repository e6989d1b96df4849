//! Scrub job: reads all stored data from the medium and verifies it. Data shared by several volumes
//! and snapshots is read once.

use super::{Context, JobKind, JobReport, Kind, PoolResult, Progress};
use crate::catalog::DynCatalog;
use crate::error::ControlError;
use crate::pools::integrity::MAX_BAD_RANGES;
use crate::pools::ranges::bad_ranges;
use crate::pools::record::{BadRange, ScrubRecord};
use crate::record::object_id;
use futures_util::future::{FutureExt, LocalBoxFuture, ready};
use jiff::Timestamp;
use pool::{BlockId, ObjectId, PoolError, ScanStep};
use serde::{Deserialize, Serialize};

/// Largest number of listed bad blocks; further ones are only counted.
const LISTED_BLOCKS: usize = 1024;
/// Largest number of stored sentences about metadata.
const LISTED_SENTENCES: usize = 20;

/// Largest length of such a sentence.
const MAX_SENTENCE_CHARACTERS: usize = 300;

/// State of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Work {
    started: Timestamp,
    /// Object being read: the first one with this or a greater id.
    #[serde(with = "object_id")]
    object: ObjectId,
    offset_bytes: u64,
    /// Last object. Later ones are not read: their data is shared or was written during the scrub.
    #[serde(with = "object_id")]
    last: ObjectId,
    expected_bytes: u64,
    verified_bytes: u64,
    /// True if the pool has no state of this pass, at its start or after a restart.
    anew: bool,
    /// Distinct bad blocks.
    blocks: Vec<u64>,
    unlisted: u64,
    ranges: Vec<BadRange>,
    damaged: Vec<String>,
}

impl Work {
    pub fn new(catalog: &dyn DynCatalog, now: Timestamp) -> Self {
        let space = catalog.space();
        let last = catalog.last_object_id();
        Self {
            started: now,
            object: ObjectId(0),
            offset_bytes: 0,
            last,
            expected_bytes: space.used_bytes.saturating_sub(space.metadata_bytes),
            verified_bytes: 0,
            anew: true,
            blocks: Vec::new(),
            unlisted: 0,
            ranges: Vec::new(),
            damaged: Vec::new(),
        }
    }

    fn bad_blocks(&self) -> u64 {
        u64::try_from(self.blocks.len()).unwrap_or(u64::MAX).saturating_add(self.unlisted)
    }

    fn record(&self, finished: Timestamp) -> ScrubRecord {
        ScrubRecord {
            started: self.started,
            finished,
            verified_bytes: self.verified_bytes,
            bad_blocks: self.bad_blocks(),
            bad: self.ranges.clone(),
            damaged: self.damaged.clone(),
        }
    }

    /// Performs one step. Returns false at the end.
    pub async fn step(&mut self, context: &dyn Context, progress: &mut Progress) -> Result<bool, ControlError> {
        let present = context.catalog().object(self.object);
        let next = present.or_else(|| context.catalog().objects_from(self.object, 1).pop());
        let Some(object) = next.map(|object| object.id).filter(|id| *id <= self.last) else {
            self.locate(context).await;
            return Ok(false);
        };
        if object != self.object {
            (self.object, self.offset_bytes) = (object, 0);
        }
        let step = match context.catalog().verify(object, self.offset_bytes, self.anew).await {
            Ok(step) => step,
            // The object was deleted.
            Err(_) if context.catalog().object(object).is_none() => {
                (self.object, self.offset_bytes) = (ObjectId(object.0 + 1), 0);
                return Ok(true);
            }
            // The rest of the object cannot be reached.
            Err(PoolError::Damaged(reason)) => ScanStep { damaged: vec![reason], ..ScanStep::default() },
            Err(error) => return Err(context.pool_error(error)),
        };
        self.anew = false;
        self.verified_bytes = self.verified_bytes.saturating_add(step.scanned_bytes);
        progress.done = progress.done.saturating_add(step.scanned_bytes);
        for sentence in step.damaged {
            let sentence: String = sentence.chars().take(MAX_SENTENCE_CHARACTERS).collect();
            let told = context.report_damage(&sentence, Some(object));
            if self.damaged.len() < LISTED_SENTENCES && !self.damaged.contains(&told) {
                self.damaged.push(told);
            }
        }
        let mut found = Vec::new();
        for place in step.bad {
            if self.blocks.contains(&place.block.0) {
                continue;
            }
            if self.blocks.len() < LISTED_BLOCKS {
                self.blocks.push(place.block.0);
                found.push(place);
            } else {
                self.unlisted = self.unlisted.saturating_add(1);
            }
        }
        if !found.is_empty() {
            context.report_bad(found).await;
        }
        match step.next {
            Some(next) => self.offset_bytes = next,
            None => (self.object, self.offset_bytes) = (ObjectId(object.0 + 1), 0),
        }
        Ok(true)
    }

    /// Finds the volumes and snapshots that the bad blocks belong to now.
    async fn locate(&mut self, context: &dyn Context) {
        if self.blocks.is_empty() {
            return;
        }
        let blocks: Vec<BlockId> = self.blocks.iter().copied().map(BlockId).collect();
        if let Ok(places) = context.catalog().places_of(blocks).await {
            self.ranges = bad_ranges(&context.directory(), &places);
            self.ranges.truncate(MAX_BAD_RANGES);
        }
    }
}

impl Kind for Work {
    fn kind(&self) -> JobKind {
        JobKind::Scrub
    }

    fn expected<'a>(&'a self, _catalog: &'a dyn DynCatalog) -> LocalBoxFuture<'a, Progress> {
        ready(Progress { done: 0, total: self.expected_bytes }).boxed_local()
    }

    fn resume(&mut self, _progress: &mut Progress) {
        self.anew = true;
    }

    fn report(&self, now: Timestamp) -> JobReport {
        JobReport::Scrub(self.record(now))
    }

    fn summary(&self) -> String {
        let damaged = if self.damaged.is_empty() { "" } else { ", and metadata that cannot be read" };
        let verified = text::size::format(self.verified_bytes);
        match self.bad_blocks() {
            0 => format!("{verified} verified, no bad block{damaged}"),
            1 => format!("{verified} verified, 1 bad block{damaged}"),
            bad => format!("{verified} verified, {bad} bad blocks{damaged}"),
        }
    }

    fn is_clean(&self) -> bool {
        self.bad_blocks() == 0 && self.damaged.is_empty()
    }

    fn pool_result(&self, now: Timestamp) -> Option<PoolResult> {
        Some(PoolResult::Scrub(self.record(now)))
    }
}
