//! `/api/v1/host-groups`.

use crate::http::answer::listing;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, made};
use crate::http::problem::Fault;
use crate::http::revision::{self, IfMatch};
use api::{HostGroup, HostGroupCreate, HostGroupSet, HostLun};
use axum::extract::State;
use axum::response::Response;
use control::HostGroupView;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, set, delete))
}

listing! {
    /// Lists host groups, by name. Sort keys: `name`, `created`.
    "host_group_list" list, "/api/v1/host-groups", "hosts", NoFilter => |_| Ok(control::HostGroupList), HostGroup,
    host_group
}

/// Creates a host group. Repeating the request has no effect.
#[utoipa::path(
    post,
    path = "/api/v1/host-groups",
    operation_id = "host_group_create",
    tag = "hosts",
    request_body = HostGroupCreate,
    responses(
        (status = 201, description = "Created", body = HostGroup),
        (status = 200, description = "A group of that name has the same hosts", body = HostGroup)
    )
)]
pub(super) async fn create(
    State(array): State<ArrayHandle>,
    Body(HostGroupCreate { name, hosts }): Body<HostGroupCreate>,
) -> Result<Response, Fault> {
    let outcome = array.call(control::HostGroupCreate { name, hosts }).await?;
    let group = host_group(outcome.view);
    Ok(made(outcome.changed, &format!("/api/v1/host-groups/{}", group.id), group))
}

/// Returns one host group.
#[utoipa::path(
    get,
    path = "/api/v1/host-groups/{group}",
    operation_id = "host_group_show",
    tag = "hosts",
    params(("group" = String, Path, description = "Name or id")),
    responses((status = 200, body = HostGroup))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(group): Path<String>) -> Result<Response, Fault> {
    revision::show(&array, control::HostGroupShow { group }, host_group).await
}

/// Renames a host group, adds and removes hosts. The volumes that they see change before the reply.
#[utoipa::path(
    patch,
    path = "/api/v1/host-groups/{group}",
    operation_id = "host_group_set",
    tag = "hosts",
    params(
        ("group" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    request_body = HostGroupSet,
    responses(
        (status = 200, body = HostGroup)
    )
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    condition: IfMatch,
    Path(group): Path<String>,
    Body(HostGroupSet { name, add, remove }): Body<HostGroupSet>,
) -> Result<Response, Fault> {
    let present = control::HostGroupShow { group: group.clone() };
    let request = control::HostGroupSet { group, name, add, remove };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, host_group).await;
    }
    revision::change(&array, condition, request, present, host_group).await
}

/// Deletes a host group without grants. Its hosts stay.
#[utoipa::path(
    delete,
    path = "/api/v1/host-groups/{group}",
    operation_id = "host_group_delete",
    tag = "hosts",
    params(
        ("group" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    responses(
        (status = 204, description = "Deleted")
    )
)]
pub(super) async fn delete(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    condition: IfMatch,
    Path(group): Path<String>,
) -> Result<Response, Fault> {
    let present = control::HostGroupShow { group: group.clone() };
    let request = control::HostGroupDelete { group };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, host_group).await;
    }
    revision::delete(&array, condition, request, present, host_group).await
}

fn host_group(view: HostGroupView) -> HostGroup {
    let HostGroupView { record, hosts, luns } = view;
    let lun = |unit: control::LunView| HostLun {
        volume: unit.name.unwrap_or_default(),
        lun: unit.lun,
        iscsi_url: unit.iscsi_url,
    };
    HostGroup {
        id: record.id,
        name: record.name,
        hosts,
        luns: luns.into_iter().map(lun).collect(),
        created: record.created,
    }
}
