//! `/api/v1/hosts`.

use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, made};
use crate::http::problem::Fault;
use crate::http::revision::{self, IfMatch};
use crate::http::{answer, convert, extract};
use crate::people::Caller;
use api::{ChapSet, Host, HostCreate, HostFilter, HostSet, List, ListQuery};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::{Extension, Json};
use control::{HostView, Secret};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, set, delete))
}

/// Lists hosts, by name. Sort keys: `name`, `sessions`, `luns`, `created`.
#[utoipa::path(
    get,
    path = "/api/v1/hosts",
    operation_id = "host_list",
    tag = "hosts",
    params(ListQuery, HostFilter),
    responses((status = 200, body = List<Host>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    caller: Option<Extension<Caller>>,
    query: extract::ListQuery<HostFilter>,
    uri: Uri,
) -> Result<Json<List<Host>>, Fault> {
    let page = answer::wanted(wanted(query.filter)?, query.page)?;
    answer::page(&array, page, &uri, |view| host_for(caller.as_deref(), view)).await
}

/// Host without grants of volumes that its reader may not see, and for such a reader without what is about all of its
/// volumes and its logins.
fn host_for(caller: Option<&Caller>, view: HostView) -> Host {
    let mut host = convert::host(view);
    if let Some(scope) = caller.and_then(|caller| caller.scopes.volumes.as_ref()) {
        host.luns.retain(|unit| scope.matches(&unit.volume));
        host.warnings.clear();
        host.primitives.clear();
    }
    host
}

fn wanted(HostFilter { group, has }: HostFilter) -> Result<control::HostList, Fault> {
    Ok(control::HostList { group, has: has.map(convert::host_has) })
}

/// Creates a host. Repeating the request has no effect; only the first response contains secrets
/// that the array generated.
#[utoipa::path(
    post,
    path = "/api/v1/hosts",
    operation_id = "host_create",
    tag = "hosts",
    request_body = HostCreate,
    responses(
        (status = 201, description = "Created", body = Host),
        (status = 200, description = "It already existed, with the same parameters", body = Host)
    )
)]
pub(super) async fn create(State(array): State<ArrayHandle>, Body(body): Body<HostCreate>) -> Result<Response, Fault> {
    let HostCreate { name, iqns, addresses, chap } = body;
    let request = control::HostCreate { name, iqns, addresses, chap: chap.map(chap_set).transpose()? };
    let outcome = array.call(request).await?;
    let host = convert::host(outcome.view);
    Ok(made(outcome.changed, &format!("/api/v1/hosts/{}", host.id), host))
}

/// Returns one host.
#[utoipa::path(
    get,
    path = "/api/v1/hosts/{host}",
    operation_id = "host_show",
    tag = "hosts",
    params(("host" = String, Path, description = "Name or id")),
    responses((status = 200, body = Host))
)]
pub(super) async fn show(
    State(array): State<ArrayHandle>,
    caller: Option<Extension<Caller>>,
    Path(host): Path<String>,
) -> Result<Response, Fault> {
    revision::show(&array, control::HostShow { host }, |view| host_for(caller.as_deref(), view)).await
}

/// Changes a host. Sessions continue; new credentials apply from the next login on.
#[utoipa::path(
    patch,
    path = "/api/v1/hosts/{host}",
    operation_id = "host_set",
    tag = "hosts",
    params(
        ("host" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    request_body = HostSet,
    responses(
        (status = 200, body = Host)
    )
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    condition: IfMatch,
    Path(host): Path<String>,
    Body(body): Body<HostSet>,
) -> Result<Response, Fault> {
    let present = control::HostShow { host: host.clone() };
    let HostSet { name, iqns, addresses, chap, remove_chap, qos_policy } = body;
    let chap = match (chap, remove_chap) {
        (Some(_), true) => {
            let detail = "chap and remove_chap exclude each other".to_owned();
            return Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail });
        }
        (Some(chap), false) => Some(Some(chap_set(chap)?)),
        (None, true) => Some(None),
        (None, false) => None,
    };
    let policy = qos_policy.map(|policy| Some(policy).filter(|policy| !policy.is_empty()));
    let request = control::HostSet { host, name, iqns, addresses, chap, policy };
    revision::change(&array, condition, request, present, convert::host).await
}

/// Deletes a host that has neither access nor sessions.
#[utoipa::path(
    delete,
    path = "/api/v1/hosts/{host}",
    operation_id = "host_delete",
    tag = "hosts",
    params(
        ("host" = String, Path, description = "Name or id"),
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
    Path(host): Path<String>,
) -> Result<Response, Fault> {
    let present = control::HostShow { host: host.clone() };
    let request = control::HostDelete { host };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, convert::host).await;
    }
    revision::delete(&array, condition, request, present, convert::host).await
}

fn chap_set(chap: ChapSet) -> Result<control::ChapSet, Fault> {
    let mutual = chap.mutual.map(|mutual| {
        check_secret(mutual.secret.is_some(), mutual.generate)?;
        let secret = mutual.secret.map(Secret::new);
        Ok::<_, Fault>(control::MutualChapSet { user: mutual.user, secret, generate: mutual.generate })
    });
    check_secret(chap.secret.is_some(), chap.generate)?;
    let secret = chap.secret.map(Secret::new);
    Ok(control::ChapSet { user: chap.user, secret, generate: chap.generate, mutual: mutual.transpose()? })
}

/// Refuses a request that has a secret and asks for a new one.
fn check_secret(given: bool, generate: bool) -> Result<(), Fault> {
    if given && generate {
        let detail = "secret and generate exclude each other".to_owned();
        return Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail });
    }
    Ok(())
}
