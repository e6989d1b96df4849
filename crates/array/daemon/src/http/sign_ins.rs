//! `/api/v1/sign-in` and `/api/v1/sign-ins`.

use crate::audit::Audit;
use crate::http::cookie;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path};
use crate::http::peer::Peer;
use crate::http::people::{Note, not_changed, not_signed_in, role_of};
use crate::http::problem::{Fault, Refusal};
use crate::people::{Attempt, Caller, CallerKind, Gate};
use api::{List, SignIn, SignInStart, SignInState};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use identity::{ABSOLUTE, DISPLAY, IDLE};
use jiff::Timestamp;
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(begin, show, end)).routes(routes!(list)).routes(routes!(delete))
}

/// Answer that sets the cookie of a sign-in.
pub(super) fn signed_in(status: StatusCode, cookie: &str, display: bool) -> Response {
    let length = if display { DISPLAY } else { ABSOLUTE };
    let mut response = status.into_response();
    if let Some(value) = cookie::set(cookie, length.as_secs()) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}

/// What a browser calls itself.
pub(super) fn agent(headers: &HeaderMap) -> String {
    headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().to_owned()
}

/// Signs in with name and password. The answer sets the cookie `__Host-windlass`. A sign-in ends after
/// 30 minutes without a request, and after 12 hours; a wall display after 30 days.
#[utoipa::path(
    post,
    path = "/api/v1/sign-in",
    operation_id = "signin_begin",
    tag = "people",
    request_body = SignInStart,
    responses((status = 204, description = "Signed in"))
)]
pub(super) async fn begin(
    State(array): State<ArrayHandle>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(audit): Extension<Audit>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Body(SignInStart { user, password, display }): Body<SignInStart>,
) -> Result<Response, Fault> {
    let Some(from) = peer.address() else {
        return Err(Fault::malformed("the administrative socket needs no sign-in".to_owned()));
    };
    let note = Note { action: "signin_begin", user: &user.clone(), from: Some(from) };
    let attempt = Attempt { user, password, from, agent: agent(&headers), display };
    match gate.sign_in(attempt).await {
        Ok(cookie) => {
            note.done(&audit).await;
            Ok(signed_in(StatusCode::NO_CONTENT, &cookie, display))
        }
        Err(error) => {
            note.refused(&error, &audit, &array).await;
            Err(not_signed_in(error))
        }
    }
}

/// Returns who the request is from. For a user who has signed in, with the value that changes need in the header
/// `Windlass-CSRF`.
#[utoipa::path(get, path = "/api/v1/sign-in", operation_id = "signin_show", tag = "people", responses((status = 200, body = SignInState)))]
pub(super) async fn show(
    Extension(gate): Extension<Arc<Gate>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Json<SignInState> {
    let cookie = cookie::of(&headers).filter(|_| caller.kind == CallerKind::User);
    let is_display =
        |(_, sign_in): &(&identity::User, &identity::SignIn)| Some(sign_in.id) == caller.sign_in && sign_in.display;
    let display = gate.see(|people| people.sign_ins(Timestamp::now()).iter().any(is_display));
    Json(SignInState {
        kind: caller.kind.name().to_owned(),
        user: caller.name,
        role: role_of(caller.role),
        must_change: caller.must_change,
        csrf: cookie.map(cookie::csrf),
        idle_seconds: cookie.filter(|_| !display).map(|_| IDLE.as_secs().unsigned_abs()),
    })
}

/// Ends the sign-in of the request.
#[utoipa::path(delete, path = "/api/v1/sign-in", operation_id = "signin_end", tag = "people", responses((status = 204, description = "Ended")))]
pub(super) async fn end(
    Extension(gate): Extension<Arc<Gate>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Fault> {
    let id = caller.sign_in.ok_or(Fault::NoSuchResource)?.to_string();
    gate.change(|people| people.end_sign_in(&id)).await.map_err(not_changed)?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(value) = cookie::set("", 0) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    Ok(response)
}

/// Lists sign-ins, newest first.
#[utoipa::path(get, path = "/api/v1/sign-ins", operation_id = "signin_list", tag = "people", responses((status = 200, body = List<SignIn>)))]
pub(super) async fn list(
    Extension(gate): Extension<Arc<Gate>>,
    Extension(caller): Extension<Caller>,
) -> Json<List<SignIn>> {
    let convert = |(user, sign_in): (&identity::User, &identity::SignIn)| SignIn {
        id: sign_in.id,
        user: user.name.clone(),
        from: sign_in.from.to_string(),
        agent: sign_in.agent.clone(),
        since: sign_in.since,
        last_use: sign_in.last_use,
        ends: sign_in.ends(),
        display: sign_in.display,
        this: caller.sign_in == Some(sign_in.id),
    };
    Json(List::whole(gate.see(|people| people.sign_ins(Timestamp::now()).into_iter().map(convert).collect())))
}

/// Ends a sign-in.
#[utoipa::path(
    delete,
    path = "/api/v1/sign-ins/{sign_in}",
    operation_id = "signin_delete",
    tag = "people",
    params(("sign_in" = String, Path, description = "Id")),
    responses((status = 204, description = "Ended"))
)]
pub(super) async fn delete(
    Extension(gate): Extension<Arc<Gate>>,
    dry_run: DryRun,
    Path(sign_in): Path<String>,
) -> Result<Response, Fault> {
    if dry_run.0 {
        let changes = gate.see(|people| people.end_sign_in(&sign_in));
        return dry_run::planned(changes.map(|_| Default::default()).map_err(|error| Refusal::Identity(error).into()));
    }
    gate.change(|people| people.end_sign_in(&sign_in)).await.map_err(not_changed)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
