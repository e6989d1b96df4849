//! Forecast of a pool: when it is full at its present growth.

use super::PoolShow;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use crate::samples::series::{USED_BYTES, pool_entity};
use jiff::{SignedDuration, Timestamp};

/// Least number of days with known values.
const LEAST_DAYS: usize = 3;
/// A forecast beyond this many days says nothing.
const MOST_DAYS: f64 = 3650.0;
const DAY_SECONDS: f64 = 86_400.0;

/// Finds the place in the stored history of the values from which the forecast of a pool is made.
#[derive(Clone, Debug)]
pub struct PoolForecastBasis {
    /// Name of the pool.
    pub pool: String,
}

impl Read for PoolForecastBasis {
    /// Present time, entity and name of the value.
    type Reply = (Timestamp, String, &'static str);
    const NAME: &'static str = "pool-forecast-basis";

    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError> {
        let pool = PoolShow { pool: self.pool.clone() }.answer(facts)?;
        Ok((facts.now(), pool_entity(&pool.name), USED_BYTES))
    }
}

/// Makes the forecast of a pool.
#[derive(Clone, Debug)]
pub struct PoolForecast {
    /// Name of the pool.
    pub pool: String,
    /// Mean of the used bytes of each of the last whole days, oldest first; `None` of a day without values.
    pub daily: Vec<Option<f64>>,
}

/// Forecast of a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForecastView {
    /// Number of days with known values.
    pub basis_days: u32,
    /// Growth in bytes a day; absent with fewer than three days.
    pub slope: Option<Slope>,
    /// Time at which the pool reaches its threshold for a warning; absent without growth, if it has reached it, and
    /// if that is more than ten years away. So are the following.
    pub warn_at: Option<Timestamp>,
    /// Time at which it reaches its threshold for a critical alert.
    pub critical_at: Option<Timestamp>,
    /// Time at which it is full.
    pub full_at: Option<Timestamp>,
    /// The same with the upper quartile of the growth.
    pub full_earliest: Option<Timestamp>,
    /// The same with the lower quartile of the growth.
    pub full_latest: Option<Timestamp>,
}

/// Growth in bytes a day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Lower quartile of the days.
    pub low: f64,
    /// Median.
    pub mid: f64,
    /// Upper quartile.
    pub high: f64,
}

impl Read for PoolForecast {
    type Reply = ForecastView;
    const NAME: &'static str = "pool-forecast";

    fn answer(&self, facts: &dyn Facts) -> Result<ForecastView, ControlError> {
        PoolShow { pool: self.pool.clone() }.answer(facts)?;
        let pool = facts.pool();
        let days = self.daily.iter().flatten().count();
        let slope = if days < LEAST_DAYS { None } else { slope(&self.daily) };
        let size = pool.space.size_bytes as f64;
        let taken = (pool.space.used_bytes.saturating_add(pool.space.promised_bytes)) as f64;
        let at = |level: f64, growth: Option<f64>| reached(facts.now(), level - taken, growth?);
        let of_size = |percent: u8| size * f64::from(percent) / 100.0;
        Ok(ForecastView {
            basis_days: u32::try_from(days).unwrap_or(u32::MAX),
            slope,
            warn_at: at(of_size(pool.limits.warn_percent), slope.map(|slope| slope.mid)),
            critical_at: at(of_size(pool.limits.critical_percent), slope.map(|slope| slope.mid)),
            full_at: at(size, slope.map(|slope| slope.mid)),
            full_earliest: at(size, slope.map(|slope| slope.high)),
            full_latest: at(size, slope.map(|slope| slope.low)),
        })
    }
}

/// Time at which `bytes` more are used.
fn reached(now: Timestamp, bytes: f64, growth: f64) -> Option<Timestamp> {
    // False, too, if one of them is no number.
    let is_ahead = bytes > 0.0 && growth > 0.0 && bytes / growth <= MOST_DAYS;
    if !is_ahead {
        return None;
    }
    now.checked_add(SignedDuration::from_secs((bytes / growth * DAY_SECONDS) as i64)).ok()
}

/// Median and quartiles of the growth from one known day to the next known one.
fn slope(daily: &[Option<f64>]) -> Option<Slope> {
    let mut slopes = Vec::new();
    let mut before: Option<(usize, f64)> = None;
    for (day, value) in daily.iter().enumerate() {
        let Some(value) = value else { continue };
        if let Some((other, known)) = before {
            slopes.push((value - known) / (day - other) as f64);
        }
        before = Some((day, *value));
    }
    slopes.sort_by(f64::total_cmp);
    Some(Slope { low: quantile(&slopes, 0.25)?, mid: quantile(&slopes, 0.5)?, high: quantile(&slopes, 0.75)? })
}

/// Value below which this share of sorted values is, between two of them in proportion.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * sorted.len().checked_sub(1)? as f64;
    let (lower, upper) = (sorted.get(place.floor() as usize)?, sorted.get(place.ceil() as usize)?);
    Some(lower + (upper - lower) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::{Slope, reached, slope};
    use jiff::{SignedDuration, Timestamp};

    #[test]
    fn the_growth_is_the_median_of_days() {
        let steady = |days: usize| (0..days).map(|day| Some(day as f64 * 10.0)).collect::<Vec<_>>();
        assert_eq!(slope(&steady(30)), Some(Slope { low: 10.0, mid: 10.0, high: 10.0 }));
        // One day on which a large volume was deleted changes little; a mean would be negative.
        let mut dropped = steady(30);
        dropped.iter_mut().skip(20).flatten().for_each(|value| *value -= 1000.0);
        assert_eq!(slope(&dropped), Some(Slope { low: 10.0, mid: 10.0, high: 10.0 }));
        // Days without values count for as many days as they are.
        let gaps = vec![Some(0.0), None, None, Some(60.0), Some(70.0), Some(100.0)];
        assert_eq!(slope(&gaps), Some(Slope { low: 15.0, mid: 20.0, high: 25.0 }));
        assert_eq!(slope(&[Some(5.0)]), None);
        assert_eq!(slope(&[]), None);
    }

    #[test]
    fn a_level_is_reached_only_by_growth() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(reached(now, 100.0, 10.0), Some(now + SignedDuration::from_hours(240)));
        assert_eq!(reached(now, 100.0, 0.0), None);
        assert_eq!(reached(now, 100.0, -5.0), None);
        assert_eq!(reached(now, 0.0, 5.0), None);
        assert_eq!(reached(now, 1e15, 1.0), None);
        assert_eq!(reached(now, 1.0, f64::NAN), None);
    }
}
