//! `/api/v1/users`.

use crate::audit::Audit;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, made};
use crate::http::people::{Note, account, not_changed, not_signed_in, role};
use crate::http::problem::{Fault, Refusal};
use crate::people::{Caller, Gate};
use api::{Account, AccountCreate, AccountSet, Broken, List, PasswordSet};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use identity::{Change, IdentityError, NewUser, UserSet};
use jiff::Timestamp;
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, set, delete)).routes(routes!(set_password))
}

fn find(gate: &Gate, user: &str) -> Result<Account, Fault> {
    gate.see(|people| people.user(user).map(account)).map_err(|error| Refusal::Identity(error).into())
}

/// Lists users.
#[utoipa::path(get, path = "/api/v1/users", operation_id = "user_list", tag = "people", responses((status = 200, body = List<Account>)))]
pub(super) async fn list(Extension(gate): Extension<Arc<Gate>>) -> Json<List<Account>> {
    Json(List::whole(gate.see(|people| people.users().into_iter().map(account).collect())))
}

/// Creates a user.
#[utoipa::path(
    post,
    path = "/api/v1/users",
    operation_id = "user_create",
    tag = "people",
    request_body = AccountCreate,
    responses((status = 201, description = "Created", body = Account))
)]
pub(super) async fn create(
    Extension(gate): Extension<Arc<Gate>>,
    Body(body): Body<AccountCreate>,
) -> Result<Response, Fault> {
    let AccountCreate { name, role: of_role, password, must_change } = body;
    gate.see(|people| people.check_new_user(&name)).map_err(Refusal::Identity)?;
    let password = gate.hash(password, name.clone()).await.map_err(not_changed)?;
    let new = NewUser { id: Uuid::new_v4(), name: name.clone(), role: role(of_role), password, must_change };
    gate.change(|people| people.create_user(new, Timestamp::now())).await.map_err(not_changed)?;
    Ok(made(true, &format!("/api/v1/users/{name}"), find(&gate, &name)?))
}

/// Returns one user. A user may read this of itself.
#[utoipa::path(
    get,
    path = "/api/v1/users/{user}",
    operation_id = "user_show",
    tag = "people",
    params(("user" = String, Path, description = "Name or id")),
    responses((status = 200, body = Account))
)]
pub(super) async fn show(
    Extension(gate): Extension<Arc<Gate>>,
    Path(user): Path<String>,
) -> Result<Json<Account>, Fault> {
    Ok(Json(find(&gate, &user)?))
}

/// Changes name, role or lock of a user. The last active admin keeps its role.
#[utoipa::path(
    patch,
    path = "/api/v1/users/{user}",
    operation_id = "user_set",
    tag = "people",
    params(("user" = String, Path, description = "Name or id")),
    request_body = AccountSet,
    responses((status = 200, body = Account))
)]
pub(super) async fn set(
    Extension(gate): Extension<Arc<Gate>>,
    Path(user): Path<String>,
    Body(AccountSet { name, role: to_role, locked }): Body<AccountSet>,
) -> Result<Json<Account>, Fault> {
    let id = find(&gate, &user)?.id.to_string();
    let set = UserSet { name, role: to_role.map(role), locked };
    gate.change(|people| people.set_user(&id, &set)).await.map_err(not_changed)?;
    Ok(Json(find(&gate, &id)?))
}

/// Deletes a user and all its sign-ins. The last active admin stays.
#[utoipa::path(
    delete,
    path = "/api/v1/users/{user}",
    operation_id = "user_delete",
    tag = "people",
    params(("user" = String, Path, description = "Name or id")),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(
    Extension(gate): Extension<Arc<Gate>>,
    dry_run: DryRun,
    Path(user): Path<String>,
) -> Result<Response, Fault> {
    if dry_run.0 {
        let changes = gate.see(|people| people.delete_user(&user));
        let ends = |changes: Vec<Change>| (changes.iter().filter_map(ended_sign_in).collect(), Vec::new());
        return dry_run::planned(changes.map(ends).map_err(|error| Refusal::Identity(error).into()));
    }
    gate.change(|people| people.delete_user(&user)).await.map_err(not_changed)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The sign-in that a change ends.
fn ended_sign_in(change: &Change) -> Option<Broken> {
    let Change::RemoveSignIn(id) = change else { return None };
    Some(Broken { kind: "sign-in".to_owned(), name: id.to_string(), why: "it ends at once".to_owned() })
}

/// Changes a password. All sign-ins of the user end. Users change their own with the present one; an
/// admin sets that of another user, who has to change it at the next sign-in.
#[utoipa::path(
    put,
    path = "/api/v1/users/{user}/password",
    operation_id = "user_password",
    tag = "people",
    params(("user" = String, Path, description = "Name or id")),
    request_body = PasswordSet,
    responses((status = 204, description = "Changed"))
)]
pub(super) async fn set_password(
    State(array): State<ArrayHandle>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(audit): Extension<Audit>,
    Extension(caller): Extension<Caller>,
    Path(user): Path<String>,
    Body(PasswordSet { password, present_password }): Body<PasswordSet>,
) -> Result<StatusCode, Fault> {
    let account = find(&gate, &user)?;
    let is_own = caller.sign_in.is_some() && caller.id == Some(account.id);
    if let (true, Some(from)) = (is_own, caller.from) {
        let present = present_password.ok_or(Refusal::Identity(IdentityError::WrongPassword))?;
        if let Err(error) = gate.compare(&account.name, present, from).await {
            let note = Note { action: "user_password", user: &account.name, from: Some(from) };
            note.refused(&error, &audit, &array).await;
            return Err(not_signed_in(error));
        }
    }
    let hash = gate.hash(password, account.name.clone()).await.map_err(not_changed)?;
    let id = account.id.to_string();
    gate.change(|people| people.set_password(&id, hash, !is_own)).await.map_err(not_changed)?;
    Ok(StatusCode::NO_CONTENT)
}
