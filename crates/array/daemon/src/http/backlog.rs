//! Limit of the memory for responses that clients have not read yet, for all clients of a listener
//! together.

use crate::http::problem::Fault;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::Version;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use control::ControlError;
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Largest number of unread bytes of large responses per listener.
const MAX_BYTES: u32 = 64 << 20;
/// Responses up to this size are not counted: the number of connections limits them.
const SMALL_BYTES: u64 = 64 << 10;
/// The same for HTTP/2, with many responses on a connection.
const SMALL_STREAM_BYTES: u64 = 4 << 10;
/// Bytes passed to the connection at once: it keeps passed bytes in memory.
const PIECE_BYTES: usize = 64 << 10;

/// Memory budget for large responses.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    room: Arc<Semaphore>,
    most: u32,
}

impl Default for Backlog {
    fn default() -> Self {
        Self::of(MAX_BYTES)
    }
}

impl Backlog {
    /// Creates a budget of `most` bytes.
    pub(super) fn of(most: u32) -> Self {
        Self { room: Arc::new(Semaphore::new(most as usize)), most }
    }
}

/// Refuses a large response as `busy` while clients have not read enough of earlier ones. A
/// response larger than the whole budget needs all of it.
pub(super) async fn bound(State(backlog): State<Backlog>, request: Request, next: Next) -> Response {
    let small = if request.version() == Version::HTTP_2 { SMALL_STREAM_BYTES } else { SMALL_BYTES };
    let (head, body) = next.run(request).await.into_parts();
    let Some(bytes) = body.size_hint().exact().filter(|bytes| *bytes > small) else {
        return Response::from_parts(head, body);
    };
    let wanted = u32::try_from(bytes).unwrap_or(u32::MAX).min(backlog.most);
    let Ok(room) = backlog.room.try_acquire_many_owned(wanted) else {
        return Fault::from(ControlError::Busy).into_response();
    };
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(rest) => Response::from_parts(head, Body::new(Answer { rest, _room: room })),
        Err(error) => Fault::InvalidRequest { status: head.status, detail: error.to_string() }.into_response(),
    }
}

/// Large response, sent in pieces. It keeps its part of the budget until the connection has taken
/// the last piece.
struct Answer {
    rest: Bytes,
    _room: OwnedSemaphorePermit,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use axum::Router;
    use axum::routing::get;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    const LARGE: usize = 100 << 10;

    fn app(most: u32) -> Router {
        let large = get(async || vec![7_u8; LARGE]);
        let app = Router::new().route("/large", large).route("/small", get(async || "small"));
        app.layer(axum::middleware::from_fn_with_state(Backlog::of(most), bound))
    }

    async fn ask(app: &Router, path: &str) -> Response {
        ask_with(app, path, Version::HTTP_11).await
    }

    async fn ask_with(app: &Router, path: &str, version: Version) -> Response {
        let request = Request::builder().version(version).uri(path).body(Body::empty()).unwrap();
        app.clone().oneshot(request).await.unwrap()
    }

    /// A connection of HTTP/2 has 64 answers in progress.
    #[tokio::test]
    async fn unread_answers_of_middle_size_are_bounded_over_http2() {
        let middle = get(async || vec![7_u8; 20 << 10]);
        let app = Router::new().route("/middle", middle);
        let app = app.layer(axum::middleware::from_fn_with_state(Backlog::of(30 << 10), bound));
        let _waiting = ask_with(&app, "/middle", Version::HTTP_2).await;
        assert_eq!(ask_with(&app, "/middle", Version::HTTP_2).await.status(), 503);
        assert_eq!(ask_with(&app, "/middle", Version::HTTP_11).await.status(), 200);
    }

    /// Regression: clients that requested large responses without reading them could hold one for
    /// each connection.
    #[tokio::test]
    async fn unread_large_responses_are_bounded() {
        let app = app(250 << 10);
        let waiting = [ask(&app, "/large").await, ask(&app, "/large").await];
        assert_eq!(waiting.each_ref().map(|answer| answer.status().as_u16()), [200, 200]);
        assert_eq!(ask(&app, "/large").await.status(), 503);
        assert_eq!(ask(&app, "/small").await.status(), 200, "small answers always have room");
        let [taken, dropped] = waiting;
        assert_eq!(taken.into_body().collect().await.unwrap().to_bytes(), vec![7; LARGE]);
        let next = ask(&app, "/large").await;
        assert_eq!((next.status().as_u16(), ask(&app, "/large").await.status().as_u16()), (200, 503));
        drop(dropped);
        assert_eq!(ask(&app, "/large").await.status(), 200);
    }

    #[tokio::test]
    async fn an_answer_larger_than_all_room_has_it_alone() {
        let app = app(90 << 10);
        let first = ask(&app, "/large").await;
        assert_eq!((first.status().as_u16(), ask(&app, "/large").await.status().as_u16()), (200, 503));
        assert_eq!(first.into_body().collect().await.unwrap().to_bytes().len(), LARGE);
        assert_eq!(ask(&app, "/large").await.status(), 200);
    }
}
