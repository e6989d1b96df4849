//! `/api/v1/portals` and `/api/v1/portal-groups`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::{Body, Path};
use crate::http::problem::Fault;
use api::{List, PortGroup, PortGroupSet, Portal, PortalSet};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use control::{Action, RedirectRecord, Reply};

/// Where initiators connect.
#[utoipa::path(get, path = "/api/v1/portals", tag = "portals", responses((status = 200, body = List<Portal>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Portal>>, Fault> {
    let Reply::Portals(portals) = array.call(Action::PortalList).await? else { return Err(Fault::UnexpectedReply) };
    Ok(Json(List { items: portals.into_iter().map(convert::portal).collect() }))
}

/// One portal.
#[utoipa::path(
    get,
    path = "/api/v1/portals/{portal}",
    tag = "portals",
    params(("portal" = String, Path, description = "Number, or the address it listens on")),
    responses((status = 200, body = Portal))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(portal): Path<String>) -> Result<Json<Portal>, Fault> {
    one_portal(array.call(Action::PortalShow { portal }).await?)
}

/// Changes group or redirection of a portal.
#[utoipa::path(
    patch,
    path = "/api/v1/portals/{portal}",
    tag = "portals",
    params(("portal" = String, Path, description = "Number, or the address it listens on")),
    request_body = PortalSet,
    responses((status = 200, body = Portal))
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    Path(portal): Path<String>,
    Body(set): Body<PortalSet>,
) -> Result<Json<Portal>, Fault> {
    let refuse = |detail: &str| {
        Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail: detail.to_owned() })
    };
    let redirect = match (set.redirect, set.remove_redirect) {
        (Some(_), true) => return refuse("redirect and remove_redirect exclude each other"),
        (Some(address), false) => Some(Some(RedirectRecord { address, permanently: set.redirect_permanently })),
        (None, _) if set.redirect_permanently => return refuse("redirect_permanently needs redirect"),
        (None, true) => Some(None),
        (None, false) => None,
    };
    let set = control::PortalSet { portal, group: set.group, redirect, force: set.force };
    one_portal(array.call(Action::PortalSet(set)).await?)
}

fn one_portal(reply: Reply) -> Result<Json<Portal>, Fault> {
    let Reply::Portal(view) = reply else { return Err(Fault::UnexpectedReply) };
    Ok(Json(convert::portal(*view)))
}

/// Target port groups.
#[utoipa::path(get, path = "/api/v1/portal-groups", tag = "portals", responses((status = 200, body = List<PortGroup>)))]
pub(super) async fn groups(State(array): State<ArrayHandle>) -> Result<Json<List<PortGroup>>, Fault> {
    let Reply::PortGroups(groups) = array.call(Action::PortGroupList).await? else {
        return Err(Fault::UnexpectedReply);
    };
    Ok(Json(List { items: groups.into_iter().map(convert::port_group).collect() }))
}

/// One target port group.
#[utoipa::path(
    get,
    path = "/api/v1/portal-groups/{group}",
    tag = "portals",
    params(("group" = u16, Path, description = "Its number")),
    responses((status = 200, body = PortGroup))
)]
pub(super) async fn show_group(
    State(array): State<ArrayHandle>,
    Path(group): Path<u16>,
) -> Result<Json<PortGroup>, Fault> {
    one_group(array.call(Action::PortGroupShow { group }).await?)
}

/// Changes state or preference of a target port group.
#[utoipa::path(
    patch,
    path = "/api/v1/portal-groups/{group}",
    tag = "portals",
    params(("group" = u16, Path, description = "Its number")),
    request_body = PortGroupSet,
    responses((status = 200, body = PortGroup))
)]
pub(super) async fn set_group(
    State(array): State<ArrayHandle>,
    Path(group): Path<u16>,
    Body(set): Body<PortGroupSet>,
) -> Result<Json<PortGroup>, Fault> {
    let state = set.state.map(convert::wanted_access_state);
    let set = control::PortGroupSet { group, state, preferred: set.preferred, force: set.force };
    one_group(array.call(Action::PortGroupSet(set)).await?)
}

fn one_group(reply: Reply) -> Result<Json<PortGroup>, Fault> {
    let Reply::PortGroup(view) = reply else { return Err(Fault::UnexpectedReply) };
    Ok(Json(convert::port_group(*view)))
}
