//! `/api/v1/access`.

use crate::http::answer::listing;
use crate::http::dry_run::DryRun;
use crate::http::extract::{Body, Path, made};
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{ANY_HOST, Access, AccessFilter, AccessGrant};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{Grantee, Revoke};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list, grant)).routes(routes!(revoke_all)).routes(routes!(revoke))
}

listing! {
    /// Lists grants, by volume and host. Sort keys: `volume`, `host`, `lun`, `created`.
    "access_list" list, "/api/v1/access", "access", AccessFilter => wanted, Access, convert::access
}

fn wanted(AccessFilter { volume, host }: AccessFilter) -> Result<control::AccessList, Fault> {
    Ok(control::AccessList { volume, grantee: host.map(grantee) })
}

/// Grants a host, the hosts of a group, or any host access to a volume. Repeating the request has
/// no effect.
#[utoipa::path(
    post,
    path = "/api/v1/access",
    operation_id = "access_grant",
    tag = "access",
    request_body = AccessGrant,
    responses(
        (status = 201, description = "Granted", body = Access),
        (status = 200, description = "It was granted already", body = Access)
    )
)]
pub(super) async fn grant(State(array): State<ArrayHandle>, Body(body): Body<AccessGrant>) -> Result<Response, Fault> {
    let grantee = match (body.host, body.group, body.any) {
        (Some(host), None, false) => Grantee::Host(host),
        (None, Some(group), false) => Grantee::Group(group),
        (None, None, true) => Grantee::Any,
        _ => {
            let detail = "exactly one of host, group and any is needed".to_owned();
            return Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail });
        }
    };
    let outcome = array.call(control::AccessGrant { volume: body.volume, grantee, lun: body.lun }).await?;
    let access = convert::access(outcome.view);
    Ok(made(outcome.changed, &format!("/api/v1/access/{}/{}", access.volume, access.host), access))
}

/// Revokes every grant of a volume.
#[utoipa::path(
    delete,
    path = "/api/v1/access/{volume}",
    operation_id = "access_revoke_all",
    tag = "access",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 204, description = "Revoked"))
)]
pub(super) async fn revoke_all(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    Path(volume): Path<String>,
) -> Result<Response, Fault> {
    answer::without_body(&array, dry_run, control::AccessRevoke { volume, from: Revoke::All }).await
}

/// Revokes one grant.
#[utoipa::path(
    delete,
    path = "/api/v1/access/{volume}/{host}",
    operation_id = "access_revoke",
    tag = "access",
    params(
        ("volume" = String, Path, description = "Name or id"),
        ("host" = String, Path, description = "Name or id, `any`, or `group:NAME`")
    ),
    responses((status = 204, description = "Revoked"))
)]
pub(super) async fn revoke(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    Path((volume, host)): Path<(String, String)>,
) -> Result<Response, Fault> {
    answer::without_body(&array, dry_run, control::AccessRevoke { volume, from: Revoke::From(grantee(host)) }).await
}

/// Parses a host's name, the word for any host, or `group:NAME`.
fn grantee(word: String) -> Grantee {
    match word.strip_prefix("group:") {
        Some(group) => Grantee::Group(group.to_owned()),
        None if word == ANY_HOST => Grantee::Any,
        None => Grantee::Host(word),
    }
}
