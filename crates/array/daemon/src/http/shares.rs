//! `/api/v1/shares`.

use crate::http::answer::listing;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, Query, made};
use crate::http::problem::Fault;
use crate::http::revision::{self, IfMatch};
use crate::http::{answer, convert};
use api::{
    List, OffloadStatistics, OwnSnapshotFilter, Problem, Share, ShareCreate, ShareDelete, ShareFilter, ShareHost,
    ShareIo, ShareRollback, ShareSet, ShareSpace, Snapshot, SnapshotCreate, Trashed,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::Noun;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, set, delete))
        .routes(routes!(rollback))
        .routes(routes!(host))
        .routes(routes!(space))
        .routes(routes!(io))
        .routes(routes!(offload))
        .routes(routes!(snapshots, take_snapshot))
}

listing! {
    /// Lists shares, by name. Sort keys: `name`, `mapped_bytes`, `unique_bytes`, `snapshot_bytes`, `snapshots`,
    /// `created`.
    "share_list" list, "/api/v1/shares", "shares", ShareFilter => wanted, Share, convert::share
}

fn wanted(ShareFilter { host, has }: ShareFilter) -> Result<control::ShareList, Fault> {
    Ok(control::ShareList { host, has: has.map(convert::share_has) })
}

/// Creates a share, or a clone if `source` is given.
///
/// Repeating the request for an empty share has no effect: the share keeps the files that it has by
/// then. The name of an existing share is refused for a clone (`exists`).
#[utoipa::path(
    post,
    path = "/api/v1/shares",
    operation_id = "share_create",
    tag = "shares",
    request_body = ShareCreate,
    responses(
        (status = 201, description = "Created", body = Share),
        (status = 200, description = "It already existed, with the same parameters and without `source`", body = Share)
    )
)]
pub(super) async fn create(State(array): State<ArrayHandle>, Body(body): Body<ShareCreate>) -> Result<Response, Fault> {
    let (changed, view) = match body.source.clone() {
        Some(source) => {
            let name = body.name.clone();
            if body != (ShareCreate { name: name.clone(), source: Some(source.clone()), ..ShareCreate::default() }) {
                let detail = "a clone is like its source: source excludes all other fields except name".to_owned();
                return Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail });
            }
            (true, array.call(control::ShareClone { source, name }).await?)
        }
        None => {
            let outcome = array.call(empty(body)?).await?;
            (outcome.changed, outcome.view)
        }
    };
    let share = convert::share(view);
    Ok(made(changed, &format!("/api/v1/shares/{}", share.id), share))
}

/// Request for an empty share, with defaults.
fn empty(body: ShareCreate) -> Result<control::ShareCreate, Fault> {
    let ShareCreate { name, source: _, pool, owner_uid, owner_gid, mode, protocols, copy, quota_bytes } = body;
    let defaults = control::ShareCreate::new(name);
    Ok(control::ShareCreate {
        pool,
        owner: (owner_uid.unwrap_or(defaults.owner.0), owner_gid.unwrap_or(defaults.owner.1)),
        mode: mode.as_deref().map_or(Ok(defaults.mode), convert::mode)?,
        protocols: protocols.as_deref().map_or(defaults.protocols, convert::protocols),
        copy: copy.map_or(defaults.copy, convert::wanted_copy_policy),
        quota_bytes: quota_bytes.filter(|bytes| *bytes > 0),
        ..defaults
    })
}

/// Returns one share.
#[utoipa::path(
    get,
    path = "/api/v1/shares/{share}",
    operation_id = "share_show",
    tag = "shares",
    params(("share" = String, Path, description = "Name or id")),
    responses((status = 200, body = Share))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(share): Path<String>) -> Result<Response, Fault> {
    revision::show(&array, control::ShareShow { share }, convert::share).await
}

/// Returns whether a host may use a share: for each address of the host the export rule that decides, as the NFS server
/// applies it.
#[utoipa::path(
    get,
    path = "/api/v1/shares/{share}/hosts/{host}",
    operation_id = "share_host_show",
    tag = "shares",
    params(
        ("share" = String, Path, description = "Name or id"),
        ("host" = String, Path, description = "Name or id")
    ),
    responses(
        (status = 200, body = ShareHost),
        (status = 409, description = "NFS is not served", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn host(
    State(array): State<ArrayHandle>,
    Path((share, host)): Path<(String, String)>,
) -> Result<Json<ShareHost>, Fault> {
    answer::change(&array, control::ExportCheck { share, host }, convert::share_host).await
}

/// Returns the space used by a share, and the space that hosts have deallocated.
#[utoipa::path(
    get,
    path = "/api/v1/shares/{share}/space",
    operation_id = "share_space",
    tag = "shares",
    params(("share" = String, Path, description = "Name or id")),
    responses((status = 200, body = ShareSpace))
)]
pub(super) async fn space(
    State(array): State<ArrayHandle>,
    Path(share): Path<String>,
) -> Result<Json<ShareSpace>, Fault> {
    answer::show(&array, control::ShareSpace { share }, convert::share_space).await
}

/// Returns the reads and writes of a share since the array started.
#[utoipa::path(
    get,
    path = "/api/v1/shares/{share}/io",
    operation_id = "share_io",
    tag = "shares",
    params(("share" = String, Path, description = "Name or id")),
    responses((status = 200, body = ShareIo))
)]
pub(super) async fn io(State(array): State<ArrayHandle>, Path(share): Path<String>) -> Result<Json<ShareIo>, Fault> {
    answer::show(&array, control::ShareIo { share }, convert::share_io).await
}

/// Returns statistics of each offload primitive for one share.
#[utoipa::path(
    get,
    path = "/api/v1/shares/{share}/offload",
    operation_id = "share_offload",
    tag = "offload",
    params(("share" = String, Path, description = "Name or id")),
    responses((status = 200, body = List<OffloadStatistics>))
)]
pub(super) async fn offload(
    State(array): State<ArrayHandle>,
    Path(share): Path<String>,
) -> Result<Json<List<OffloadStatistics>>, Fault> {
    let request = control::OffloadStatistics { volume: Some(share), noun: Some(Noun::Share), by_client: false };
    answer::list(&array, request, convert::offload).await
}

/// Changes name, protocols, copy policy, quota and filehandles of a share, atomically.
#[utoipa::path(
    patch,
    path = "/api/v1/shares/{share}",
    operation_id = "share_set",
    tag = "shares",
    params(
        ("share" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    request_body = ShareSet,
    responses(
        (status = 200, body = Share)
    )
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    condition: IfMatch,
    Path(share): Path<String>,
    Body(ShareSet { name, protocols, copy, quota_bytes, new_handles }): Body<ShareSet>,
) -> Result<Response, Fault> {
    let present = control::ShareShow { share: share.clone() };
    let protocols = protocols.as_deref().map(convert::protocols);
    let quota_bytes = quota_bytes.map(|bytes| (bytes != 0).then_some(bytes));
    let copy = copy.map(convert::wanted_copy_policy);
    let set = control::ShareSet { share, name, protocols, copy, quota_bytes, new_handles };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, set, present, convert::share).await;
    }
    revision::change(&array, condition, set, present, convert::share).await
}

/// Deletes a share that no host may use: to the trash, unless `now` is given or the trash is off.
#[utoipa::path(
    delete,
    path = "/api/v1/shares/{share}",
    operation_id = "share_delete",
    tag = "shares",
    params(
        ("share" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it"),
        ShareDelete
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
    Path(share): Path<String>,
    Query(ShareDelete { with_snapshots, now }): Query<ShareDelete>,
) -> Result<Response, Fault> {
    let present = control::ShareShow { share: share.clone() };
    let request = control::ShareDelete { share, with_snapshots, now };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, convert::share).await;
    }
    revision::discard(&array, condition, request, present, convert::share).await
}

/// Returns a share to the content of one of its snapshots. Clients keep their mounts.
#[utoipa::path(
    post,
    path = "/api/v1/shares/{share}/rollback",
    operation_id = "share_rollback",
    tag = "shares",
    params(
        ("share" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    request_body = ShareRollback,
    responses(
        (status = 200, body = Share)
    )
)]
pub(super) async fn rollback(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    condition: IfMatch,
    Path(share): Path<String>,
    Body(ShareRollback { snapshot, keep }): Body<ShareRollback>,
) -> Result<Response, Fault> {
    let present = control::ShareShow { share: share.clone() };
    let request = control::ShareRollback { share, snapshot, keep };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, convert::share).await;
    }
    revision::change(&array, condition, request, present, convert::share).await
}

listing! {
    /// Lists the snapshots of one share, by name. Sort keys: `name`, `volume`, `mapped_bytes`, `unique_bytes`,
    /// `created`.
    "share_snapshots" snapshots, "/api/v1/shares/{share}/snapshots" of "share", "snapshots",
    OwnSnapshotFilter => own_snapshots, Snapshot, convert::snapshot
}

fn own_snapshots(share: String, filter: OwnSnapshotFilter) -> Result<control::SnapshotList, Fault> {
    Ok(control::SnapshotList { volume: Some(share), older_than: filter.older_than })
}

/// Creates a snapshot of a share. The name of an existing snapshot of the share is refused
/// (`exists`).
#[utoipa::path(
    post,
    path = "/api/v1/shares/{share}/snapshots",
    operation_id = "share_snapshot_create",
    tag = "snapshots",
    params(("share" = String, Path, description = "Name or id")),
    request_body = SnapshotCreate,
    responses(
        (status = 201, description = "Taken", body = Snapshot),
        (status = 409, description = "The share has a snapshot of that name", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn take_snapshot(
    State(array): State<ArrayHandle>,
    Path(share): Path<String>,
    Body(SnapshotCreate { name }): Body<SnapshotCreate>,
) -> Result<Response, Fault> {
    let snapshot = convert::snapshot(array.call(control::SnapshotCreate { volume: share, name }).await?);
    Ok(made(true, &format!("/api/v1/snapshots/{}", snapshot.id), snapshot))
}
