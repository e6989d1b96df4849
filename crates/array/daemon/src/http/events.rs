//! `/api/v1/events`.

use crate::http::extract::Query;
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{Event, EventQuery, List};
use axum::Json;
use axum::extract::State;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Number of events returned without a limit.
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
    let filter = control::EventFilter {
        severity: query.severity.map(convert::wanted_severity),
        code: query.code,
        subject: query.subject,
        from: query.from,
    };
    answer::list(&array, control::EventList { since: query.since, filter, limit }, convert::event).await
}
