//! Management plane: REST under `/api/v1`, `/health`, `/metrics`.
//!
//! A handler converts an HTTP request to one of `control`, and its reply to a type of `api`; most
//! have one of the forms in [`answer`]. Changes go to the reactor; reads are answered from the
//! mirror. Only [`problem`] converts errors to problem documents.

mod access;
pub(crate) mod connections;
mod convert;
mod events;
mod extract;
mod host_groups;
mod hosts;
mod jobs;
mod listener;
mod offload;
mod openapi;
mod peer;
mod pools;
mod portals;
mod problem;
mod reservations;
mod sessions;
mod snapshots;
mod system;
#[cfg(test)]
mod tests;
mod volumes;

pub(crate) use listener::{Listener, Listeners};
pub use openapi::openapi_json;

use crate::ArrayHandle;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use problem::Fault;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Largest request body in bytes.
const MAX_BODY_BYTES: usize = 64 << 10;

/// Returns every resource, with its description.
fn resources() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::with_openapi(openapi::frame())
        .routes(routes!(system::show))
        .routes(routes!(system::health))
        .routes(routes!(system::metrics))
        .routes(routes!(pools::list))
        .routes(routes!(pools::show, pools::set))
        .routes(routes!(pools::grow))
        .routes(routes!(pools::scrub))
        .routes(routes!(pools::check))
        .routes(routes!(pools::reclaim))
        .routes(routes!(volumes::list, volumes::create))
        .routes(routes!(volumes::show, volumes::set, volumes::delete))
        .routes(routes!(volumes::offload))
        .routes(routes!(volumes::space))
        .routes(routes!(volumes::reclaim))
        .routes(routes!(volumes::rollback))
        .routes(routes!(volumes::tree))
        .routes(routes!(snapshots::list_of, snapshots::create))
        .routes(routes!(snapshots::list, snapshots::create_group))
        .routes(routes!(snapshots::show, snapshots::delete))
        .routes(routes!(hosts::list, hosts::create))
        .routes(routes!(hosts::show, hosts::set, hosts::delete))
        .routes(routes!(host_groups::list, host_groups::create))
        .routes(routes!(host_groups::show, host_groups::set, host_groups::delete))
        .routes(routes!(access::list, access::grant))
        .routes(routes!(access::revoke_all))
        .routes(routes!(access::revoke))
        .routes(routes!(offload::statistics))
        .routes(routes!(offload::log))
        .routes(routes!(portals::list))
        .routes(routes!(portals::show, portals::set))
        .routes(routes!(portals::groups))
        .routes(routes!(portals::show_group, portals::set_group))
        .routes(routes!(reservations::list))
        .routes(routes!(reservations::of_volume))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::delete))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::show, jobs::set, jobs::cancel))
        .routes(routes!(events::list))
        .routes(routes!(events::alerts))
}

/// Returns the whole management plane.
pub(crate) fn router(array: ArrayHandle) -> Router {
    let (router, _description) = resources().split_for_parts();
    finish(router.route("/api/v1/openapi.json", axum::routing::get(openapi::show)), array)
}

/// Returns `/metrics` and `/health` alone, for a listener without TLS.
pub(crate) fn metrics_router(array: ArrayHandle) -> Router {
    let router = OpenApiRouter::new().routes(routes!(system::health)).routes(routes!(system::metrics));
    finish(router.into(), array)
}

/// Adds the common parts of every router: problem documents instead of empty errors, limits, a line
/// in the log.
fn finish(router: Router<ArrayHandle>, array: ArrayHandle) -> Router {
    router
        .fallback(async || Fault::NoSuchResource)
        .method_not_allowed_fallback(async || Fault::MethodNotAllowed)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(axum::middleware::from_fn(peer::log_and_limit))
        .with_state(array)
}
