//! Management plane: REST under `/api/v1`, `/health`, `/metrics`, and the web console.
//!
//! A handler converts an HTTP request to one of `control`, and its reply to a type of `api`; most
//! have one of the forms in [`answer`]. Changes go to the reactor; reads are answered from the
//! mirror. Only [`problem`] converts errors to problem documents.

mod access;
mod alerts;
mod answer;
mod audit;
mod backlog;
mod bundles;
mod channels;
mod codes;
mod configuration;
mod connect;
pub(crate) mod connections;
mod console;
mod convert;
mod cookie;
mod doctor;
mod dry_run;
mod events;
mod exports;
mod extract;
mod files;
mod guard;
mod history;
mod host_groups;
mod hosts;
mod jobs;
mod lab;
mod listener;
mod live;
mod locks;
mod nfs;
mod offload;
mod openapi;
mod operations;
mod peer;
mod people;
mod pools;
mod portals;
mod problem;
mod qos;
mod reservations;
mod revision;
mod schedules;
mod search;
mod sessions;
mod setup;
mod shares;
mod sign_ins;
mod snapshots;
mod system;
#[cfg(test)]
pub(crate) mod tests;
mod tokens;
mod trash;
mod users;
mod volumes;

pub(crate) use configuration::keep_days;
pub(crate) use listener::{Listener, Listeners};
pub use openapi::openapi_json;
pub(crate) use people::report_refused;

use crate::audit::Audit;
use crate::bundle::Bundles;
use crate::doctor::Places;
use crate::http::doctor::Examinations;
use crate::laboratory::Laboratory;
use crate::management_store::ManagementStore;
use crate::notices::Desk;
use crate::people::{Gate, Unavailable};
use crate::recording::Recording;
use axum::extract::DefaultBodyLimit;
use axum::{Extension, Router};
use backlog::Backlog;
use configuration::Plans;
use guard::{Guard, Recorder, Refusals, Repeats, Trouble};
pub(crate) use live::Streams;
use problem::Fault;
use reactor::ArrayHandle;
use std::path::Path;
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
        .merge(qos::routes())
        .merge(hosts::routes())
        .merge(host_groups::routes())
        .merge(access::routes())
        .merge(exports::routes())
        .merge(offload::routes())
        .merge(portals::routes())
        .merge(reservations::routes())
        .merge(sessions::routes())
        .merge(connect::routes())
        .merge(nfs::routes())
        .merge(jobs::routes())
        .merge(lab::routes())
        .merge(events::routes())
        .merge(alerts::routes())
        .merge(channels::routes())
        .merge(history::routes())
        .merge(live::routes())
        .merge(search::routes())
        .merge(codes::routes())
        .merge(doctor::routes())
        .merge(users::routes())
        .merge(tokens::routes())
        .merge(sign_ins::routes())
        .merge(setup::routes())
        .merge(audit::routes())
        .merge(configuration::routes())
        .merge(bundles::routes())
}

/// Every resource, and their description.
fn router() -> Router<ArrayHandle> {
    let (router, _description) = resources().split_for_parts();
    router.route(openapi::PATH, axum::routing::get(openapi::show))
}

/// What the management plane needs beside the array.
#[derive(Clone)]
pub(crate) struct Surroundings {
    /// Users, tokens and sign-ins.
    pub gate: Arc<Gate>,
    /// Notification of alerts.
    pub desk: Arc<Desk>,
    /// The audit.
    pub audit: Audit,
    /// The history.
    pub recording: Recording,
    /// The laboratory.
    pub laboratory: Arc<Laboratory>,
    /// Whether it works.
    trouble: Arc<Trouble>,
    /// Answers of changes with a key.
    repeats: Arc<Repeats>,
    /// True: changes are made even if the audit cannot be written.
    pub goes_on_without_audit: bool,
    /// Places of the array on its machine.
    places: Arc<Places>,
    /// Plans of the configuration.
    plans: Arc<Plans>,
    /// Support bundles.
    pub bundles: Bundles,
    /// Place for one examination at a time.
    examinations: Examinations,
}

impl Surroundings {
    /// Opens what is in a state directory, without a history.
    pub(crate) fn of(state_dir: &Path, goes_on_without_audit: bool) -> Self {
        let store = ManagementStore::open(state_dir).map_err(|error| Unavailable(format!("{error:#}")));
        let (gate, desk) = (Arc::new(Gate::open(state_dir, &store)), Arc::new(Desk::open(&store)));
        Self {
            gate,
            desk,
            audit: Audit::of(state_dir),
            recording: Recording::off(),
            laboratory: Arc::new(Laboratory::open(state_dir)),
            trouble: Arc::default(),
            repeats: Arc::default(),
            goes_on_without_audit,
            places: Arc::new(Places { state_directory: state_dir.to_owned(), ..Places::default() }),
            plans: Arc::default(),
            bundles: Bundles::of(state_dir),
            examinations: Examinations::default(),
        }
    }

    /// Adds the places that an examination looks at.
    pub(crate) fn at(self, places: Places) -> Self {
        Self { places: Arc::new(places), ..self }
    }

    /// The same with a history.
    pub(crate) fn with_history(self, recording: Recording) -> Self {
        Self { recording, ..self }
    }
}

/// Returns the whole management plane behind its guard. `streams`: those of its listener. `names`:
/// names of the array for which cookies are accepted; absent: any.
pub(crate) fn guarded(
    array: ArrayHandle,
    streams: Arc<Streams>,
    surroundings: Surroundings,
    names: Option<Vec<String>>,
) -> Router {
    let Surroundings {
        gate,
        desk,
        audit,
        recording,
        laboratory,
        trouble,
        repeats,
        goes_on_without_audit,
        places,
        plans,
        bundles,
        examinations,
    } = surroundings;
    let resources = router();
    let reader = resources.clone().with_state(array.clone());
    let reader = reader.layer(Extension(Arc::clone(&gate))).layer(Extension(Arc::clone(&desk)));
    let reader = reader.layer(Extension(Arc::clone(&laboratory)));
    let reader = reader.layer(Extension(audit.clone())).layer(Extension(recording.clone()));
    let recorder = Arc::new(Recorder {
        audit: audit.clone(),
        trouble,
        goes_on_without_audit,
        array: array.clone(),
        reader,
        refusals: Refusals::default(),
    });
    let (of_gate, recorded) = (Arc::clone(&gate), Arc::clone(&recorder));
    let guard = Guard { gate: of_gate, array: array.clone(), recorder: recorded, repeats, names };
    let layer = axum::middleware::from_fn_with_state(Arc::new(guard), guard::guard);
    let router = with_fallbacks(resources).layer(layer);
    finish(router, array)
        .layer(Extension(streams))
        .layer(Extension(gate))
        .layer(Extension(desk))
        .layer(Extension(audit))
        .layer(Extension(recording))
        .layer(Extension(laboratory))
        .layer(Extension(recorder))
        .layer(Extension(places))
        .layer(Extension(plans))
        .layer(Extension(bundles))
        .layer(Extension(examinations))
}

/// Returns the resources without the guard, for tests of handlers.
#[cfg(test)]
fn unguarded(array: ArrayHandle, streams: Arc<Streams>) -> Router {
    unguarded_with(array, streams, Recording::off())
}

/// Returns the resources without the guard, with a history.
#[cfg(test)]
fn unguarded_with(array: ArrayHandle, streams: Arc<Streams>, recording: Recording) -> Router {
    let desk = Arc::new(Desk::open(&Err(Unavailable("a test has no store".to_owned()))));
    let router = finish(with_fallbacks(router()), array).layer(Extension(streams)).layer(Extension(recording));
    router.layer(Extension(crate::people::Caller::local(0))).layer(Extension(desk))
}

/// Returns `/metrics`, `/metrics/volumes` and `/health` alone, for a listener without TLS.
pub(crate) fn metrics_router(array: ArrayHandle, desk: Arc<Desk>) -> Router {
    let router = OpenApiRouter::new().routes(routes!(system::health)).merge(system::metrics_routes());
    finish(with_fallbacks(router.into()), array).layer(Extension(desk))
}

/// Adds problem documents instead of empty errors.
fn with_fallbacks(router: Router<ArrayHandle>) -> Router<ArrayHandle> {
    let router = router.fallback(async || Fault::NoSuchResource);
    router.method_not_allowed_fallback(async || Fault::MethodNotAllowed)
}

/// Adds the common parts of every router: limits, and a line in the log.
fn finish(router: Router<ArrayHandle>, array: ArrayHandle) -> Router {
    router
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(axum::middleware::from_fn_with_state(Backlog::default(), backlog::bound))
        .layer(axum::middleware::from_fn(peer::log_and_limit))
        .with_state(array)
}
