//! `/api/v1/events` and `/api/v1/alerts`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::Query;
use crate::http::problem::Fault;
use api::{Alert, Event, EventQuery, List};
use axum::Json;
use axum::extract::State;

/// Events returned when no limit is given.
const DEFAULT_LIMIT: usize = 100;
/// Largest number of events returned.
const MAX_LIMIT: usize = 10_000;

/// Lists past events, oldest first. To follow the events, repeat the request with the largest `id`
/// as `since`.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    tag = "events",
    params(EventQuery),
    responses((status = 200, body = List<Event>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    Query(query): Query<EventQuery>,
) -> Result<Json<List<Event>>, Fault> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(MAX_LIMIT)).min(MAX_LIMIT);
    let events = array.call(control::EventList { since: query.since, limit }).await?;
    Ok(Json(List { items: events.into_iter().map(convert::event).collect() }))
}

/// Lists the conditions that need attention now, most severe first.
#[utoipa::path(get, path = "/api/v1/alerts", tag = "events", responses((status = 200, body = List<Alert>)))]
pub(super) async fn alerts(State(array): State<ArrayHandle>) -> Result<Json<List<Alert>>, Fault> {
    let alerts = array.call(control::AlertList).await?;
    Ok(Json(List { items: alerts.into_iter().map(convert::alert).collect() }))
}
