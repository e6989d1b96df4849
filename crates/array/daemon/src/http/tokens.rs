//! `/api/v1/tokens`.

use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, made};
use crate::http::people::{not_changed, role, token};
use crate::http::problem::{Fault, Refusal};
use crate::people::{Caller, Gate};
use api::{List, Token, TokenCreate, TokenCreated, TokenScopes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use identity::{Glob, NewToken, Scopes};
use jiff::Timestamp;
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, delete))
}

fn find(gate: &Gate, name: &str) -> Result<Token, Fault> {
    gate.see(|people| people.token(name).map(token)).map_err(|error| Refusal::Identity(error).into())
}

/// Lists tokens, without their secrets.
#[utoipa::path(get, path = "/api/v1/tokens", operation_id = "token_list", tag = "people", responses((status = 200, body = List<Token>)))]
pub(super) async fn list(Extension(gate): Extension<Arc<Gate>>) -> Json<List<Token>> {
    Json(List::whole(gate.see(|people| people.tokens().into_iter().map(token).collect())))
}

/// Creates a token. Its secret is in this answer alone.
#[utoipa::path(
    post,
    path = "/api/v1/tokens",
    operation_id = "token_create",
    tag = "people",
    request_body = TokenCreate,
    responses((status = 201, description = "Created", body = TokenCreated))
)]
pub(super) async fn create(
    Extension(gate): Extension<Arc<Gate>>,
    Extension(caller): Extension<Caller>,
    Body(body): Body<TokenCreate>,
) -> Result<Response, Fault> {
    let TokenCreate { name, role: of_role, scopes: to_scopes, expires } = body;
    let scopes = scopes(to_scopes)?;
    let secret = gate.new_secret().map_err(not_changed)?;
    let (id, created_by, role) = (Uuid::new_v4(), caller.name, role(of_role));
    let new = NewToken { id, name: &name, text: &secret, role, scopes, created_by, expires };
    gate.change(|people| people.create_token(new, Timestamp::now())).await.map_err(not_changed)?;
    let created = TokenCreated { token: find(&gate, &name)?, secret };
    Ok(made(true, &format!("/api/v1/tokens/{name}"), created))
}

/// Returns one token, without its secret.
#[utoipa::path(
    get,
    path = "/api/v1/tokens/{token}",
    operation_id = "token_show",
    tag = "people",
    params(("token" = String, Path, description = "Name or id")),
    responses((status = 200, body = Token))
)]
pub(super) async fn show(
    Extension(gate): Extension<Arc<Gate>>,
    Path(token): Path<String>,
) -> Result<Json<Token>, Fault> {
    Ok(Json(find(&gate, &token)?))
}

/// Deletes a token, which is not accepted any more. After `bootstrap` was deleted, no new one is generated.
#[utoipa::path(
    delete,
    path = "/api/v1/tokens/{token}",
    operation_id = "token_delete",
    tag = "people",
    params(("token" = String, Path, description = "Name or id")),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(
    Extension(gate): Extension<Arc<Gate>>,
    dry_run: DryRun,
    Path(token): Path<String>,
) -> Result<Response, Fault> {
    if dry_run.0 {
        let changes = gate.see(|people| people.delete_token(&token));
        return dry_run::planned(changes.map(|_| Default::default()).map_err(|error| Refusal::Identity(error).into()));
    }
    gate.delete_token(&token).await.map_err(not_changed)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn scopes(scopes: TokenScopes) -> Result<Scopes, Fault> {
    let wrong = |detail: String| Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail };
    let volumes = scopes.volumes.map(Glob::try_from).transpose().map_err(wrong)?;
    let parse = |text: &String| text.parse().map_err(|_| wrong(format!("{text:?} is no network, such as 10.0.0.0/24")));
    let networks = scopes.networks.iter().map(parse).collect::<Result<_, Fault>>()?;
    Ok(Scopes { volumes, networks, metrics_only: scopes.metrics_only })
}
