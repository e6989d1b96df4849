//! `/api/v1/portals` and `/api/v1/portal-groups`.

use crate::http::extract::{Body, Path};
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{List, PortGroup, PortGroupSet, Portal, PortalSet};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use control::RedirectRecord;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, set))
        .routes(routes!(groups))
        .routes(routes!(show_group, set_group))
}

/// Lists the portals that initiators connect to: as many as are configured.
#[utoipa::path(get, path = "/api/v1/portals", operation_id = "portal_list", tag = "portals", responses((status = 200, body = List<Portal>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Portal>>, Fault> {
    answer::list(&array, control::PortalList, convert::portal).await
}

/// Returns one portal.
#[utoipa::path(
    get,
    path = "/api/v1/portals/{portal}",
    operation_id = "portal_show",
    tag = "portals",
    params(("portal" = String, Path, description = "Number, or the address it listens on")),
    responses((status = 200, body = Portal))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(portal): Path<String>) -> Result<Json<Portal>, Fault> {
    answer::show(&array, control::PortalShow { portal }, convert::portal).await
}

/// Changes the group or the redirect of a portal.
#[utoipa::path(
    patch,
    path = "/api/v1/portals/{portal}",
    operation_id = "portal_set",
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
    answer::change(&array, set, convert::portal).await
}

/// Lists target port groups: not many more than portals.
#[utoipa::path(get, path = "/api/v1/portal-groups", operation_id = "portal_groups", tag = "portals", responses((status = 200, body = List<PortGroup>)))]
pub(super) async fn groups(State(array): State<ArrayHandle>) -> Result<Json<List<PortGroup>>, Fault> {
    answer::list(&array, control::PortGroupList, convert::port_group).await
}

/// Returns one target port group.
#[utoipa::path(
    get,
    path = "/api/v1/portal-groups/{group}",
    operation_id = "portal_show_group",
    tag = "portals",
    params(("group" = u16, Path, description = "Its number")),
    responses((status = 200, body = PortGroup))
)]
pub(super) async fn show_group(
    State(array): State<ArrayHandle>,
    Path(group): Path<u16>,
) -> Result<Json<PortGroup>, Fault> {
    answer::show(&array, control::PortGroupShow { group }, convert::port_group).await
}

/// Changes the state or the preference of a target port group.
#[utoipa::path(
    patch,
    path = "/api/v1/portal-groups/{group}",
    operation_id = "portal_set_group",
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
    answer::change(&array, set, convert::port_group).await
}
