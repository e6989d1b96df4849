//! Forecast of a pool in words.

use crate::client::{Client, segment};
use crate::error::CliError;
use api::Forecast;
use jiff::Timestamp;

/// Reads the forecast of a pool, in words.
pub(crate) async fn of(pool: &str, client: &Client) -> Result<String, CliError> {
    let forecast = client.get::<Forecast>(&format!("/api/v1/pools/{}/forecast", segment(pool))).await?;
    Ok(in_words(&forecast, Timestamp::now()))
}

fn in_words(forecast: &Forecast, now: Timestamp) -> String {
    let Some(slope) = forecast.slope_bytes_per_day else {
        return format!("none yet: {} of 3 whole days of history", forecast.basis_days);
    };
    let size = |bytes: i64| api::size::format(bytes.unsigned_abs());
    let growth = match slope.mid {
        ..0 => format!("shrinks by {} a day", size(slope.mid)),
        0 => "does not grow".to_owned(),
        _ => format!("grows by {} a day", size(slope.mid)),
    };
    let days = |at: Timestamp| at.duration_since(now).as_hours().max(0) / 24;
    let Some(full_at) = forecast.full_at else { return growth };
    let band = match (forecast.full_earliest, forecast.full_latest) {
        (Some(earliest), Some(latest)) => format!(" ({} to {})", days(earliest), days(latest)),
        (Some(earliest), None) => format!(" ({} or more)", days(earliest)),
        _ => String::new(),
    };
    format!("full in about {} days{band} · {growth}", days(full_at))
}

#[cfg(test)]
mod tests {
    use super::in_words;
    use api::{Forecast, ForecastSlope};
    use jiff::{SignedDuration, Timestamp};

    #[test]
    fn words_have_the_band() {
        let now = Timestamp::UNIX_EPOCH;
        let at = |days: i64| Some(now + SignedDuration::from_hours(days * 24));
        let empty = Forecast {
            basis_days: 2,
            slope_bytes_per_day: None,
            warn_at: None,
            critical_at: None,
            full_at: None,
            full_earliest: None,
            full_latest: None,
        };
        assert_eq!(in_words(&empty, now), "none yet: 2 of 3 whole days of history");
        let slope = |mid| Some(ForecastSlope { low: mid / 2, mid, high: mid * 2 });
        let grows = Forecast { slope_bytes_per_day: slope(1 << 30), full_at: at(24), ..empty.clone() };
        assert_eq!(in_words(&grows, now), "full in about 24 days · grows by 1 GiB a day");
        let band = Forecast { full_earliest: at(20), full_latest: at(31), ..grows.clone() };
        assert_eq!(in_words(&band, now), "full in about 24 days (20 to 31) · grows by 1 GiB a day");
        let open = Forecast { full_earliest: at(20), ..grows };
        assert_eq!(in_words(&open, now), "full in about 24 days (20 or more) · grows by 1 GiB a day");
        let shrinks = Forecast { slope_bytes_per_day: slope(-(1 << 20)), ..empty };
        assert_eq!(in_words(&shrinks, now), "shrinks by 1 MiB a day");
    }
}
