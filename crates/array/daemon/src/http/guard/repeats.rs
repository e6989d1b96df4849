//! Repeated requests: `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
//!
//! A POST with a key is executed once for its caller. A repeat gets the same answer, also if it arrives while the first
//! one runs, or after the client of the first one has left; another request with the same key is refused. Answers are
//! kept in memory alone, since some have secrets that are shown once: after a restart, a repeat is a new request. An
//! answer that says nothing about the change, such as 503, is not kept, so that its repeat is executed.

use crate::http::problem::{Fault, Refusal};
use crate::people::Caller;
use axum::body::{Body, HttpBody};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use identity::Digest;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Header with the key.
const HEADER: &str = "idempotency-key";
/// Header of an answer that was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Time for which an answer is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Most answers that are kept.
const MOST: usize = 1024;
/// Most bytes of answers that are kept.
const MOST_BYTES: usize = 8 << 20;
/// Largest answer that is kept.
const LARGEST_BYTES: usize = 256 << 10;
/// Longest key in bytes.
const LONGEST_KEY: usize = 255;

/// Kind and identity of a caller, and its key.
pub(super) type Key = (&'static str, String, String);

/// Answer of a request that ended.
#[derive(Clone)]
struct Kept {
    status: StatusCode,
    headers: HeaderMap,
    body: axum::body::Bytes,
}

/// Request with a key.
enum Entry {
    /// It runs; its waiting repeats are woken when it has an answer, or none that is kept.
    Running {
        request: Digest,
        ended: watch::Receiver<()>,
    },
    Ended {
        request: Digest,
        answer: Kept,
    },
}

#[derive(Default)]
struct Table {
    entries: BTreeMap<Key, Entry>,
    /// Ended ones, the oldest first, with their ends.
    order: VecDeque<(Instant, Key)>,
    bytes: usize,
}

/// Answers of the last day, of all listeners.
#[derive(Default)]
pub(in crate::http) struct Repeats(Mutex<Table>);

/// What becomes of a request.
pub(super) enum Start {
    /// It is executed; the ticket takes its answer.
    First(Ticket),
    /// It has this answer already.
    Again(Response),
}

/// The right to execute a request. Dropped without an answer, it leaves no trace.
pub(super) struct Ticket {
    repeats: Arc<Repeats>,
    key: Key,
    request: Digest,
    _ended: watch::Sender<()>,
}

/// Key of a request: absent if it has none. Errors: it is no key.
pub(super) fn key(parts: &Parts, caller: &Caller) -> Result<Option<Key>, Fault> {
    let mut values = parts.headers.get_all(HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let is_key = |key: &&str| (1..=LONGEST_KEY).contains(&key.len());
    let key = value.to_str().ok().filter(is_key).filter(|_| values.next().is_none());
    let wrong = || Fault::malformed(format!("Idempotency-Key is one text of 1 to {LONGEST_KEY} visible characters"));
    let who = caller.id.map_or_else(|| caller.name.clone(), |id| id.to_string());
    Ok(Some((caller.kind.name(), who, key.ok_or_else(wrong)?.to_owned())))
}

/// Digest of everything that makes two requests the same.
pub(super) fn request_digest(parts: &Parts, body: &[u8]) -> Digest {
    let mut text = format!("{} {}\n", parts.method, parts.uri).into_bytes();
    for value in parts.headers.get_all(header::IF_MATCH) {
        text.extend_from_slice(value.as_bytes());
        text.push(b'\n');
    }
    text.push(b'\n');
    text.extend_from_slice(body);
    Digest::of(&text)
}

impl Table {
    /// Forgets what is too old, and the oldest while there is too much.
    fn tidy(&mut self, now: Instant) {
        while let Some((ended, _)) = self.order.front() {
            let fits = self.order.len() <= MOST && self.bytes <= MOST_BYTES;
            if fits && now.duration_since(*ended) < KEPT {
                return;
            }
            let Some((_, key)) = self.order.pop_front() else { return };
            if let Some(Entry::Ended { answer, .. }) = self.entries.remove(&key) {
                self.bytes = self.bytes.saturating_sub(answer.body.len());
            }
        }
    }
}

impl Repeats {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides about a request. Waits while the same one runs.
    ///
    /// Errors: `idempotency-key-reused` if the key belongs to another request.
    pub(super) async fn begin(self: &Arc<Self>, key: Key, request: Digest) -> Result<Start, Fault> {
        loop {
            let mut ended = {
                let mut table = self.table();
                table.tidy(Instant::now());
                match table.entries.get(&key) {
                    None => {
                        let (sender, ended) = watch::channel(());
                        table.entries.insert(key.clone(), Entry::Running { request, ended });
                        return Ok(Start::First(Ticket { repeats: Arc::clone(self), key, request, _ended: sender }));
                    }
                    Some(Entry::Running { request: other, .. } | Entry::Ended { request: other, .. })
                        if !other.matches(&request) =>
                    {
                        return Err(Refusal::KeyReused.into());
                    }
                    Some(Entry::Ended { answer, .. }) => return Ok(Start::Again(answer.again())),
                    Some(Entry::Running { ended, .. }) => ended.clone(),
                }
            };
            // Its sender sends nothing: it is dropped when the request has ended.
            let _gone = ended.changed().await;
        }
    }
}

impl Kept {
    fn again(&self) -> Response {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        response
    }
}

/// True if an answer says what became of a change.
fn is_final(status: StatusCode) -> bool {
    let is_refused_for_now =
        matches!(status, StatusCode::UNAUTHORIZED | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
    !status.is_server_error() && !is_refused_for_now || status == StatusCode::INSUFFICIENT_STORAGE
}

impl Ticket {
    /// Keeps an answer for the repeats of the request, if it says what became of the change. Returns it.
    pub(super) async fn keep(self, response: Response) -> Response {
        let is_small = response.body().size_hint().exact().is_some_and(|bytes| bytes <= LARGEST_BYTES as u64);
        if !is_final(response.status()) || !is_small {
            return response;
        }
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, LARGEST_BYTES).await.unwrap_or_default();
        let answer = Kept { status: head.status, headers: head.headers.clone(), body: body.clone() };
        let mut table = self.repeats.table();
        table.bytes = table.bytes.saturating_add(body.len());
        table.entries.insert(self.key.clone(), Entry::Ended { request: self.request, answer });
        table.order.push_back((Instant::now(), self.key.clone()));
        table.tidy(Instant::now());
        drop(table);
        Response::from_parts(head, Body::from(body))
    }
}

impl Drop for Ticket {
    /// Without an answer that is kept, the next request with the key is a first one again.
    fn drop(&mut self) {
        let mut table = self.repeats.table();
        if matches!(table.entries.get(&self.key), Some(Entry::Running { .. })) {
            table.entries.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use axum::response::IntoResponse;

    fn key(name: &str) -> Key {
        ("user", "anna".to_owned(), name.to_owned())
    }

    async fn answer(repeats: &Arc<Repeats>, name: &str, status: StatusCode, body: Vec<u8>) {
        let Ok(Start::First(ticket)) = repeats.begin(key(name), Digest::of(b"a")).await else {
            panic!("{name} ran before")
        };
        ticket.keep((status, body).into_response()).await;
    }

    async fn is_known(repeats: &Arc<Repeats>, name: &str) -> bool {
        matches!(repeats.begin(key(name), Digest::of(b"a")).await.unwrap(), Start::Again(_))
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_kept_a_day_within_their_bounds() {
        let repeats = Arc::new(Repeats::default());
        answer(&repeats, "one", StatusCode::CREATED, Vec::new()).await;
        assert!(is_known(&repeats, "one").await);
        assert!(repeats.begin(key("one"), Digest::of(b"b")).await.is_err());
        tokio::time::advance(KEPT).await;
        assert!(!is_known(&repeats, "one").await);
        for number in 0..=MOST {
            answer(&repeats, &format!("n{number}"), StatusCode::OK, Vec::new()).await;
        }
        assert!(!is_known(&repeats, "n0").await && is_known(&repeats, "n1").await);
        for number in 0..=MOST_BYTES / LARGEST_BYTES {
            answer(&repeats, &format!("b{number}"), StatusCode::OK, vec![0; LARGEST_BYTES]).await;
        }
        assert!(!is_known(&repeats, "b0").await && is_known(&repeats, "b1").await);
        assert_eq!(repeats.table().bytes, MOST_BYTES);
        answer(&repeats, "too large", StatusCode::OK, vec![0; LARGEST_BYTES + 1]).await;
        answer(&repeats, "later", StatusCode::SERVICE_UNAVAILABLE, Vec::new()).await;
        assert!(!is_known(&repeats, "too large").await && !is_known(&repeats, "later").await);
        answer(&repeats, "full", StatusCode::INSUFFICIENT_STORAGE, Vec::new()).await;
        assert!(is_known(&repeats, "full").await);
    }

    #[tokio::test]
    async fn a_repeat_waits_for_the_first_and_runs_if_that_has_no_answer() {
        let repeats = Arc::new(Repeats::default());
        let Ok(Start::First(first)) = repeats.begin(key("k"), Digest::of(b"a")).await else { panic!() };
        let other = Arc::clone(&repeats);
        let waiting = tokio::spawn(async move { other.begin(key("k"), Digest::of(b"a")).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        let Ok(Start::First(second)) = waiting.await.unwrap() else { panic!("the first one left no answer") };
        let other = Arc::clone(&repeats);
        let waiting = tokio::spawn(async move { other.begin(key("k"), Digest::of(b"a")).await });
        tokio::task::yield_now().await;
        second.keep(StatusCode::CREATED.into_response()).await;
        let Ok(Start::Again(answer)) = waiting.await.unwrap() else { panic!("the second one has an answer") };
        assert_eq!(answer.status(), StatusCode::CREATED);
        assert_eq!(answer.headers()[REPLAYED], "true");
    }
}
