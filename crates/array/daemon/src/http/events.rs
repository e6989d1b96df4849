//! `/api/v1/events`.

use crate::http::extract::ListQuery;
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{Event, EventFilter, List};
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use control::Start;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Number of events returned without a limit.
const DEFAULT_LIMIT: u32 = 100;

/// Lists past events, oldest first: the newest ones, unless the query says where to start or how to
/// sort. To follow the events, repeat the request with the largest `id` as `since`. Default of
/// `limit`: 100. Sort keys: `id`, `time`, `severity`, `code`, `subject`.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    operation_id = "event_list",
    tag = "events",
    params(api::ListQuery, EventFilter),
    responses((status = 200, body = List<Event>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    ListQuery { mut page, filter }: ListQuery<EventFilter>,
    uri: Uri,
) -> Result<Json<List<Event>>, Fault> {
    let EventFilter { since, severity, code, subject, from, until } = filter;
    let severity = severity.map(crate::severity::known_severity);
    let filter = control::EventFilter { severity, code, subject, from, until };
    page.limit.get_or_insert(DEFAULT_LIMIT);
    let mut page = answer::wanted(control::EventList { since, filter, limit: usize::MAX }, page)?;
    if page.start == Start::Beginning && page.sort.is_none() && since.is_none() {
        page.start = Start::End;
    }
    answer::page(&array, page, &uri, convert::event).await
}
