//! `/api/v1/setup`: the first administrator of an array.

use crate::http::extract::Body;
use crate::http::guard::Recorder;
use crate::http::peer::Peer;
use crate::http::people::{Note, not_changed, not_signed_in};
use crate::http::problem::{Fault, Refusal};
use crate::http::sign_ins::{agent, signed_in};
use crate::people::{Attempt, Caller, Gate, NotSignedIn};
use api::{SetupCode, SetupRun, SetupState};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use identity::{IdentityError, People};
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(show, run)).routes(routes!(code))
}

/// Returns whether the array is without an administrator.
#[utoipa::path(get, path = "/api/v1/setup", operation_id = "setup_show", tag = "people", responses((status = 200, body = SetupState)))]
pub(super) async fn show(Extension(gate): Extension<Arc<Gate>>) -> Json<SetupState> {
    Json(SetupState { needed: !gate.see(People::has_admin) })
}

/// Creates the first administrator, who shows the code in `STATE_DIR/setup.code`, and signs in. 410 with
/// code `set-up` once there is one.
#[utoipa::path(
    post,
    path = "/api/v1/setup",
    operation_id = "setup_run",
    tag = "people",
    request_body = SetupRun,
    responses((status = 201, description = "Created, and signed in"))
)]
pub(super) async fn run(
    State(array): State<ArrayHandle>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(recorder): Extension<Arc<Recorder>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Body(SetupRun { code, user, password }): Body<SetupRun>,
) -> Result<Response, Fault> {
    let note = Note { action: "setup_run", user: &user, from: peer.address() };
    // Who can open the socket as the owner may create users anyway.
    let is_owner = matches!(peer, Peer::Local { uid } if Caller::local(uid).role == identity::Role::Admin);
    if !is_owner {
        let code = code.ok_or(Refusal::Identity(IdentityError::SetupCode))?;
        if let Err(error) = gate.check_setup_code(&code, peer.address()) {
            note.refused(&error, &recorder.audit, &array).await;
            return Err(match error {
                NotSignedIn::Wrong(_) => Refusal::Identity(IdentityError::SetupCode).into(),
                error => not_signed_in(error),
            });
        }
    }
    let run = async {
        let made = gate.set_up(&user, password.clone()).await;
        made.map_err(not_changed).map(|()| StatusCode::CREATED).into_response()
    };
    let made = recorder.record(note.intent("user"), run).await;
    let (StatusCode::CREATED, Some(from)) = (made.status(), peer.address()) else { return Ok(made) };
    let attempt = Attempt { user, password, from, agent: agent(&headers), display: false };
    let cookie = gate.sign_in(attempt).await.map_err(not_signed_in)?;
    Ok(signed_in(StatusCode::CREATED, &cookie, false))
}

/// Makes a new set-up code, accepted for an hour, and writes it to `STATE_DIR/setup.code`. Earlier ones are
/// not accepted any more.
#[utoipa::path(
    post,
    path = "/api/v1/setup/code",
    operation_id = "setup_code",
    tag = "people",
    responses((status = 200, body = SetupCode))
)]
pub(super) async fn code(Extension(gate): Extension<Arc<Gate>>) -> Result<Json<SetupCode>, Fault> {
    let (code, expires) = gate.make_setup_code().await.map_err(not_changed)?;
    Ok(Json(SetupCode { code, expires }))
}
