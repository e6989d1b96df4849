//! `/api/v1/sessions`.

use crate::http::answer::listing;
use crate::http::dry_run::DryRun;
use crate::http::extract::Path;
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{Session, SessionFilter};
use axum::extract::State;
use axum::response::Response;
use control::{SessionDrop, SessionList};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(delete))
}

listing! {
    /// Lists sessions, by number. Sort keys: `id`, `initiator`, `host`, `portal`, `since`, `last_io`, `commands`,
    /// `read_bytes`, `written_bytes`.
    "session_list" list, "/api/v1/sessions", "sessions", SessionFilter => wanted, Session, convert::session
}

fn wanted(SessionFilter { host, portal }: SessionFilter) -> Result<SessionList, Fault> {
    Ok(SessionList { host, portal })
}

/// Ends a session; the initiator may log in again.
#[utoipa::path(
    delete,
    path = "/api/v1/sessions/{session}",
    operation_id = "session_delete",
    tag = "sessions",
    params(("session" = u64, Path, description = "Number of the session")),
    responses((status = 204, description = "Dropped"))
)]
pub(super) async fn delete(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    Path(session): Path<u64>,
) -> Result<Response, Fault> {
    answer::without_body(&array, dry_run, SessionDrop { id: session }).await
}
