//! `/api/v1/hosts`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::{Body, Path, made};
use crate::http::problem::Fault;
use api::{ChapSet, Host, HostCreate, HostSet, List};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::Secret;

/// Every host, by name.
#[utoipa::path(get, path = "/api/v1/hosts", tag = "hosts", responses((status = 200, body = List<Host>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Host>>, Fault> {
    let hosts = array.call(control::HostList).await?;
    Ok(Json(List { items: hosts.into_iter().map(convert::host).collect() }))
}

/// Makes a host. The same request twice makes one host; secrets that the array made are in the first response only.
#[utoipa::path(
    post,
    path = "/api/v1/hosts",
    tag = "hosts",
    request_body = HostCreate,
    responses(
        (status = 201, description = "Made", body = Host),
        (status = 200, description = "It was there already, with the same parameters", body = Host)
    )
)]
pub(super) async fn create(State(array): State<ArrayHandle>, Body(body): Body<HostCreate>) -> Result<Response, Fault> {
    let HostCreate { name, iqns, chap } = body;
    let request = control::HostCreate { name, iqns, chap: chap.map(chap_set) };
    let outcome = array.call(request).await?;
    let host = convert::host(outcome.view);
    Ok(made(outcome.changed, &format!("/api/v1/hosts/{}", host.id), host))
}

/// Returns one host.
#[utoipa::path(
    get,
    path = "/api/v1/hosts/{host}",
    tag = "hosts",
    params(("host" = String, Path, description = "Name or id")),
    responses((status = 200, body = Host))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(host): Path<String>) -> Result<Json<Host>, Fault> {
    Ok(Json(convert::host(array.call(control::HostShow { host }).await?)))
}

/// Changes a host. Sessions continue; new credentials apply from the next login on.
#[utoipa::path(
    patch,
    path = "/api/v1/hosts/{host}",
    tag = "hosts",
    params(("host" = String, Path, description = "Name or id")),
    request_body = HostSet,
    responses((status = 200, body = Host))
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    Path(host): Path<String>,
    Body(body): Body<HostSet>,
) -> Result<Json<Host>, Fault> {
    let HostSet { name, iqns, chap, remove_chap } = body;
    let chap = match (chap, remove_chap) {
        (Some(_), true) => {
            let detail = "chap and remove_chap exclude each other".to_owned();
            return Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail });
        }
        (Some(chap), false) => Some(Some(chap_set(chap))),
        (None, true) => Some(None),
        (None, false) => None,
    };
    let request = control::HostSet { host, name, iqns, chap };
    Ok(Json(convert::host(array.call(request).await?)))
}

/// Deletes a host that has neither access nor sessions.
#[utoipa::path(
    delete,
    path = "/api/v1/hosts/{host}",
    tag = "hosts",
    params(("host" = String, Path, description = "Name or id")),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(State(array): State<ArrayHandle>, Path(host): Path<String>) -> Result<StatusCode, Fault> {
    array.call(control::HostDelete { host }).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn chap_set(chap: ChapSet) -> control::ChapSet {
    control::ChapSet {
        user: chap.user,
        secret: chap.secret.map(Secret::new),
        mutual: chap
            .mutual
            .map(|mutual| control::MutualChapSet { user: mutual.user, secret: mutual.secret.map(Secret::new) }),
    }
}
