//! `/api/v1/sessions`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::Path;
use crate::http::problem::Fault;
use api::{List, Session};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use control::{SessionDrop, SessionList};

/// Every session.
#[utoipa::path(get, path = "/api/v1/sessions", tag = "sessions", responses((status = 200, body = List<Session>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Session>>, Fault> {
    let sessions = array.call(SessionList).await?;
    Ok(Json(List { items: sessions.into_iter().map(convert::session).collect() }))
}

/// Drops a session; the initiator may come back.
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
