//! `/api/v1/volumes`.

use crate::ArrayHandle;
use crate::http::extract::{Body, Path, Query, made};
use crate::http::problem::Fault;
use crate::http::{convert, jobs};
use api::{
    Job, JobStart, List, OffloadStatistics, TreeNode, Volume, VolumeCreate, VolumeDelete, VolumeRollback, VolumeSet,
    VolumeSpace,
};
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
    let VolumeCreate { name, size_bytes, source, write_cache, reserve, overwrite_reserve_percent, zero_detection } =
        body;
    let action = Action::VolumeCreate(control::VolumeCreate {
        name,
        size_bytes,
        source,
        write_cache,
        reserve: reserve.map(convert::reserve),
        overwrite_reserve_percent,
        zero_detection,
    });
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

/// Changes name, size and settings of a volume; all at once or nothing.
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
    let VolumeSet {
        name,
        size_bytes,
        write_cache,
        reserve,
        overwrite_reserve_percent,
        zero_detection,
        warn_percent,
        critical_percent,
    } = body;
    let unless_zero = |percent: u8| (percent != 0).then_some(percent);
    let action = Action::VolumeSet(control::VolumeSet {
        volume,
        name,
        size_bytes,
        write_cache,
        reserve: reserve.map(convert::reserve),
        overwrite_reserve_percent,
        zero_detection,
        warn_percent: warn_percent.map(unless_zero),
        critical_percent: critical_percent.map(unless_zero),
    });
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

/// Where the space of a volume is, and where what hosts unmapped went.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/space",
    tag = "volumes",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = VolumeSpace))
)]
pub(super) async fn space(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
) -> Result<Json<VolumeSpace>, Fault> {
    let reply = array.call(Action::VolumeSpace { volume }).await?;
    let Reply::Space(space) = reply else { return Err(Fault::UnexpectedReply) };
    Ok(Json(convert::space(*space)))
}

/// Starts a job that gives back blocks of zeros that are stored.
#[utoipa::path(
    post,
    path = "/api/v1/volumes/{volume}/reclaim",
    tag = "volumes",
    params(("volume" = String, Path, description = "Name or id")),
    request_body = JobStart,
    responses(
        (status = 202, description = "Started", body = Job),
        (status = 200, description = "One runs already", body = Job)
    )
)]
pub(super) async fn reclaim(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
    Body(JobStart { share_percent }): Body<JobStart>,
) -> Result<Response, Fault> {
    jobs::start(&array, Action::VolumeReclaim { volume, share_percent }).await
}

/// Gives a volume the content and size of one of its snapshots.
#[utoipa::path(
    post,
    path = "/api/v1/volumes/{volume}/rollback",
    tag = "volumes",
    params(("volume" = String, Path, description = "Name or id")),
    request_body = VolumeRollback,
    responses((status = 200, body = Volume))
)]
pub(super) async fn rollback(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
    Body(VolumeRollback { snapshot, force, keep }): Body<VolumeRollback>,
) -> Result<Json<Volume>, Fault> {
    let action = Action::VolumeRollback(control::VolumeRollback { volume, snapshot, force, keep });
    Ok(Json(one(array.call(action).await?)?.0))
}

/// The volume, its snapshots, their clones, and so on; each after what it comes from.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/tree",
    tag = "snapshots",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = List<TreeNode>))
)]
pub(super) async fn tree(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
) -> Result<Json<List<TreeNode>>, Fault> {
    let reply = array.call(Action::SnapshotTree { volume }).await?;
    let Reply::Tree(nodes) = reply else { return Err(Fault::UnexpectedReply) };
    Ok(Json(List { items: nodes.into_iter().map(convert::tree_node).collect() }))
}

/// The volume in a reply, and whether it is new.
fn one(reply: Reply) -> Result<(Volume, bool), Fault> {
    match reply {
        Reply::Volume { view, created } => Ok((convert::volume(*view), created)),
        _ => Err(Fault::UnexpectedReply),
    }
}
