//! Samples: what hosts did in each second. The mirror compares the counters of what was used with
//! those a second before, so that the thread that owns the array has no work with it.

pub(crate) mod history;
pub(crate) mod latest;
pub(crate) mod observe;
pub(crate) mod recorder;
pub(crate) mod ring;
pub(crate) mod series;
pub(crate) mod slow;

pub use history::{History, HistoryFind, HistoryFound, HistoryView, SeriesView, StoredHistory, StoredSeries};
pub use latest::{BusyView, SampleLatest, SampleView, UnitView};
pub use observe::{ObservedSample, OffloadCountersRead, SampleObserve, UnitEntities};
pub use ring::{ArraySample, IoSample, PrimitiveSample, Sample};
pub use series::{EntitySample, Metric, SeriesList, SeriesPlace, share_entity, volume_entity};
pub use slow::{SlowCommands, SlowCommandsShow};
