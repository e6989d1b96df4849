//! `/api/v1/snapshots` and `/api/v1/volumes/{volume}/snapshots`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::{Body, Path, made};
use crate::http::problem::Fault;
use api::{List, Problem, Snapshot, SnapshotCreate, SnapshotGroupCreate};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// Every snapshot, by volume and name.
#[utoipa::path(get, path = "/api/v1/snapshots", tag = "snapshots", responses((status = 200, body = List<Snapshot>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Snapshot>>, Fault> {
    many(&array, None).await
}

/// The snapshots of one volume.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/snapshots",
    tag = "snapshots",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = List<Snapshot>))
)]
pub(super) async fn list_of(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
) -> Result<Json<List<Snapshot>>, Fault> {
    many(&array, Some(volume)).await
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

/// Creates snapshots of several volumes at one instant, atomically. The name of an existing
/// snapshot of one of the volumes is refused (`exists`).
#[utoipa::path(
    post,
    path = "/api/v1/snapshots",
    tag = "snapshots",
    request_body = SnapshotGroupCreate,
    responses(
        (status = 201, description = "Taken", body = List<Snapshot>),
        (status = 409, description = "A volume has a snapshot of that name", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn create_group(
    State(array): State<ArrayHandle>,
    Body(SnapshotGroupCreate { volumes, name }): Body<SnapshotGroupCreate>,
) -> Result<Response, Fault> {
    let views = array.call(control::SnapshotGroup { volumes, name }).await?;
    Ok((StatusCode::CREATED, Json(List { items: views.into_iter().map(convert::snapshot).collect::<Vec<_>>() }))
        .into_response())
}

/// Returns one snapshot.
#[utoipa::path(
    get,
    path = "/api/v1/snapshots/{snapshot}",
    tag = "snapshots",
    params(("snapshot" = String, Path, description = "`volume@name`, id, or a name that is unique")),
    responses((status = 200, body = Snapshot))
)]
pub(super) async fn show(
    State(array): State<ArrayHandle>,
    Path(snapshot): Path<String>,
) -> Result<Json<Snapshot>, Fault> {
    Ok(Json(convert::snapshot(array.call(control::SnapshotShow { snapshot }).await?)))
}

/// Deletes a snapshot. Volumes cloned from it stay unchanged.
#[utoipa::path(
    delete,
    path = "/api/v1/snapshots/{snapshot}",
    tag = "snapshots",
    params(("snapshot" = String, Path, description = "`volume@name`, id, or a name that is unique")),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(
    State(array): State<ArrayHandle>,
    Path(snapshot): Path<String>,
) -> Result<StatusCode, Fault> {
    array.call(control::SnapshotDelete { snapshot }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn many(array: &ArrayHandle, volume: Option<String>) -> Result<Json<List<Snapshot>>, Fault> {
    let snapshots = array.call(control::SnapshotList { volume }).await?;
    Ok(Json(List { items: snapshots.into_iter().map(convert::snapshot).collect() }))
}
