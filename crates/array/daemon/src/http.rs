//! Management plane: REST under `/api/v1`, `/health`, `/metrics`, and the web console.
//!
//! A handler converts an HTTP request to one of `control`, and its reply to a type of `api`; most
//! have one of the forms in [`answer`]. Changes go to the reactor; reads are answered from the
//! mirror. Only [`problem`] converts errors to problem documents.

mod access;
mod answer;
mod backlog;
pub(crate) mod connections;
mod console;
mod convert;
mod events;
mod exports;
mod extract;
mod files;
mod history;
mod host_groups;
mod hosts;
mod jobs;
mod listener;
mod lists;
mod live;
mod nfs;
mod offload;
mod openapi;
mod peer;
mod pools;
mod portals;
mod problem;
mod reservations;
mod revision;
mod schedules;
mod search;
mod sessions;
mod shares;
mod snapshots;
mod system;
#[cfg(test)]
mod tests;
mod trash;
mod volumes;

pub(crate) use listener::{Listener, Listeners};
pub use openapi::openapi_json;

use axum::extract::DefaultBodyLimit;
use axum::{Extension, Router};
use backlog::Backlog;
pub(crate) use live::Streams;
use problem::Fault;
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Largest request body in bytes.
const MAX_BODY_BYTES: usize = 64 << 10;

/// Returns every resource, with its description.
fn resources() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::with_openapi(openapi::frame())
        .merge(system::routes())
        .merge(pools::routes())
        .merge(volumes::routes())
        .merge(shares::routes())
        .merge(files::routes())
        .merge(snapshots::routes())
        .merge(trash::routes())
        .merge(schedules::routes())
        .merge(hosts::routes())
        .merge(host_groups::routes())
        .merge(access::routes())
        .merge(exports::routes())
        .merge(offload::routes())
        .merge(portals::routes())
        .merge(reservations::routes())
        .merge(sessions::routes())
        .merge(nfs::routes())
        .merge(jobs::routes())
        .merge(events::routes())
        .merge(lists::routes())
        .merge(history::routes())
        .merge(live::routes())
        .merge(search::routes())
}

/// Returns the whole management plane. `streams`: those of its listener.
pub(crate) fn router(array: ArrayHandle, streams: Arc<Streams>) -> Router {
    let (router, _description) = resources().split_for_parts();
    let router = router.route("/api/v1/openapi.json", axum::routing::get(openapi::show));
    finish(router, array).layer(Extension(streams))
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
        .layer(axum::middleware::from_fn_with_state(Backlog::default(), backlog::bound))
        .layer(axum::middleware::from_fn(peer::log_and_limit))
        .with_state(array)
}
