//! `/api/v1/codes`: what codes mean.

use crate::http::extract::{Path, Query};
use crate::http::problem::Fault;
use api::{Code, CodeFilter, List};
use axum::Json;
use control::{ControlError, Noun};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show))
}

/// Lists all codes that a user can meet, by kind: their meaning, causes, and what to do.
#[utoipa::path(
    get,
    path = "/api/v1/codes",
    operation_id = "code_list",
    tag = "system",
    params(CodeFilter),
    responses((status = 200, body = List<Code>))
)]
pub(super) async fn list(Query(CodeFilter { kind }): Query<CodeFilter>) -> Json<List<Code>> {
    Json(List::whole(Code::all(kind)))
}

/// Explains a code: an entry for each kind that has it. Sense data can also be written as hosts log it
/// (`0x5 0x26 0x0`).
#[utoipa::path(
    get,
    path = "/api/v1/codes/{code}",
    operation_id = "code_show",
    tag = "system",
    params(("code" = String, Path, description = "The code; of sense data KEY/ASC/ASCQ, each '/' as %2F")),
    responses((status = 200, body = List<Code>))
)]
pub(super) async fn show(Path(code): Path<String>) -> Result<Json<List<Code>>, Fault> {
    let found: Vec<Code> = explain::find(&code).into_iter().map(Code::from).collect();
    match found.is_empty() {
        true => Err(ControlError::NotFound { noun: Noun::Code, name: code }.into()),
        false => Ok(Json(List::whole(found))),
    }
}
