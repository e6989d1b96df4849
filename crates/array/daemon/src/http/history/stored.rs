//! Requests for series, as queries of the stored history.

use crate::recording::kind;
use api::History;
use control::{SeriesPlace, StoredHistory, StoredSeries};
use history::{Class, Query, Series, Tier, Values};
use jiff::Timestamp;

/// Query for series: the tier that has the whole range in steps that are as fine as the points allow.
pub(super) fn query(wanted: &StoredHistory) -> Query {
    let (from, to) = (wanted.from.as_second(), wanted.to.as_second().max(wanted.from.as_second() + 1));
    let is_of_units = wanted.series.iter().any(|series| series.place.is_unit);
    let class = if is_of_units { Class::Unit } else { Class::Array };
    let step = from.abs_diff(to).div_ceil(wanted.points.max(1));
    let age = u64::try_from(wanted.now.as_second().saturating_sub(from)).unwrap_or(0);
    let tier = Tier::for_range(age, step, class);
    let step_seconds = step.div_ceil(tier.step_seconds()) * tier.step_seconds();
    let length = i64::try_from(step_seconds).unwrap_or(i64::MAX);
    let start = from.div_euclid(length).saturating_mul(length);
    let all = u64::try_from((to - 1).saturating_sub(start) / length).unwrap_or(0) + 1;
    // Aligned steps may be one more than the points; the last ones are returned.
    let surplus = all.saturating_sub(wanted.points);
    let from = start.saturating_add(i64::try_from(surplus.saturating_mul(step_seconds)).unwrap_or(0));
    let series = wanted.series.iter().map(|StoredSeries { place, .. }| {
        let SeriesPlace { entity, column, is_unit, is_rate } = place.clone();
        let class = if is_unit { Class::Unit } else { Class::Array };
        Series { entity, class, column: column.to_owned(), kind: kind(is_rate) }
    });
    let points = usize::try_from(all - surplus).unwrap_or(usize::MAX);
    Query { tier, from, step_seconds, points, series: series.collect() }
}

/// Reply with values of the stored history.
pub(super) fn history(wanted: StoredHistory, values: Values) -> History {
    let Values { start, step_seconds, series } = values;
    let length = i64::try_from(step_seconds).unwrap_or(i64::MAX);
    let convert = |(wanted, points): (StoredSeries, Vec<Option<(f64, f64)>>)| {
        let created = wanted.created.map(Timestamp::as_second);
        let ends = (1..).map(|step: i64| start.saturating_add(step.saturating_mul(length)));
        // A volume has no rate of 0 before it exists.
        let known = |(point, end): (Option<(f64, f64)>, i64)| point.filter(|_| created.is_none_or(|at| end > at));
        let (average, max) = points.into_iter().zip(ends).map(known).map(Option::unzip).unzip();
        api::Series { name: wanted.name, unit: wanted.unit.to_owned(), average, max }
    };
    let series = wanted.series.into_iter().zip(series).map(convert).collect();
    History { start: Timestamp::from_second(start).unwrap_or(Timestamp::MIN), step_seconds, series }
}

#[cfg(test)]
mod tests {
    use super::{history, query};
    use control::{SeriesPlace, StoredHistory, StoredSeries};
    use history::{Tier, Values};
    use jiff::{SignedDuration, Timestamp};

    const NOW: i64 = 1_800_000_123;

    fn wanted(age: i64, points: u64, is_unit: bool) -> StoredHistory {
        let now = Timestamp::constant(NOW, 0);
        let place = SeriesPlace { entity: "array".to_owned(), column: "read_ops", is_unit, is_rate: true };
        let series = vec![StoredSeries { name: "one".to_owned(), unit: "1/s", place, created: None }];
        StoredHistory { now, from: now - SignedDuration::from_secs(age), to: now, points, series }
    }

    /// Every range has at most as many points as asked for, and they reach its end.
    #[test]
    fn a_range_has_no_more_points_than_asked_for() {
        for age in [700, 3600, 86_400, 7 * 86_400, 30 * 86_400, 400 * 86_400] {
            for points in [1, 2, 60, 300, 1000] {
                for is_unit in [false, true] {
                    let query = query(&wanted(age, points, is_unit));
                    assert!(query.points as u64 <= points && query.points > 0, "{age} {points}: {query:?}");
                    assert_eq!(query.step_seconds % query.tier.step_seconds(), 0);
                    let end = query.from + (query.points as u64 * query.step_seconds) as i64;
                    assert!(end >= NOW && end <= NOW + query.step_seconds as i64, "{age} {points}: {query:?}");
                }
            }
        }
        let tiers = [3600, 86_400, 7 * 86_400, 30 * 86_400].map(|age| query(&wanted(age, 300, false)).tier);
        assert_eq!(tiers, [Tier::Seconds, Tier::Seconds, Tier::Minutes, Tier::Hours]);
        assert_eq!(query(&wanted(3600, 300, true)).tier, Tier::Minutes);
    }

    #[test]
    fn a_volume_has_no_values_before_it_was_created() {
        let mut wanted = wanted(1200, 4, true);
        wanted.series[0].created = Some(Timestamp::constant(1_800_000_350, 0));
        let zeros = vec![Some((0.0, 0.0)); 3];
        let history = history(wanted, Values { start: 1_800_000_000, step_seconds: 300, series: vec![zeros] });
        assert_eq!(history.series[0].average, [None, Some(0.0), Some(0.0)]);
        assert_eq!(history.series[0].max, [None, Some(0.0), Some(0.0)]);
    }
}
