//! `/api/v1/volumes`.

use crate::http::answer::listing;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, Query, made};
use crate::http::problem::{Fault, Refusal};
use crate::http::revision::{self, IfMatch};
use crate::http::{answer, convert, jobs};
use crate::laboratory::LABEL;
use crate::people::Caller;
use api::{
    ANY_HOST, Job, JobStart, List, OffloadStatistics, Trashed, TreeNode, Volume, VolumeCreate, VolumeDelete,
    VolumeFilter, VolumeReshare, VolumeRollback, VolumeSet, VolumeSpace,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use control::{Grantee, Noun};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, set, delete))
        .routes(routes!(offload))
        .routes(routes!(space))
        .routes(routes!(reclaim))
        .routes(routes!(reshare))
        .routes(routes!(rollback))
        .routes(routes!(tree))
}

listing! {
    /// Lists volumes, by name. Sort keys: `name`, `size_bytes`, `mapped_bytes`, `promised_bytes`, `unique_bytes`,
    /// `snapshot_bytes`, `snapshots`, `operations_per_minute`, `bytes_per_minute` and `p99_us` of the last minute,
    /// `created`.
    "volume_list" list, "/api/v1/volumes", "volumes", VolumeFilter => wanted, Volume, convert::volume
}

fn wanted(filter: VolumeFilter) -> Result<control::VolumeList, Fault> {
    let VolumeFilter { host, group, reserve, source, min_size_bytes, has } = filter;
    let seen_by = match (host, group) {
        (Some(_), Some(_)) => return Err(Fault::malformed("host and group exclude each other".to_owned())),
        (Some(host), None) if host == ANY_HOST => Some(Grantee::Any),
        (Some(host), None) => Some(Grantee::Host(host)),
        (None, Some(group)) => Some(Grantee::Group(group)),
        (None, None) => None,
    };
    let (reserve, has) = (reserve.map(convert::reserve), has.map(convert::volume_has));
    Ok(control::VolumeList { seen_by, reserve, source, min_size_bytes, has })
}

/// Creates a volume, or a clone if `source` or `source_file` is given.
///
/// Repeating the request for an empty volume has no effect: the volume keeps the content that it has
/// by then. The name of an existing volume is refused for a clone (`exists`), also with the same
/// parameters.
#[utoipa::path(
    post,
    path = "/api/v1/volumes",
    operation_id = "volume_create",
    tag = "volumes",
    request_body = VolumeCreate,
    responses(
        (status = 201, description = "Created", body = Volume),
        (status = 200, description = "It already existed, with the same parameters and without a source", body = Volume)
    )
)]
pub(super) async fn create(
    State(array): State<ArrayHandle>,
    Body(body): Body<VolumeCreate>,
) -> Result<Response, Fault> {
    let VolumeCreate {
        name,
        size_bytes,
        source,
        source_file,
        pool,
        write_cache,
        reserve,
        overwrite_reserve_percent,
        zero_detection,
        labels,
    } = body;
    check_labels(labels.keys())?;
    let request = control::VolumeCreate {
        name,
        size_bytes,
        source,
        source_file,
        pool,
        write_cache,
        reserve: reserve.map(convert::reserve),
        overwrite_reserve_percent,
        zero_detection,
        labels,
    };
    let outcome = array.call(request).await?;
    let volume = convert::volume(outcome.view);
    Ok(made(outcome.changed, &format!("/api/v1/volumes/{}", volume.id), volume))
}

/// Refuses the label by which the laboratory knows its scratch volumes, which it deletes without the trash.
fn check_labels<'a>(mut keys: impl Iterator<Item = &'a String>) -> Result<(), Fault> {
    if keys.any(|key| key == LABEL) {
        let detail = format!("the label {LABEL} is for scratch volumes of the laboratory alone");
        return Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail });
    }
    Ok(())
}

/// Returns one volume.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}",
    operation_id = "volume_show",
    tag = "volumes",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = Volume))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(volume): Path<String>) -> Result<Response, Fault> {
    revision::show(&array, control::VolumeShow { volume }, convert::volume).await
}

/// Changes name, size and settings of a volume, atomically. A token of volumes does not change their QoS policies.
#[utoipa::path(
    patch,
    path = "/api/v1/volumes/{volume}",
    operation_id = "volume_set",
    tag = "volumes",
    params(
        ("volume" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    request_body = VolumeSet,
    responses(
        (status = 200, body = Volume)
    )
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    caller: Option<Extension<Caller>>,
    condition: IfMatch,
    Path(volume): Path<String>,
    Body(body): Body<VolumeSet>,
) -> Result<Response, Fault> {
    let present = control::VolumeShow { volume: volume.clone() };
    let VolumeSet {
        name,
        size_bytes,
        write_cache,
        reserve,
        overwrite_reserve_percent,
        zero_detection,
        warn_percent,
        critical_percent,
        labels,
        qos_policy,
    } = body;
    let is_scoped = caller.is_some_and(|caller| caller.scopes.volumes.is_some());
    if qos_policy.is_some() && is_scoped {
        let detail = "a token of volumes does not change their QoS policies".to_owned();
        return Err(Refusal::OutsideScope { detail }.into());
    }
    check_labels(labels.iter().filter(|(_, value)| value.is_some()).map(|(key, _)| key))?;
    let unless_zero = |percent: u8| (percent != 0).then_some(percent);
    let request = control::VolumeSet {
        volume,
        name,
        size_bytes,
        write_cache,
        reserve: reserve.map(convert::reserve),
        overwrite_reserve_percent,
        zero_detection,
        warn_percent: warn_percent.map(unless_zero),
        critical_percent: critical_percent.map(unless_zero),
        labels,
        policy: qos_policy.map(|policy| Some(policy).filter(|policy| !policy.is_empty())),
    };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, convert::volume).await;
    }
    revision::change(&array, condition, request, present, convert::volume).await
}

/// Deletes a volume that is not in use: to the trash, unless `now` is given or the trash is off.
#[utoipa::path(
    delete,
    path = "/api/v1/volumes/{volume}",
    operation_id = "volume_delete",
    tag = "volumes",
    params(
        ("volume" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it"),
        VolumeDelete
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
    Path(volume): Path<String>,
    Query(VolumeDelete { with_snapshots, revoke, now }): Query<VolumeDelete>,
) -> Result<Response, Fault> {
    let present = control::VolumeShow { volume: volume.clone() };
    let request = control::VolumeDelete { volume, with_snapshots, revoke, now };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, convert::volume).await;
    }
    revision::discard(&array, condition, request, present, convert::volume).await
}

/// Returns statistics of each offload primitive for one volume.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/offload",
    operation_id = "volume_offload",
    tag = "offload",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = List<OffloadStatistics>))
)]
pub(super) async fn offload(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
) -> Result<Json<List<OffloadStatistics>>, Fault> {
    let request = control::OffloadStatistics { volume: Some(volume), noun: Some(Noun::Volume), by_client: false };
    answer::list(&array, request, convert::offload).await
}

/// Returns the space used by a volume, and the space that hosts have unmapped.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/space",
    operation_id = "volume_space",
    tag = "volumes",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = VolumeSpace))
)]
pub(super) async fn space(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
) -> Result<Json<VolumeSpace>, Fault> {
    answer::show(&array, control::VolumeSpace { volume }, convert::space).await
}

/// Starts a job that frees stored blocks of zeros.
#[utoipa::path(
    post,
    path = "/api/v1/volumes/{volume}/reclaim",
    operation_id = "volume_reclaim",
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
    dry_run: DryRun,
    Path(volume): Path<String>,
    Body(JobStart { share_percent }): Body<JobStart>,
) -> Result<Response, Fault> {
    let request = control::VolumeReclaim { volume, share_percent };
    if dry_run.0 { dry_run::answer(&array, request).await } else { jobs::start(&array, request).await }
}

/// Starts a job that shares blocks of a volume with equal ones of another volume or of a snapshot.
///
/// A host that copies without offload stores each block twice. The job compares the blocks at equal places, or at
/// places with a constant distance, and frees the second one of each. Content does not change. Snapshots of the
/// volume keep their own blocks.
#[utoipa::path(
    post,
    path = "/api/v1/volumes/{volume}/reshare",
    operation_id = "volume_reshare",
    tag = "volumes",
    params(("volume" = String, Path, description = "Name or id")),
    request_body = VolumeReshare,
    responses(
        (status = 202, description = "Started", body = Job),
        (status = 200, description = "One runs already", body = Job)
    )
)]
pub(super) async fn reshare(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
    Body(VolumeReshare { with, offset_bytes: shift_bytes, compare_only, share_percent }): Body<VolumeReshare>,
) -> Result<Response, Fault> {
    jobs::start(&array, control::VolumeReshare { volume, with, shift_bytes, compare_only, share_percent }).await
}

/// Returns a volume to the content and size of one of its snapshots.
///
/// A changed size is in `warnings` (`size-changed`).
#[utoipa::path(
    post,
    path = "/api/v1/volumes/{volume}/rollback",
    operation_id = "volume_rollback",
    tag = "volumes",
    params(
        ("volume" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    request_body = VolumeRollback,
    responses(
        (status = 200, body = Volume)
    )
)]
pub(super) async fn rollback(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    condition: IfMatch,
    Path(volume): Path<String>,
    Body(VolumeRollback { snapshot, force, keep }): Body<VolumeRollback>,
) -> Result<Response, Fault> {
    let present = control::VolumeShow { volume: volume.clone() };
    let request = control::VolumeRollback { volume, snapshot, force, keep };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, convert::volume).await;
    }
    revision::change(&array, condition, request, present, convert::volume).await
}

/// Returns the volume, its snapshots, their clones, and so on; each after its parent.
#[utoipa::path(
    get,
    path = "/api/v1/volumes/{volume}/tree",
    operation_id = "volume_tree",
    tag = "snapshots",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 200, body = List<TreeNode>))
)]
pub(super) async fn tree(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
) -> Result<Json<List<TreeNode>>, Fault> {
    answer::list(&array, control::SnapshotTree { volume }, convert::tree_node).await
}
