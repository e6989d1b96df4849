//! The record of a change in the audit: its author, its object, and its fields before and after.

use super::refusals::{REFUSAL_INTERVAL, Refusals};
use super::scope;
use super::trouble::Trouble;
use crate::audit::{Audit, Author, Change, Intent, Outcome, Target};
use crate::http::MAX_BODY_BYTES;
use crate::http::operations::Operation;
use crate::http::problem::{Fault, Refusal};
use crate::people::Caller;
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use reactor::ArrayHandle;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tower::ServiceExt;

/// Text in the place of a secret.
const SECRET: &str = "(secret)";
/// Parts of names of fields with secrets.
const SECRET_FIELDS: [&str; 2] = ["secret", "password"];
/// Name of a field with a secret: the set-up code. Other fields have codes that are none.
const SECRET_FIELD: &str = "code";
/// Name of a field with the address of a webhook, of which the server alone is recorded.
const URL_FIELD: &str = "url";
/// Longest text of a value; the rest is cut.
const MAX_TEXT: usize = 256;
/// Longest list or object of a value; the rest is cut.
const MAX_ITEMS: usize = 64;
/// Field with the number of refusals that have no record of their own.
const LEFT_OUT: &str = "refusals_left_out";

/// What the records of changes need.
pub(in crate::http) struct Recorder {
    /// The audit.
    pub(in crate::http) audit: Audit,
    /// Whether it works.
    pub(in crate::http) trouble: Arc<Trouble>,
    /// True: changes are made even if the audit cannot be written.
    pub(in crate::http) goes_on_without_audit: bool,
    /// The array, for events and alerts about the audit.
    pub(in crate::http) array: ArrayHandle,
    /// The resources without the guard, to read the object of a change.
    pub(in crate::http) reader: Router,
    /// Refusals of late.
    pub(in crate::http) refusals: Refusals,
}

/// Author of a change, for the audit.
fn author(caller: &Caller) -> Author {
    Author {
        kind: caller.kind.name().to_owned(),
        name: caller.name.clone(),
        id: caller.id,
        uid: caller.uid,
        from: caller.from.map(|from| from.to_string()),
    }
}

/// Executes a change between the records of its intent and of its result. From its intent on, it goes on
/// even if the client leaves. `readable`: the path is that of an object that can be read.
pub(super) async fn execute(
    recorder: Arc<Recorder>,
    operation: &'static Operation,
    caller: Caller,
    request: Request,
    next: Next,
    readable: bool,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let most = operation.body_bytes;
    let Ok(bytes) = axum::body::to_bytes(body, most).await else {
        return too_large(most).into_response();
    };
    // A large body is a file: the audit has nothing of it.
    let fields = if most > MAX_BODY_BYTES { &[] } else { &bytes[..] };
    let content: Value = serde_json::from_slice(fields).unwrap_or_default();
    let present = if readable { recorder.present(&parts, &caller).await } else { Value::Null };
    let target = target(operation, &mut parts, &content, &present).await;
    let change = changes(parts.uri.query().unwrap_or_default(), &content, &present);
    let intent = Intent { who: author(&caller), action: operation.name.to_owned(), target, change };
    let mut request = Request::from_parts(parts, Body::from(bytes));
    request.extensions_mut().insert(caller);
    to_its_end(async move { recorder.record(intent, next.run(request)).await }).await
}

/// Fault of a body that is too large, or does not arrive.
pub(super) fn too_large(most: usize) -> Fault {
    let detail = format!("a body has at most {most} bytes, and has to arrive");
    Fault::InvalidRequest { status: StatusCode::PAYLOAD_TOO_LARGE, detail }
}

/// Word of a result.
fn result(status: StatusCode) -> &'static str {
    if status.is_server_error() {
        "failed"
    } else if status.is_client_error() {
        "refused"
    } else {
        "done"
    }
}

/// Runs a request in a task of its own, which goes on when the connection ends.
pub(super) async fn to_its_end(run: impl Future<Output = Response> + Send + 'static) -> Response {
    tokio::spawn(run).await.unwrap_or_else(|_| {
        let detail = "the request ended without an answer".to_owned();
        Fault::InvalidRequest { status: StatusCode::INTERNAL_SERVER_ERROR, detail }.into_response()
    })
}

impl Recorder {
    /// Makes a change between the records of its intent and of its result. Without the intent, it is not made.
    pub(in crate::http) async fn record(&self, intent: Intent, change: impl Future<Output = Response>) -> Response {
        let seq = match self.begin(intent).await {
            Ok(seq) => seq,
            Err(refusal) => return Fault::from(refusal).into_response(),
        };
        let begun = Instant::now();
        let (response, code, id) = examine(change.await).await;
        if let Some(intent) = seq {
            let result = result(response.status()).to_owned();
            let duration_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.end(Outcome { intent, result, code, duration_us, id }).await;
        }
        response
    }

    /// Makes a change that is part of a larger one, as its author, with a record of its own.
    pub(in crate::http) async fn make(
        &self,
        caller: &Caller,
        operation: &Operation,
        name: &str,
        change: BTreeMap<String, Change>,
        request: Request,
    ) -> Response {
        let change = change.into_iter().take(MAX_ITEMS);
        let change = change.map(|(field, Change(before, after))| {
            let change = Change(shown(&field, &before), shown(&field, &after));
            (cut(&field), change)
        });
        let target = Target { kind: operation.noun().to_owned(), id: None, name: cut(name) };
        let action = operation.name.to_owned();
        let intent = Intent { who: author(caller), action, target, change: change.collect() };
        self.record(intent, self.ask(caller, request)).await
    }

    /// Has a request executed for an author who may, without a record.
    pub(in crate::http) async fn ask(&self, caller: &Caller, mut request: Request) -> Response {
        request.extensions_mut().insert(caller.clone());
        let Ok(response) = self.reader.clone().oneshot(request).await;
        response
    }

    /// Records a read that shows so much that its author is of interest.
    pub(in crate::http) async fn note(
        &self,
        caller: &Caller,
        operation: &str,
        answer: impl Future<Output = Response>,
    ) -> Response {
        let kind = operation.split('_').next().unwrap_or_default().to_owned();
        let target = Target { kind, id: None, name: String::new() };
        let (action, change) = (operation.to_owned(), BTreeMap::new());
        self.record(Intent { who: author(caller), action, target, change }, answer).await
    }

    /// Writes an intent. Returns no number if the array is configured to go on without.
    async fn begin(&self, intent: Intent) -> Result<Option<u64>, Refusal> {
        match self.audit.begin(intent).await {
            Ok(seq) => {
                self.trouble.clear(&self.array).await;
                Ok(Some(seq))
            }
            Err(error) => {
                let reason = format!("{error:#}");
                tracing::error!(error = reason, "the audit cannot be written");
                self.trouble.report(&self.array, &reason).await;
                if self.goes_on_without_audit { Ok(None) } else { Err(Refusal::AuditNotWritten { reason }) }
            }
        }
    }

    async fn end(&self, outcome: Outcome) {
        if let Err(error) = self.audit.end(outcome).await {
            let reason = format!("{error:#}");
            tracing::error!(error = reason, "the result of a change could not be recorded");
            self.trouble.report(&self.array, &reason).await;
        }
    }

    /// The object of the path as it is.
    async fn present(&self, parts: &Parts, caller: &Caller) -> Value {
        let Ok(uri) = Uri::builder().path_and_query(parts.uri.path()).build() else { return Value::Null };
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = uri;
        let response = self.ask(caller, request).await;
        if response.status() != StatusCode::OK {
            return Value::Null;
        }
        let bytes = axum::body::to_bytes(response.into_body(), MAX_BODY_BYTES).await.unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Records a change that was refused for want of rights, if it is time for a record of its caller and
    /// operation: refusals must not push the rest of the audit out. Those left out are counted, and
    /// recorded together.
    pub(super) async fn record_refusal(
        self: &Arc<Self>,
        operation: &'static Operation,
        caller: &Caller,
        parts: &mut Parts,
        code: &'static str,
    ) {
        let key = (caller.kind.name(), caller.name.clone(), operation.name);
        if !self.refusals.is_first(&key) {
            return;
        }
        let target = target(operation, parts, &Value::Null, &Value::Null).await;
        let intent = Intent { who: author(caller), action: operation.name.to_owned(), target, change: BTreeMap::new() };
        let recorder = Arc::clone(self);
        let (recorded, is_recorded) = tokio::sync::oneshot::channel();
        // A task of its own: it goes on when the connection ends.
        tokio::spawn(async move {
            recorder.write_refusal(intent.clone(), code).await;
            let _client_has_left = recorded.send(());
            loop {
                tokio::time::sleep(REFUSAL_INTERVAL).await;
                let Some(count) = recorder.refusals.left_out(&key) else { return };
                let change = BTreeMap::from([(LEFT_OUT.to_owned(), Change(Value::Null, count.into()))]);
                recorder.write_refusal(Intent { change, ..intent.clone() }, code).await;
            }
        });
        let _is_recorded = is_recorded.await;
    }

    async fn write_refusal(&self, intent: Intent, code: &str) {
        let Ok(Some(intent)) = self.begin(intent).await else { return };
        let (result, code) = ("refused".to_owned(), Some(code.to_owned()));
        self.end(Outcome { intent, result, code, duration_us: 0, id: None }).await;
    }
}

/// Object of a change: of the path, or the one that the body names.
async fn target(operation: &Operation, parts: &mut Parts, content: &Value, present: &Value) -> Target {
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    let path = RawPathParams::from_request_parts(parts, &()).await.ok();
    let of_path: Vec<String> =
        path.iter().flat_map(|parameters| parameters.iter()).map(|(_, value)| cut(value)).collect();
    let of_path = (!of_path.is_empty()).then(|| of_path.join("/"));
    let named = || text(content, "name").or_else(|| text(content, "volume"));
    let name = text(present, "name").or(of_path).or_else(named).unwrap_or_default();
    Target { kind: operation.noun().to_owned(), id: text(present, "id"), name: cut(&name) }
}

/// Fields of the body and parameters of the query, before and after.
fn changes(query: &str, content: &Value, present: &Value) -> BTreeMap<String, Change> {
    let change = |(field, after): (&String, &Value)| {
        let before = present.get(field).unwrap_or(&Value::Null);
        (cut(field), Change(shown(field, before), shown(field, after)))
    };
    let parameter = |(name, value): (String, String)| {
        let after = shown(&name, &Value::String(value));
        (cut(&name), Change(Value::Null, after))
    };
    let mut changes: BTreeMap<String, Change> = scope::form_pairs(query).take(MAX_ITEMS).map(parameter).collect();
    if let Value::Object(fields) = content {
        changes.extend(fields.iter().take(MAX_ITEMS).map(change));
    }
    changes
}

/// A value without secrets, and not too long.
fn shown(field: &str, value: &Value) -> Value {
    let is_secret = field == SECRET_FIELD || SECRET_FIELDS.iter().any(|part| field.contains(part));
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        _ if is_secret => Value::String(SECRET.to_owned()),
        Value::Number(_) => value.clone(),
        Value::String(text) if field == URL_FIELD => Value::String(cut(&api::shown_url(text))),
        Value::String(text) => Value::String(cut(text)),
        Value::Array(items) => items.iter().take(MAX_ITEMS).map(|item| shown(field, item)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().take(MAX_ITEMS).map(|(field, value)| (cut(field), shown(field, value)));
            Value::Object(fields.collect::<Map<String, Value>>())
        }
    }
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_TEXT { text.to_owned() } else { text.chars().take(MAX_TEXT / 4).chain(['…']).collect() }
}

/// Code of the problem of an answer, and id of the object in it.
async fn examine(response: Response) -> (Response, Option<String>, Option<String>) {
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|of| of.as_bytes().ends_with(b"json"));
    let is_small = response.body().size_hint().exact().is_some_and(|bytes| bytes <= MAX_BODY_BYTES as u64);
    if !is_json || !is_small {
        return (response, None, None);
    }
    let (head, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, MAX_BODY_BYTES).await.unwrap_or_default();
    let content: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |field: &str| content.get(field).and_then(Value::as_str).map(str::to_owned);
    let (code, id) = if head.status.as_u16() >= 400 { (text("code"), None) } else { (None, text("id")) };
    (Response::from_parts(head, Body::from(bytes)), code, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_and_long_texts_are_not_recorded() {
        assert_eq!(changes("secret=abc", &Value::Null, &Value::Null)["secret"], Change(Value::Null, json!(SECRET)));
        let content = json!({
            "name": "h1",
            "chap": { "user": "u", "secret": "twelve-chars", "mutual": { "secret": ["x"], "generate": true } },
            "present_password": "p",
            "code": 7,
            "codes": ["pool-full"],
            "settings": { "kind": "webhook", "url": "https://hooks.example.org/services/T0/path-secret" },
            "text": "x".repeat(1000),
        });
        let present = json!({ "name": "h0", "chap": { "user": "t" } });
        let recorded = changes("now=%74rue&with_snapshots=true&code=abc", &content, &present);
        assert_eq!(recorded["name"], Change(json!("h0"), json!("h1")));
        assert_eq!(recorded["now"], Change(Value::Null, json!("true")));
        assert_eq!(recorded["with_snapshots"], Change(Value::Null, json!("true")));
        let mutual = json!({ "secret": SECRET, "generate": true });
        let chap = json!({ "user": "u", "secret": SECRET, "mutual": mutual });
        assert_eq!(recorded["chap"], Change(json!({ "user": "t" }), chap));
        assert_eq!(recorded["present_password"], Change(Value::Null, json!(SECRET)));
        assert_eq!(recorded["code"], Change(Value::Null, json!(SECRET)));
        assert_eq!(recorded["codes"], Change(Value::Null, json!(["pool-full"])));
        assert_eq!(recorded["text"].1.as_str().map(|text| text.chars().count()), Some(65));
        assert_eq!(recorded["settings"].1["url"], "https://hooks.example.org/(hidden)");
        let text = serde_json::to_string(&recorded).unwrap_or_default();
        assert!(!text.contains("twelve-chars") && !text.contains("path-secret") && !text.contains("\"p\""), "{text}");
    }
}
