//! Values of series on a grid of time.

use crate::class::{Class, Kind};
use crate::page::Cell;
use crate::tier::Tier;

/// Series and times of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Rows that are read.
    pub tier: Tier,
    /// Start of the first point in seconds since 1970; the reply begins with the step that has it.
    pub from: i64,
    /// Distance of points: rounded up to a multiple of the step of the tier.
    pub step_seconds: u64,
    /// Number of points.
    pub points: usize,
    /// Series.
    pub series: Vec<Series>,
}

/// A value of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Entity.
    pub entity: String,
    /// Class of the entity.
    pub class: Class,
    /// Name of the value.
    pub column: String,
    /// Kind of the value.
    pub kind: Kind,
}

/// Values of series. A point without a value is a gap: there were no observations, or the value was
/// not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// Start of the first point in seconds since 1970.
    pub start: i64,
    /// Distance of points.
    pub step_seconds: u64,
    /// Means and maxima of the points of each series, in the order of the query.
    pub series: Vec<Vec<Option<(f64, f64)>>>,
}

/// Times of the points of a reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub start: i64,
    pub step_seconds: i64,
    points: usize,
}

/// Sums of a series at the points of a grid.
#[derive(Debug)]
pub(crate) struct Sums(Vec<Sum>);

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    weighted: f64,
    ms: f64,
    max: Option<f64>,
}

impl Grid {
    pub fn new(query: &Query) -> Self {
        let row = query.tier.step_seconds();
        let rounded = query.step_seconds.max(1).div_ceil(row).saturating_mul(row);
        let step_seconds = i64::try_from(rounded).unwrap_or(i64::MAX);
        let start = query.from.div_euclid(step_seconds).saturating_mul(step_seconds);
        Self { start, step_seconds, points: query.points }
    }

    /// End of the last point.
    pub fn end(&self) -> i64 {
        let length = self.step_seconds.saturating_mul(i64::try_from(self.points).unwrap_or(i64::MAX));
        self.start.saturating_add(length)
    }

    /// Point that has a time.
    fn point(&self, unix_seconds: i64) -> Option<usize> {
        let since = unix_seconds.checked_sub(self.start).filter(|since| *since >= 0)?;
        usize::try_from(since / self.step_seconds).ok().filter(|point| *point < self.points)
    }
}

impl Sums {
    pub fn new(grid: &Grid) -> Self {
        Self(vec![Sum::default(); grid.points])
    }

    /// Adds the value of a row that begins at this time.
    pub fn add(&mut self, grid: &Grid, unix_seconds: i64, cell: &Cell) {
        let Some(sum) = grid.point(unix_seconds).and_then(|point| self.0.get_mut(point)) else { return };
        let (average, max) = (f64::from(cell.average), f64::from(cell.max));
        if cell.weight_ms > 0 && average.is_finite() && max.is_finite() {
            let ms = f64::from(cell.weight_ms);
            sum.weighted += average * ms;
            sum.ms += ms;
            sum.max = Some(sum.max.map_or(max, |known| known.max(max)));
        }
    }

    /// Means and maxima. `presence` and `own`: time in which absent values are known to be 0, and further
    /// time that counts for the entity alone.
    pub fn values(&self, kind: Kind, presence: &Self, own: &Self) -> Vec<Option<(f64, f64)>> {
        let value = |((sum, presence), own): ((&Sum, &Sum), &Sum)| match kind {
            Kind::Level => sum.max.map(|max| (sum.weighted / sum.ms, max)),
            Kind::Rate => {
                let ms = sum.ms.max(presence.ms + own.ms);
                (ms > 0.0).then(|| (sum.weighted / ms, sum.max.unwrap_or(0.0)))
            }
        };
        self.0.iter().zip(&presence.0).zip(&own.0).map(value).collect()
    }
}
