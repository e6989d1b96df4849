//! `/api/v1/sessions`.

use crate::ArrayHandle;
use crate::http::extract::{Path, Query};
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{List, PageQuery, Session};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use control::{SessionDrop, SessionList};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(delete))
}

/// Lists all sessions.
#[utoipa::path(
    get,
    path = "/api/v1/sessions",
    tag = "sessions",
    params(PageQuery),
    responses((status = 200, body = List<Session>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    Query(page): Query<PageQuery>,
    uri: Uri,
) -> Result<Json<List<Session>>, Fault> {
    answer::page(&array, SessionList, page, &uri, convert::session).await
}

/// Ends a session; the initiator may log in again.
#[utoipa::path(
    delete,
    path = "/api/v1/sessions/{session}",
    tag = "sessions",
    params(("session" = u64, Path, description = "Number of the session")),
    responses((status = 204, description = "Dropped"))
)]
pub(super) async fn delete(State(array): State<ArrayHandle>, Path(session): Path<u64>) -> Result<StatusCode, Fault> {
    array.call(SessionDrop { id: session }).await?;
    Ok(StatusCode::NO_CONTENT)
}
