//! HTTP/2 on one connection (RFC 9113): limits of its streams, and what a request and an answer need to
//! pass through the resources like those of HTTP/1.1.
//!
//! Each stream is a task, which ends with its connection. A stream ends alone if its client takes nothing
//! of the answer for as long as HTTP/1.1 allows for a connection. Floods of frames are counted by the crate
//! `h2`, which ends the connection with ENHANCE_YOUR_CALM; what has to be told here are the limits.

use super::{DRAIN_TIMEOUT, MAX_HEADER_BYTES, Serving, report_end};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use hyper::server::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

/// Largest number of streams of a connection; a further one is refused with REFUSED_STREAM.
pub(super) const MAX_STREAMS: u32 = 64;
/// Bytes of a request's body that a client may send before they are read.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
/// Bytes of all bodies that a client may send before they are read.
const CONNECTION_WINDOW_BYTES: u32 = 256 << 10;
/// Bytes of an answer that are passed to the connection at once, and that it keeps for a stream: one frame.
const PIECE_BYTES: usize = 16 << 10;
/// Largest number of streams that were reset by the client before they were looked at.
const MAX_UNSEEN_RESETS: usize = 20;
/// Largest number of streams that were reset for errors of the client.
const MAX_ERROR_RESETS: usize = 128;
/// Interval of pings, by which lost clients are noticed.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Longest time for the answer to a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves a connection until its client leaves, it is idle, or the array stops.
pub(super) async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, serving: Serving) {
    let Serving { app, watcher, mut stop, connection, deadlines } = serving;
    // The listener waits for it.
    let _watched = watcher;
    let app = app.layer(axum::middleware::from_fn(adapt));
    let header_bytes = u32::try_from(MAX_HEADER_BYTES).unwrap_or(u32::MAX);
    let served = http2::Builder::new(Executor { stall: deadlines.stall })
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(header_bytes)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(PIECE_BYTES)
        .max_pending_accept_reset_streams(MAX_UNSEEN_RESETS)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    let mut served = pin!(served);
    let is_stopping = tokio::select! {
        ended = served.as_mut() => return report_end(ended),
        stopped = stop.wait_for(|stop| *stop) => stopped.is_ok(),
        () = connection.idle(deadlines.idle) => false,
    };
    // GOAWAY: the client sends later requests on another connection.
    served.as_mut().graceful_shutdown();
    if is_stopping {
        // The listener says for how long.
        return report_end(served.await);
    }
    if let Ok(ended) = timeout(DRAIN_TIMEOUT, served.as_mut()).await {
        return report_end(ended);
    }
    tokio::select! {
        ended = served => report_end(ended),
        () = connection.idle(Duration::ZERO) => tracing::debug!("an idle connection was closed"),
    }
}

/// Runs each stream in a task.
#[derive(Clone, Copy)]
struct Executor {
    /// Longest time in which a client takes nothing of an answer.
    stall: Duration,
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Executor {
    fn execute(&self, stream: F) {
        let (taken, stall) = (Arc::<Taken>::default(), self.stall);
        tokio::spawn(async move {
            let stream = TAKEN.scope(Arc::clone(&taken), stream);
            tokio::select! {
                () = stream => {}
                () = taken.stalled(stall) => tracing::debug!("a stream was reset: its client took nothing of the answer"),
            }
        });
    }
}

tokio::task_local! {
    /// What the client has taken of the answer on the stream of this task.
    static TAKEN: Arc<Taken>;
}

/// Progress of an answer.
#[derive(Default)]
struct Taken {
    /// Time at which a piece was passed on that the client has not taken yet.
    waiting_since: Mutex<Option<Instant>>,
}

impl Taken {
    fn set(&self, waiting_since: Option<Instant>) {
        *self.waiting_since.lock().unwrap_or_else(PoisonError::into_inner) = waiting_since;
    }

    /// Completes when the client has taken nothing for so long.
    async fn stalled(&self, time: Duration) {
        loop {
            let since = *self.waiting_since.lock().unwrap_or_else(PoisonError::into_inner);
            let left = since.map_or(time, |since| time.saturating_sub(since.elapsed()));
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// Gives a request the form that it has in HTTP/1.1, and an answer in pieces to the connection.
async fn adapt(request: Request, next: Next) -> Response {
    let response = next.run(in_origin_form(request)).await;
    let taken = TAKEN.try_with(Arc::clone).unwrap_or_default();
    response.map(|body| Body::new(Pieces { body, rest: Bytes::new(), taken }))
}

/// Moves the authority of a request to its header `Host` (RFC 9113 §8.3.1).
fn in_origin_form(request: Request) -> Request {
    let (mut parts, body) = request.into_parts();
    let authority = parts.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(authority) = authority {
        parts.headers.insert(header::HOST, authority);
    }
    if let Some(path) = parts.uri.path_and_query().cloned() {
        parts.uri = Uri::from(path);
    }
    Request::from_parts(parts, body)
}

/// Answer that is passed on in pieces. It is asked for the next piece when the client has room for it.
struct Pieces {
    body: Body,
    rest: Bytes,
    taken: Arc<Taken>,
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Self { body, rest, taken } = self.get_mut();
        taken.set(None);
        while rest.is_empty() {
            match ready!(Pin::new(&mut *body).poll_frame(context)).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => *rest = data,
                Some(Ok(Err(trailers))) => return Poll::Ready(Some(Ok(trailers))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let piece = rest.split_to(rest.len().min(PIECE_BYTES));
        taken.set(Some(Instant::now()));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (of_body, rest) = (self.body.size_hint(), u64::try_from(self.rest.len()).unwrap_or(u64::MAX));
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower().saturating_add(rest));
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}
