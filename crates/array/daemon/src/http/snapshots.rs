//! `/api/v1/snapshots` and `/api/v1/volumes/{volume}/snapshots`.

use crate::http::answer;
use crate::http::answer::listing;
use crate::http::convert;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, Query, made};
use crate::http::locks;
use crate::http::problem::Fault;
use crate::http::revision::{self, IfMatch};
use crate::people::Caller;
use api::{
    List, OwnSnapshotFilter, Problem, Snapshot, SnapshotCreate, SnapshotDelete, SnapshotFilter, SnapshotGroupCreate,
    SnapshotLock, SnapshotPin, Trashed,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use jiff::Timestamp;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new()
        .routes(routes!(list_of, create))
        .routes(routes!(list, create_group))
        .routes(routes!(show, delete))
        .routes(routes!(lock))
        .routes(routes!(pin))
}

listing! {
    /// Lists snapshots, by volume or share, and name. Sort keys: `name`, `volume`, `mapped_bytes`, `unique_bytes`,
    /// `created`.
    "snapshot_list" list, "/api/v1/snapshots", "snapshots", SnapshotFilter => wanted, Snapshot, convert::snapshot
}

fn wanted(SnapshotFilter { volume, older_than }: SnapshotFilter) -> Result<control::SnapshotList, Fault> {
    Ok(control::SnapshotList { volume, older_than })
}

listing! {
    /// Lists the snapshots of one volume, by name. Sort keys: `name`, `volume`, `mapped_bytes`, `unique_bytes`,
    /// `created`.
    "volume_snapshots" list_of, "/api/v1/volumes/{volume}/snapshots" of "volume", "snapshots",
    OwnSnapshotFilter => own, Snapshot, convert::snapshot
}

fn own(volume: String, filter: OwnSnapshotFilter) -> Result<control::SnapshotList, Fault> {
    Ok(control::SnapshotList { volume: Some(volume), older_than: filter.older_than })
}

/// Creates a snapshot. The name of an existing snapshot of the volume is refused (`exists`).
#[utoipa::path(
    post,
    path = "/api/v1/volumes/{volume}/snapshots",
    operation_id = "volume_snapshot_create",
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
    operation_id = "snapshot_create",
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
    Ok((StatusCode::CREATED, Json(List::whole(views.into_iter().map(convert::snapshot).collect::<Vec<_>>())))
        .into_response())
}

/// Returns one snapshot.
#[utoipa::path(
    get,
    path = "/api/v1/snapshots/{snapshot}",
    operation_id = "snapshot_show",
    tag = "snapshots",
    params(("snapshot" = String, Path, description = "`volume@name`, `share@name`, id, or a name that is unique")),
    responses((status = 200, body = Snapshot))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(snapshot): Path<String>) -> Result<Response, Fault> {
    revision::show(&array, control::SnapshotShow { snapshot }, convert::snapshot).await
}

/// Deletes a snapshot: to the trash, unless `now` is given or the trash is off. Volumes and shares cloned from it
/// stay unchanged.
#[utoipa::path(
    delete,
    path = "/api/v1/snapshots/{snapshot}",
    operation_id = "snapshot_delete",
    tag = "snapshots",
    params(
        ("snapshot" = String, Path, description = "`volume@name`, `share@name`, id, or a name that is unique"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it"),
        SnapshotDelete
    ),
    responses(
        (status = 200, description = "In the trash", body = Trashed),
        (status = 204, description = "Deleted for good")
    )
)]
pub(super) async fn delete(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    condition: IfMatch,
    Path(snapshot): Path<String>,
    Query(SnapshotDelete { now }): Query<SnapshotDelete>,
) -> Result<Response, Fault> {
    let present = control::SnapshotShow { snapshot: snapshot.clone() };
    let request = control::SnapshotDelete { snapshot, now };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, convert::snapshot).await;
    }
    revision::discard(&array, condition, request, present, convert::snapshot).await
}

/// Locks a snapshot, or makes its lock longer. Until its end nobody can delete the snapshot, end the
/// lock or make it shorter; while it is kept, a lock may fill the pool. A lock of more than 30 days needs the role
/// admin.
#[utoipa::path(
    post,
    path = "/api/v1/snapshots/{snapshot}/lock",
    operation_id = "snapshot_lock",
    tag = "snapshots",
    params(("snapshot" = String, Path, description = "`volume@name`, `share@name`, id, or a name that is unique")),
    request_body = SnapshotLock,
    responses((status = 200, body = Snapshot))
)]
pub(super) async fn lock(
    State(array): State<ArrayHandle>,
    Extension(caller): Extension<Caller>,
    Path(snapshot): Path<String>,
    Body(SnapshotLock { until }): Body<SnapshotLock>,
) -> Result<Json<Snapshot>, Fault> {
    locks::check(&caller, until.duration_since(Timestamp::now()))?;
    answer::change(&array, control::SnapshotLock { snapshot, until }, convert::snapshot).await
}

/// Pins a snapshot, which the rules of its schedule then leave alone, or releases it to them.
#[utoipa::path(
    post,
    path = "/api/v1/snapshots/{snapshot}/pin",
    operation_id = "snapshot_pin",
    tag = "snapshots",
    params(("snapshot" = String, Path, description = "`volume@name`, `share@name`, id, or a name that is unique")),
    request_body = SnapshotPin,
    responses((status = 200, body = Snapshot))
)]
pub(super) async fn pin(
    State(array): State<ArrayHandle>,
    Path(snapshot): Path<String>,
    Body(SnapshotPin { pinned }): Body<SnapshotPin>,
) -> Result<Json<Snapshot>, Fault> {
    answer::change(&array, control::SnapshotPin { snapshot, pinned }, convert::snapshot).await
}
