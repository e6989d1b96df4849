//! `/api/v1/snapshots` and `/api/v1/volumes/{volume}/snapshots`.

use crate::http::extract::{Body, Path, Query, made};
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{List, PageQuery, Problem, Snapshot, SnapshotCreate, SnapshotGroupCreate};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new()
        .routes(routes!(list_of, create))
        .routes(routes!(list, create_group))
        .routes(routes!(show, delete))
}

/// Lists all snapshots, by volume or share, and name.
#[utoipa::path(
    get,
    path = "/api/v1/snapshots",
    tag = "snapshots",
    params(PageQuery),
    responses((status = 200, body = List<Snapshot>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    Query(page): Query<PageQuery>,
    uri: Uri,
) -> Result<Json<List<Snapshot>>, Fault> {
    many(&array, None, page, &uri).await
}

/// Lists the snapshots of one volume.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/snapshots",
    tag = "snapshots",
    params(("volume" = String, Path, description = "Name or id"), PageQuery),
    responses((status = 200, body = List<Snapshot>))
)]
pub(super) async fn list_of(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
    Query(page): Query<PageQuery>,
    uri: Uri,
) -> Result<Json<List<Snapshot>>, Fault> {
    many(&array, Some(volume), page, &uri).await
}

/// Creates a snapshot. The name of an existing snapshot of the volume is refused (`exists`).
#[utoipa::path(
    post,
    path = "/api/v1/volumes/{volume}/snapshots",
    tag = "snapshots",
    params(("volume" = String, Path, description = "Name or id")),
    request_body = SnapshotCreate,
    responses(
        (status = 201, description = "Taken", body = Snapshot),
        (status = 409, description = "The volume has a snapshot of that name", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn create(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
    Body(body): Body<SnapshotCreate>,
) -> Result<Response, Fault> {
    let view = array.call(control::SnapshotCreate { volume, name: body.name }).await?;
    let snapshot = convert::snapshot(view);
    Ok(made(true, &format!("/api/v1/snapshots/{}", snapshot.id), snapshot))
}

/// Creates snapshots of several volumes and shares at one instant, atomically. The name of an
/// existing snapshot of one of them is refused (`exists`).
#[utoipa::path(
    post,
    path = "/api/v1/snapshots",
    tag = "snapshots",
    request_body = SnapshotGroupCreate,
    responses(
        (status = 201, description = "Taken", body = List<Snapshot>),
        (status = 409, description = "One of them has a snapshot of that name", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn create_group(
    State(array): State<ArrayHandle>,
    Body(SnapshotGroupCreate { volumes, name }): Body<SnapshotGroupCreate>,
) -> Result<Response, Fault> {
    let views = array.call(control::SnapshotGroup { volumes, name }).await?;
    Ok((
        StatusCode::CREATED,
        Json(List { items: views.into_iter().map(convert::snapshot).collect::<Vec<_>>(), next: None }),
    )
        .into_response())
}

/// Returns one snapshot.
#[utoipa::path(
    get,
    path = "/api/v1/snapshots/{snapshot}",
    tag = "snapshots",
    params(("snapshot" = String, Path, description = "`volume@name`, `share@name`, id, or a name that is unique")),
    responses((status = 200, body = Snapshot))
)]
pub(super) async fn show(
    State(array): State<ArrayHandle>,
    Path(snapshot): Path<String>,
) -> Result<Json<Snapshot>, Fault> {
    answer::show(&array, control::SnapshotShow { snapshot }, convert::snapshot).await
}

/// Deletes a snapshot. Volumes and shares cloned from it stay unchanged.
#[utoipa::path(
    delete,
    path = "/api/v1/snapshots/{snapshot}",
    tag = "snapshots",
    params(("snapshot" = String, Path, description = "`volume@name`, `share@name`, id, or a name that is unique")),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(
    State(array): State<ArrayHandle>,
    Path(snapshot): Path<String>,
) -> Result<StatusCode, Fault> {
    array.call(control::SnapshotDelete { snapshot }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn many(
    array: &ArrayHandle,
    volume: Option<String>,
    page: PageQuery,
    uri: &Uri,
) -> Result<Json<List<Snapshot>>, Fault> {
    answer::page(array, control::SnapshotList { volume }, page, uri, convert::snapshot).await
}
