//! `/api/v1/qos-policies`.

use crate::http::answer;
use crate::http::answer::listing;
use crate::http::convert;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, Query, made};
use crate::http::problem::Fault;
use crate::http::revision::{self, IfMatch};
use api::{QosDetached, QosMembers, QosPolicy, QosPolicyCreate, QosPolicyDelete, QosPolicySet};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(detach))
        .routes(routes!(show, set, delete))
        .routes(routes!(attach))
}

listing! {
    /// Lists QoS policies, by name. Sort keys: `name`, `created`.
    "qos_policy_list" list, "/api/v1/qos-policies", "qos", NoFilter => |_| Ok(control::QosPolicyList), QosPolicy,
    convert::qos_policy
}

/// Creates a QoS policy. Repeating the request has no effect.
#[utoipa::path(
    post,
    path = "/api/v1/qos-policies",
    operation_id = "qos_policy_create",
    tag = "qos",
    request_body = QosPolicyCreate,
    responses(
        (status = 201, description = "Created", body = QosPolicy),
        (status = 200, description = "A policy of that name has the same limits", body = QosPolicy)
    )
)]
pub(super) async fn create(
    State(array): State<ArrayHandle>,
    Body(body): Body<QosPolicyCreate>,
) -> Result<Response, Fault> {
    let QosPolicyCreate { name, iops, iops_burst, bytes_per_second, bytes_burst, weight, shared } = body;
    let request = control::QosPolicyCreate {
        name,
        iops,
        iops_burst: iops_burst.map(convert::burst),
        bytes_per_second,
        bytes_burst: bytes_burst.map(convert::burst),
        weight,
        shared,
    };
    let outcome = array.call(request).await?;
    let policy = convert::qos_policy(outcome.view);
    Ok(made(outcome.changed, &format!("/api/v1/qos-policies/{}", policy.id), policy))
}

/// Takes their QoS policies from volumes and hosts, from all or none. Those that have none stay as they are.
#[utoipa::path(
    post,
    path = "/api/v1/qos-policies/detach",
    operation_id = "qos_policy_detach",
    tag = "qos",
    request_body = QosMembers,
    responses((status = 200, body = QosDetached))
)]
pub(super) async fn detach(
    State(array): State<ArrayHandle>,
    Body(QosMembers { volumes, hosts }): Body<QosMembers>,
) -> Result<Json<QosDetached>, Fault> {
    answer::change(&array, control::QosDetach { volumes, hosts }, convert::detached).await
}

/// Returns one QoS policy.
#[utoipa::path(
    get,
    path = "/api/v1/qos-policies/{policy}",
    operation_id = "qos_policy_show",
    tag = "qos",
    params(("policy" = String, Path, description = "Name or id")),
    responses((status = 200, body = QosPolicy))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(policy): Path<String>) -> Result<Response, Fault> {
    revision::show(&array, control::QosPolicyShow { policy }, convert::qos_policy).await
}

/// Changes a QoS policy. Its limits hold at once, also for commands that wait.
#[utoipa::path(
    patch,
    path = "/api/v1/qos-policies/{policy}",
    operation_id = "qos_policy_set",
    tag = "qos",
    params(
        ("policy" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    request_body = QosPolicySet,
    responses((status = 200, body = QosPolicy))
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    condition: IfMatch,
    Path(policy): Path<String>,
    Body(body): Body<QosPolicySet>,
) -> Result<Response, Fault> {
    let present = control::QosPolicyShow { policy: policy.clone() };
    let QosPolicySet { name, iops, iops_burst, bytes_per_second, bytes_burst, weight, shared } = body;
    let unless_zero = |limit: u64| (limit != 0).then_some(limit);
    let request = control::QosPolicySet {
        policy,
        name,
        iops: iops.map(unless_zero),
        iops_burst: iops_burst.map(convert::burst_or_none),
        bytes_per_second: bytes_per_second.map(unless_zero),
        bytes_burst: bytes_burst.map(convert::burst_or_none),
        weight,
        shared,
    };
    revision::change(&array, condition, request, present, convert::qos_policy).await
}

/// Deletes a QoS policy that no volume and no host has, or, by force, takes it from them.
#[utoipa::path(
    delete,
    path = "/api/v1/qos-policies/{policy}",
    operation_id = "qos_policy_delete",
    tag = "qos",
    params(
        ("policy" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it"),
        QosPolicyDelete
    ),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    condition: IfMatch,
    Path(policy): Path<String>,
    Query(QosPolicyDelete { force }): Query<QosPolicyDelete>,
) -> Result<Response, Fault> {
    let present = control::QosPolicyShow { policy: policy.clone() };
    let request = control::QosPolicyDelete { policy, force };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, convert::qos_policy).await;
    }
    revision::delete(&array, condition, request, present, convert::qos_policy).await
}

/// Gives a QoS policy to volumes and hosts, in place of the ones that they have: to all or none of them.
#[utoipa::path(
    post,
    path = "/api/v1/qos-policies/{policy}/attach",
    operation_id = "qos_policy_attach",
    tag = "qos",
    params(("policy" = String, Path, description = "Name or id")),
    request_body = QosMembers,
    responses((status = 200, body = QosPolicy))
)]
pub(super) async fn attach(
    State(array): State<ArrayHandle>,
    Path(policy): Path<String>,
    Body(QosMembers { volumes, hosts }): Body<QosMembers>,
) -> Result<Json<QosPolicy>, Fault> {
    answer::change(&array, control::QosAttach { policy, volumes, hosts }, convert::qos_policy).await
}
