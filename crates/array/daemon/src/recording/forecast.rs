//! Forecasts of a pool from its history.

use super::{Recording, Unavailable};
use control::{ControlError, ForecastView, PoolForecast, PoolForecastBasis};
use history::{Class, Kind, Query, Series, Tier};
use reactor::ArrayHandle;

/// Whole days from which a forecast is made.
const DAYS: usize = 30;
const DAY_SECONDS: i64 = 24 * 3600;

/// Reason why there is no forecast.
#[derive(Debug)]
pub(crate) enum Unforeseen {
    /// The array refused the request.
    Refused(ControlError),
    /// The history cannot be read.
    Unavailable(Unavailable),
}

impl Recording {
    /// Forecast of a pool. Errors: `NotFound` for an unknown one; the history cannot be read.
    pub(crate) async fn forecast(&self, array: &ArrayHandle, pool: String) -> Result<ForecastView, Unforeseen> {
        let basis = PoolForecastBasis { pool: pool.clone() };
        let (now, entity, column) = array.read(basis).await.map_err(Unforeseen::Refused)?;
        // The present day is not whole: its mean is not that of a day.
        let today = now.as_second().div_euclid(DAY_SECONDS) * DAY_SECONDS;
        let days = i64::try_from(DAYS).unwrap_or(i64::MAX);
        let series = Series { entity, class: Class::Array, column: column.to_owned(), kind: Kind::Level };
        let query = Query {
            tier: Tier::Hours,
            from: today.saturating_sub(days.saturating_mul(DAY_SECONDS)),
            step_seconds: DAY_SECONDS.unsigned_abs(),
            points: DAYS,
            series: vec![series],
        };
        let values = self.look(move |store| store.query(&query)).await.map_err(Unforeseen::Unavailable)?;
        let daily = values.series.into_iter().flatten().map(|point| point.map(|(average, _)| average)).collect();
        array.read(PoolForecast { pool, daily }).await.map_err(Unforeseen::Refused)
    }
}
