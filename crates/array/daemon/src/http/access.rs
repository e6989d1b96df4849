//! `/api/v1/access`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::{Body, Path, Query, made};
use crate::http::problem::Fault;
use api::{ANY_HOST, Access, AccessGrant, AccessList, List};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{Grantee, Revoke};

/// Who sees what, by volume and host.
#[utoipa::path(
    get,
    path = "/api/v1/access",
    tag = "access",
    params(AccessList),
    responses((status = 200, body = List<Access>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    Query(query): Query<AccessList>,
) -> Result<Json<List<Access>>, Fault> {
    let request = control::AccessList { volume: query.volume, grantee: query.host.map(grantee) };
    let accesses = array.call(request).await?;
    Ok(Json(List { items: accesses.into_iter().map(convert::access).collect() }))
}

/// Grants a host, the hosts of a group, or any host access to a volume. Repeating the request has
/// no effect.
#[utoipa::path(
    post,
    path = "/api/v1/access",
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
    tag = "access",
    params(("volume" = String, Path, description = "Name or id")),
    responses((status = 204, description = "Revoked"))
)]
pub(super) async fn revoke_all(
    State(array): State<ArrayHandle>,
    Path(volume): Path<String>,
) -> Result<StatusCode, Fault> {
    array.call(control::AccessRevoke { volume, from: Revoke::All }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revokes one grant.
#[utoipa::path(
    delete,
    path = "/api/v1/access/{volume}/{host}",
    tag = "access",
    params(
        ("volume" = String, Path, description = "Name or id"),
        ("host" = String, Path, description = "Name or id, `any`, or `group:NAME`")
    ),
    responses((status = 204, description = "Revoked"))
)]
pub(super) async fn revoke(
    State(array): State<ArrayHandle>,
    Path((volume, host)): Path<(String, String)>,
) -> Result<StatusCode, Fault> {
    array.call(control::AccessRevoke { volume, from: Revoke::From(grantee(host)) }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Parses a host's name, the word for any host, or `group:NAME`.
fn grantee(word: String) -> Grantee {
    match word.strip_prefix("group:") {
        Some(group) => Grantee::Group(group.to_owned()),
        None if word == ANY_HOST => Grantee::Any,
        None => Grantee::Host(word),
    }
}
