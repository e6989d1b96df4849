//! `/api/v1/offload`.

use crate::http::answer::listing;
use crate::http::extract::Query;
use crate::http::history::unavailable;
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use crate::recording::Recording;
use api::{
    List, OffloadBy, OffloadFilter, OffloadRefusal, OffloadStatistics, OffloadTotals, OffloadTotalsQuery, RefusalQuery,
};
use axum::extract::State;
use axum::{Extension, Json};
use control::Primitive;
use jiff::{SignedDuration, Timestamp};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(statistics)).routes(routes!(totals)).routes(routes!(log))
}

/// Number of entries returned without a limit.
const DEFAULT_LIMIT: usize = 100;
/// Seconds of a day.
const DAY_SECONDS: i64 = 24 * 3600;
/// Largest number of entries returned.
const MAX_LIMIT: usize = 10_000;

listing! {
    /// Returns statistics of each primitive for each volume and share since the array started, or for each client of
    /// each share. Sort keys: `volume`, `primitive`, `commands`, `refused`, `bytes`, `host_bytes_avoided`, `p99_us`.
    "offload_statistics" statistics, "/api/v1/offload/stats", "offload", OffloadFilter => wanted, OffloadStatistics,
    convert::offload
}

fn wanted(OffloadFilter { volume, by }: OffloadFilter) -> Result<control::OffloadStatistics, Fault> {
    Ok(control::OffloadStatistics { volume, noun: None, by_client: by == Some(OffloadBy::Client) })
}

/// Returns counters of each primitive of the whole array: of today, of 30 days, and since the history began. They go on
/// over restarts, and outlive volumes and shares.
#[utoipa::path(
    get,
    path = "/api/v1/offload/totals",
    operation_id = "offload_totals",
    tag = "offload",
    params(OffloadTotalsQuery),
    responses((status = 200, body = OffloadTotals))
)]
pub(super) async fn totals(
    Extension(recording): Extension<Recording>,
    Query(OffloadTotalsQuery { day }): Query<OffloadTotalsQuery>,
) -> Result<Json<OffloadTotals>, Fault> {
    let now = Timestamp::now();
    let midnight = now.as_second().div_euclid(DAY_SECONDS) * DAY_SECONDS;
    let day = day.map_or(midnight, Timestamp::as_second);
    let month = now.saturating_sub(SignedDuration::from_hours(30 * 24)).map_or(i64::MIN, Timestamp::as_second);
    let sums = move |store: &history::Store| {
        let counters = store.counters();
        Ok((counters.since(), counters.all().clone(), counters.from(month), counters.from(day)))
    };
    let (since, all, days_30, today) = recording.look(sums).await.map_err(unavailable)?;
    let since = Timestamp::from_second(since).unwrap_or(Timestamp::MIN);
    let [all, days_30, today] = [&all, &days_30, &today].map(convert::offload_sums);
    Ok(Json(OffloadTotals { since, all, days_30, today }))
}

/// Lists commands that were refused, failed, or succeeded without the benefit of the offload, with
/// the reasons; oldest first. Commands of one host that differ in their times and values alone, and come within a
/// minute, are one entry with a `count`. To follow the log, repeat the request with the largest `sequence` as `since`;
/// with the largest one less 16, the list also has all entries that have grown since. The numbers begin again at every
/// start of the array.
#[utoipa::path(
    get,
    path = "/api/v1/offload/log",
    operation_id = "offload_log",
    tag = "offload",
    params(RefusalQuery),
    responses((status = 200, body = List<OffloadRefusal>))
)]
pub(super) async fn log(
    State(array): State<ArrayHandle>,
    Query(query): Query<RefusalQuery>,
) -> Result<Json<List<OffloadRefusal>>, Fault> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(MAX_LIMIT)).min(MAX_LIMIT);
    let RefusalQuery { since, volume, host, primitive, ending, from, until, limit: _ } = query;
    let primitive = primitive.as_deref().map(primitive_named).transpose()?;
    let ending = ending.map(convert::wanted_ending);
    let filter = control::OffloadLogFilter { volume, host, primitive, ending, from, until };
    answer::list(&array, control::OffloadLog { since, filter, limit }, convert::refusal).await
}

fn primitive_named(name: &str) -> Result<Primitive, Fault> {
    Primitive::ALL.into_iter().find(|primitive| primitive.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known = Primitive::ALL.map(Primitive::name).join(", ");
        Fault::malformed(format!("there is no primitive {name:?}; the primitives are {known}"))
    })
}
