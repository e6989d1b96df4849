//! `/api/v1/live`: a stream of samples, changes, events, jobs and alerts as Server-Sent Events.
//!
//! A stream gathers once a second what is new to its client, when the client has taken what came
//! before. Nothing is queued for a client that does not read: it gets the newest sample next, and
//! `lagged` in the place of changes that are not in memory any more.

mod holder;
mod reader;
mod streams;
mod topics;

pub(crate) use streams::Streams;

use crate::http::extract::{Body, Path, Query};
use crate::http::peer::Peer;
use crate::http::problem::Fault;
use crate::laboratory::Laboratory;
use api::{LiveQuery, LiveTopics, Problem};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use holder::Holder;
use reactor::ArrayHandle;
use reader::Reader;
use std::sync::Arc;
use std::time::Duration;
use topics::Topics;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Interval of comments on a stream without events, by which both ends notice a lost connection.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
/// Header with the last `id` that a client has got.
const LAST_EVENT_ID: &str = "last-event-id";

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(set))
}

/// Streams what happens, as Server-Sent Events: `hello`, `sample` once a second, `change`, `event`,
/// `job`, `alert`, `alert-ended`, `connect`, `lab`, `lagged`, `bye`. Their data is JSON: `LiveHello`, `Sample`,
/// `LiveChange`, `Event`, `Job`, `Alert`, `LiveAlertEnded`, `ConnectState`, `LabRun`, `LiveLagged`, `LiveBye`.
/// `connect` and `lab` come when the state differs from the last one. With the header
/// `Last-Event-ID`, changes and events go on after that one, or `lagged` says that some are not in
/// memory any more. Jobs and alerts that ended between two streams are not announced: a client reads
/// them again after `hello`. There are at most 64 streams, 32 of an address, and 8 of a sign-in.
#[utoipa::path(
    get,
    path = "/api/v1/live",
    operation_id = "live_show",
    tag = "live",
    params(LiveQuery, ("Last-Event-ID" = Option<String>, Header, description = "Last `id` that the client has got")),
    responses(
        (status = 200, body = String, content_type = "text/event-stream"),
        (status = 429, description = "There are as many streams as possible (`too-many-streams`)", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn show(
    State(array): State<ArrayHandle>,
    Extension(streams): Extension<Arc<Streams>>,
    peer: Option<Extension<Peer>>,
    laboratory: Option<Extension<Arc<Laboratory>>>,
    holder: Holder,
    Query(LiveQuery { topics }): Query<LiveQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let laboratory = laboratory.map(|Extension(laboratory)| laboratory);
    let topics = Topics::parse(&topics)?;
    let address = peer.and_then(|Extension(peer)| peer.address());
    let stream = streams.open(address, (holder.owner(), holder.sign_in()), topics)?;
    let last = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let reader = Reader::begin(array, stream, holder, laboratory, last.as_deref()).await?;
    let events = futures_util::stream::unfold(reader, Reader::next);
    let response = Sse::new(events).keep_alive(KeepAlive::new().interval(COMMENT_INTERVAL));
    // Asks a proxy not to hold events back.
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(([unbuffered], response).into_response())
}

/// Changes the topics of an open stream, from the next second on.
#[utoipa::path(
    put,
    path = "/api/v1/live/{stream}/topics",
    operation_id = "live_set",
    tag = "live",
    params(("stream" = u64, Path, description = "Number from `hello`")),
    request_body = LiveTopics,
    responses((status = 204, description = "Changed"))
)]
pub(super) async fn set(
    Extension(streams): Extension<Arc<Streams>>,
    holder: Holder,
    Path(stream): Path<u64>,
    Body(LiveTopics { topics }): Body<LiveTopics>,
) -> Result<StatusCode, Fault> {
    let topics = Topics::parse(&topics)?;
    if streams.set_topics(stream, holder.owner(), topics) {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Fault::NoSuchResource)
    }
}
