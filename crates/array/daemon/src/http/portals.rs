//! `/api/v1/portals` and `/api/v1/portal-groups`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::{Body, Path};
use crate::http::problem::Fault;
use api::{List, PortGroup, PortGroupSet, Portal, PortalSet};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use control::RedirectRecord;

/// Where initiators connect.
#[utoipa::path(get, path = "/api/v1/portals", tag = "portals", responses((status = 200, body = List<Portal>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Portal>>, Fault> {
    let portals = array.call(control::PortalList).await?;
    Ok(Json(List { items: portals.into_iter().map(convert::portal).collect() }))
}

/// Returns one portal.
#[utoipa::path(
    get,
    path = "/api/v1/portals/{portal}",
    tag = "portals",
    params(("portal" = String, Path, description = "Number, or the address it listens on")),
    responses((status = 200, body = Portal))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(portal): Path<String>) -> Result<Json<Portal>, Fault> {
    Ok(Json(convert::portal(array.call(control::PortalShow { portal }).await?)))
}

/// Changes the group or the redirect of a portal.
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
    Ok(Json(convert::portal(array.call(set).await?)))
}

/// Lists target port groups.
#[utoipa::path(get, path = "/api/v1/portal-groups", tag = "portals", responses((status = 200, body = List<PortGroup>)))]
pub(super) async fn groups(State(array): State<ArrayHandle>) -> Result<Json<List<PortGroup>>, Fault> {
    let groups = array.call(control::PortGroupList).await?;
    Ok(Json(List { items: groups.into_iter().map(convert::port_group).collect() }))
}

/// Returns one target port group.
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
    Ok(Json(convert::port_group(array.call(control::PortGroupShow { group }).await?)))
}

/// Changes the state or the preference of a target port group.
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
    Ok(Json(convert::port_group(array.call(set).await?)))
}
