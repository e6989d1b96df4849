//! The store against a plain list of observations, through restarts, jumps of the clock and crashes.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod crash;
mod keeping;
mod last;
mod medium;
mod model;

use crate::{Class, Kind, Observation, Observed, Query, Series, Tier, Value};

/// Observation of a second with one value of one entity.
fn second(unix_seconds: i64, entity: &str, class: Class, value: f64) -> Observation {
    let value = Value { column: "ops", kind: Kind::Rate, value };
    let observed = Observed { entity: entity.to_owned(), class, values: vec![value] };
    Observation { unix_seconds, interval_ms: 1000, entities: vec![observed], units_are_cut: false }
}

/// Query of one series.
fn one(tier: Tier, entity: &str, class: Class, from: i64, points: usize) -> Query {
    let series = Series { entity: entity.to_owned(), class, column: "ops".to_owned(), kind: Kind::Rate };
    Query { tier, from, step_seconds: tier.step_seconds(), points, series: vec![series] }
}
