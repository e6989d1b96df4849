//! `/api/v1/trash`.

use crate::http::answer;
use crate::http::answer::listing;
use crate::http::convert;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path};
use crate::http::problem::Fault;
use api::{Restored, TrashEmptied, TrashRestore, Trashed};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list, empty)).routes(routes!(delete)).routes(routes!(restore))
}

listing! {
    /// Lists what is in the trash, by the time at which it goes: volumes, shares, and snapshots that were deleted
    /// alone. Sort keys: `until`, `deleted`, `name`, `unique_bytes`.
    "trash_list" list, "/api/v1/trash", "trash", NoFilter => |_| Ok(control::TrashList), Trashed, convert::trashed
}

/// Deletes for good all that is in the trash.
#[utoipa::path(
    delete,
    path = "/api/v1/trash",
    operation_id = "trash_empty",
    tag = "trash",
    responses((status = 200, body = TrashEmptied))
)]
pub(super) async fn empty(State(array): State<ArrayHandle>, dry_run: DryRun) -> Result<Response, Fault> {
    delete_for_good(&array, dry_run, control::TrashEmpty::default()).await
}

async fn delete_for_good(
    array: &ArrayHandle,
    dry_run: DryRun,
    request: control::TrashEmpty,
) -> Result<Response, Fault> {
    if dry_run.0 {
        return dry_run::answer(array, request).await;
    }
    let deleted = array.call(request).await?;
    Ok(Json(TrashEmptied { deleted }).into_response())
}

/// Deletes for good one object in the trash, with the snapshots that were deleted with it.
#[utoipa::path(
    delete,
    path = "/api/v1/trash/{item}",
    operation_id = "trash_delete",
    tag = "trash",
    params(("item" = String, Path, description = "Id, or a name that is unique in the trash")),
    responses((status = 200, body = TrashEmptied))
)]
pub(super) async fn delete(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    Path(item): Path<String>,
) -> Result<Response, Fault> {
    delete_for_good(&array, dry_run, control::TrashEmpty { item: Some(item) }).await
}

/// Restores one object from the trash, with the snapshots that were deleted with it. It keeps its
/// identity: hosts see the same NAA designator again.
#[utoipa::path(
    post,
    path = "/api/v1/trash/{item}/restore",
    operation_id = "trash_restore",
    tag = "trash",
    params(("item" = String, Path, description = "Id, or a name that is unique in the trash")),
    request_body = TrashRestore,
    responses((status = 200, body = Restored))
)]
pub(super) async fn restore(
    State(array): State<ArrayHandle>,
    Path(item): Path<String>,
    Body(TrashRestore { kind, name, grants }): Body<TrashRestore>,
) -> Result<Json<Restored>, Fault> {
    let request = control::TrashRestore { item, noun: kind.map(convert::trash_noun), name, grants };
    answer::change(&array, request, convert::restored).await
}
