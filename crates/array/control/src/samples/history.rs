//! Values of series on a grid of time: of the last minutes from samples in memory, and what to read of
//! earlier ones, which the management plane stores.

use super::ring::KEPT;
use super::series::{Series, SeriesPlace};
use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use jiff::{SignedDuration, Timestamp};

/// Largest number of series of a request.
const MAX_SERIES: usize = 32;
/// Largest number of points of a series.
const MAX_POINTS: u64 = 1000;

/// Age beyond which the start of a request is not in memory any more; a request for all of it may be a little
/// older when it arrives.
const IN_MEMORY: SignedDuration = SignedDuration::from_secs(KEPT.as_secs() + 60);

/// Reads series of values of the last ten minutes.
#[derive(Clone, Debug)]
pub struct History {
    /// Names of the series, 1 to 32: see [`SeriesList`](super::SeriesList).
    pub series: Vec<String>,
    /// Start; default: ten minutes ago.
    pub from: Option<Timestamp>,
    /// End; default: the present time.
    pub to: Option<Timestamp>,
    /// Most points of a series, 1 to 1000.
    pub points: u64,
}

/// Values of series. All have the same points.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryView {
    /// Time of the first point: the start of its step.
    pub start: Timestamp,
    /// Seconds from one point to the next.
    pub step_seconds: u64,
    /// Series, in the order of the request.
    pub series: Vec<SeriesView>,
}

/// Values of one series. A point without a value is a gap: no sample is known, nothing happened that
/// has the value, or the volume or share did not exist or was not among the busiest.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesView {
    /// Name.
    pub name: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Mean of the values of each step.
    pub average: Vec<Option<f64>>,
    /// Largest value of each step.
    pub max: Vec<Option<f64>>,
}

/// Finds series of values of any age.
#[derive(Clone, Debug)]
pub struct HistoryFind(pub History);

/// Series of values, or where they are.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryFound {
    /// Values of the last ten minutes.
    Recent(HistoryView),
    /// What to read of the stored history.
    Stored(StoredHistory),
}

/// Series of the stored history, and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHistory {
    /// Present time.
    pub now: Timestamp,
    /// Start.
    pub from: Timestamp,
    /// End; after the start.
    pub to: Timestamp,
    /// Most points of a series.
    pub points: u64,
    /// Series, in the order of the request.
    pub series: Vec<StoredSeries>,
}

/// Series of the stored history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSeries {
    /// Name in the request.
    pub name: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Where it is stored.
    pub place: SeriesPlace,
    /// Creation of the volume or share; earlier points have no value.
    pub created: Option<Timestamp>,
}

impl Read for HistoryFind {
    type Reply = HistoryFound;
    const NAME: &'static str = "history-find";

    fn answer(&self, facts: &dyn Facts) -> Result<HistoryFound, ControlError> {
        let history = &self.0;
        history.check()?;
        let now = facts.now();
        let series: Vec<Series> =
            history.series.iter().map(|name| Series::parse(name, facts)).collect::<Result<_, _>>()?;
        let oldest = now.saturating_sub(KEPT).unwrap_or(Timestamp::MIN);
        let from = history.from.unwrap_or(oldest);
        if series.iter().all(Series::is_sampled) && now.duration_since(from) <= IN_MEMORY {
            return Ok(HistoryFound::Recent(history.answer(facts)?));
        }
        let to = history.to.unwrap_or(now).min(now);
        if from >= to {
            return Err(ControlError::InvalidQuery("the start is not before the end, or not in the past".to_owned()));
        }
        let stored = |(name, series): (&String, Series)| StoredSeries {
            name: name.clone(),
            unit: series.unit(),
            place: series.place(facts),
            created: series.created(),
        };
        let series = history.series.iter().zip(series).map(stored).collect();
        Ok(HistoryFound::Stored(StoredHistory { now, from, to, points: history.points, series }))
    }
}

impl History {
    /// Errors: `InvalidQuery` for a number of series or points that no reply has.
    fn check(&self) -> Result<(), ControlError> {
        let refused = |detail: String| Err(ControlError::InvalidQuery(detail));
        if self.series.is_empty() || self.series.len() > MAX_SERIES {
            return refused(format!("a request has 1 to {MAX_SERIES} series"));
        }
        if !(1..=MAX_POINTS).contains(&self.points) {
            return refused(format!("a series has 1 to {MAX_POINTS} points"));
        }
        Ok(())
    }
}

impl Read for History {
    type Reply = HistoryView;
    const NAME: &'static str = "history-show";

    fn answer(&self, facts: &dyn Facts) -> Result<HistoryView, ControlError> {
        let refused = |detail: String| Err(ControlError::InvalidQuery(detail));
        self.check()?;
        let to = self.to.unwrap_or(facts.now());
        let oldest = facts.now().saturating_sub(KEPT).unwrap_or(Timestamp::MIN);
        let from = self.from.unwrap_or(oldest);
        if from >= to {
            return refused("the start is not before the end".to_owned());
        }
        // Nothing is known before the oldest sample, and nothing of the future.
        let (from, to) = (from.max(oldest), to.min(facts.now()).max(oldest));
        let span = u64::try_from(to.duration_since(from).as_secs()).unwrap_or(0).max(1);
        let step_seconds = span.div_ceil(self.points);
        let grid = Grid::new(from, to, step_seconds, self.points);
        let series = self.series.iter().map(|name| {
            let series = Series::parse(name, facts)?;
            let samples = facts.samples().into_iter().flat_map(|samples| samples.iter());
            let (average, max) = grid.values(samples.map(|sample| (sample.at, series.value(sample))));
            Ok(SeriesView { name: name.clone(), unit: series.unit(), average, max })
        });
        let series = series.collect::<Result<_, ControlError>>()?;
        Ok(HistoryView { start: grid.start, step_seconds, series })
    }
}

/// Start of the step with this time. Steps begin at multiples of their length since 1970, so that
/// the same time is in the same step in each request.
fn aligned(time: Timestamp, step_seconds: u64) -> Timestamp {
    let step = i64::try_from(step_seconds).unwrap_or(i64::MAX);
    let second = time.as_second();
    Timestamp::from_second(second - second.rem_euclid(step)).unwrap_or(time)
}

/// Points in time.
struct Grid {
    start: Timestamp,
    step_seconds: u64,
    points: u64,
}

impl Grid {
    /// Steps from one time to another, which has the last step: the last ones, if they are more than
    /// `most`.
    fn new(from: Timestamp, to: Timestamp, step_seconds: u64, most: u64) -> Self {
        let start = aligned(from, step_seconds);
        let seconds = u64::try_from(to.duration_since(start).as_secs()).unwrap_or(0);
        let all = seconds / step_seconds + 1;
        let surplus = all.saturating_sub(most);
        let skipped = i64::try_from(surplus * step_seconds).unwrap_or(0);
        let start = start.saturating_add(SignedDuration::from_secs(skipped)).unwrap_or(start);
        Self { start, step_seconds, points: all - surplus }
    }

    /// Mean and largest value of each step.
    fn values(&self, samples: impl Iterator<Item = (Timestamp, Option<f64>)>) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
        let points = usize::try_from(self.points).unwrap_or(0);
        let mut steps: Vec<(f64, u32, Option<f64>)> = vec![(0.0, 0, None); points];
        for (at, value) in samples {
            let Some(value) = value else { continue };
            let since = at.duration_since(self.start);
            if since < SignedDuration::ZERO {
                continue;
            }
            let step = u64::try_from(since.as_secs()).unwrap_or(u64::MAX) / self.step_seconds;
            let Some((sum, count, max)) = usize::try_from(step).ok().and_then(|step| steps.get_mut(step)) else {
                continue;
            };
            *sum += value;
            *count += 1;
            *max = Some(max.map_or(value, |max| max.max(value)));
        }
        let average = steps.iter().map(|(sum, count, _)| (*count > 0).then(|| sum / f64::from(*count))).collect();
        (average, steps.into_iter().map(|(_, _, max)| max).collect())
    }
}
