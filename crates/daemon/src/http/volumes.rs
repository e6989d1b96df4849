//! `/api/v1/volumes`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::{Body, Path, Query, made};
use crate::http::problem::Fault;
use api::{List, OffloadStatistics, Volume, VolumeCreate, VolumeDelete, VolumeSet};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{Action, Reply};

/// Every volume, by name.
#[utoipa::path(get, path = "/api/v1/volumes", tag = "volumes", responses((status = 200, body = List<Volume>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Volume>>, Fault> {
    let Reply::Volumes(volumes) = array.call(Action::VolumeList).await? else { return Err(Fault::UnexpectedReply) };
    Ok(Json(List { items: volumes.into_iter().map(convert::volume).collect() }))
}

/// Makes a volume, or a clone when `source` is given. The same request twice makes one volume.
#[utoipa::path(
    post,
    path = "/api/v1/volumes",
    tag = "volumes",
    request_body = VolumeCreate,
    responses(
        (status = 201, description = "Made", body = Volume),
        (status = 200, description = "It was there already, with the same parameters", body = Volume)
    )
)]
pub(super) async fn create(
    State(array): State<ArrayHandle>,
    Body(body): Body<VolumeCreate>,
) -> Result<Response, Fault> {
    let VolumeCreate { name, size_bytes, source, write_cache } = body;
    let action = Action::VolumeCreate(control::VolumeCreate { name, size_bytes, source, write_cache });
    let (volume, created) = one(array.call(action).await?)?;
    Ok(made(created, &format!("/api/v1/volumes/{}", volume.id), volume))
}

/// One volume.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}",
    tag = "volumes",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = Volume))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(volume): Path<String>) -> Result<Json<Volume>, Fault> {
    Ok(Json(one(array.call(Action::VolumeShow { volume }).await?)?.0))
}

/// Renames a volume, grows it, switches its write cache; all at once or nothing.
#[utoipa::path(
    patch,
    path = "/api/v1/volumes/{volume}",
    tag = "volumes",
    params(("volume" = String, Path, description = "Name or id")),
    request_body = VolumeSet,
    responses((status = 200, body = Volume))
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
    Body(body): Body<VolumeSet>,
) -> Result<Json<Volume>, Fault> {
    let VolumeSet { name, size_bytes, write_cache } = body;
    let action = Action::VolumeSet(control::VolumeSet { volume, name, size_bytes, write_cache });
    Ok(Json(one(array.call(action).await?)?.0))
}

/// Deletes a volume that nobody uses.
#[utoipa::path(
    delete,
    path = "/api/v1/volumes/{volume}",
    tag = "volumes",
    params(("volume" = String, Path, description = "Name or id"), VolumeDelete),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
    Query(query): Query<VolumeDelete>,
) -> Result<StatusCode, Fault> {
    array.call(Action::VolumeDelete { volume, with_snapshots: query.with_snapshots }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What each offload primitive did for one volume.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/offload",
    tag = "offload",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = List<OffloadStatistics>))
)]
pub(super) async fn offload(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
) -> Result<Json<List<OffloadStatistics>>, Fault> {
    super::offload::rows(&array, Some(volume)).await
}

/// The volume in a reply, and whether it is new.
fn one(reply: Reply) -> Result<(Volume, bool), Fault> {
    match reply {
        Reply::Volume { view, created } => Ok((convert::volume(*view), created)),
        _ => Err(Fault::UnexpectedReply),
    }
}
