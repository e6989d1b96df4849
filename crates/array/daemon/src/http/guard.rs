//! The guard: who sends a request, and whether that caller may.
//!
//! Every request to a resource passes here, after its path was matched and before its handler. What
//! an operation needs is in the table of [`operations`]. A path or method without
//! a row there is answered here, so that no handler can be reached past the table.

mod record;
mod refusals;
mod repeats;
mod scope;
mod trouble;

pub(super) use record::Recorder;
pub(super) use refusals::Refusals;
pub(super) use repeats::Repeats;
pub(super) use trouble::Trouble;

use crate::http::connections::Connection;
use crate::http::cookie::{self, Origin};
use crate::http::dry_run;
use crate::http::openapi;
use crate::http::operations::{self, Needs, Operation};
use crate::http::peer::{Author, Peer};
use crate::http::problem::{Fault, Refusal};
use crate::people::{Caller, Denied, Gate};
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use identity::Role;
use reactor::ArrayHandle;
use repeats::Start;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

/// What the guard of a listener knows.
pub(super) struct Guard {
    /// Credentials.
    pub(super) gate: Arc<Gate>,
    /// The array, for names of volumes.
    pub(super) array: ArrayHandle,
    /// Records of changes.
    pub(super) recorder: Arc<Recorder>,
    /// Answers of changes with a key.
    pub(super) repeats: Arc<Repeats>,
    /// Names of this array besides addresses, for which cookies are accepted; `None`: any.
    pub(super) names: Option<Vec<String>>,
}

/// Operation of a method and the template of a path.
fn find(method: &str, template: &str) -> Option<&'static Operation> {
    static PATHS: OnceLock<openapi::Paths> = OnceLock::new();
    let read = if method == "HEAD" { "GET" } else { method };
    if (read, template) == ("GET", openapi::PATH) {
        return Some(&operations::DOCUMENT);
    }
    PATHS.get_or_init(openapi::paths).get(template)?.get(read).copied()
}

/// Admits a request whose caller has what its operation needs.
pub(super) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let template = parts.extensions.get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let operation = template.as_deref().and_then(|template| find(parts.method.as_str(), template));
    if let Some(open) = operation.filter(|operation| operation.needs == Needs::Nothing) {
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        let mut asked = guard.check_page(&parts, operation);
        if !is_read && asked.is_ok() {
            asked = dry_run::take(&mut parts, open).map(drop);
        }
        if let Err(fault) = asked {
            return fault.into_response();
        }
        let request = Request::from_parts(parts, body);
        // A client that leaves early cannot hide a wrong password, nor stop half of the set-up.
        return if is_read { next.run(request).await } else { record::to_its_end(next.run(request)).await };
    }
    let caller = guard.authenticate(&parts, operation);
    if let Some(connection) = parts.extensions.get::<Connection>() {
        connection.trust(caller.is_ok());
    }
    let caller = match caller {
        Ok(caller) => caller,
        Err(fault) => {
            let peer = parts.extensions.get::<Peer>().map_or_else(String::new, Peer::to_string);
            tracing::warn!(peer, path = parts.uri.path(), ?fault, "a request without valid credentials");
            return fault.into_response();
        }
    };
    let author = Author(format!("{} {}", caller.kind.name(), caller.name));
    let request = Request::from_parts(parts, body);
    let mut response = match (operation, template) {
        (Some(operation), _) => pass(guard, operation, caller, request, next).await,
        (None, Some(_)) => Fault::MethodNotAllowed.into_response(),
        (None, None) => Fault::NoSuchResource.into_response(),
    };
    response.extensions_mut().insert(author);
    response
}

/// Checks rights, and has the request executed; a change between its records in the audit.
async fn pass(
    guard: Arc<Guard>,
    operation: &'static Operation,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut is_change = operation.is_change(parts.method.as_str());
    if is_change {
        match dry_run::take(&mut parts, operation) {
            Ok(is_dry) => is_change = !is_dry,
            Err(fault) => return fault.into_response(),
        }
    }
    let checked = match check_rights(operation, &caller, &mut parts).await {
        Ok(()) => match &caller.scopes.volumes {
            Some(volumes) => scope::check(volumes, operation, &guard.array, &mut parts, body).await,
            None => Ok(body),
        },
        Err(fault) => Err(fault),
    };
    match checked {
        Ok(body) if is_change => {
            let key = match repeats::key(&parts, &caller) {
                Ok(key) => key.filter(|_| parts.method == Method::POST),
                Err(fault) => return fault.into_response(),
            };
            let readable = is_readable(&parts);
            let request = Request::from_parts(parts, body);
            let change = Change { operation, caller, next, readable };
            match key {
                Some(key) => once(&guard, key, change, request).await,
                None => change.make(&guard.recorder, request).await,
            }
        }
        Ok(body) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(fault) => {
            tracing::warn!(caller = caller.name, operation = operation.name, ?fault, "a request without the right");
            if is_change {
                guard.recorder.record_refusal(operation, &caller, &mut parts, fault.code()).await;
            }
            fault.into_response()
        }
    }
}

/// A change that may be made.
struct Change {
    operation: &'static Operation,
    caller: Caller,
    next: Next,
    /// True if its path is that of an object that can be read.
    readable: bool,
}

impl Change {
    /// Makes it, between its records in the audit.
    async fn make(self, recorder: &Arc<Recorder>, request: Request) -> Response {
        let Self { operation, caller, next, readable } = self;
        record::execute(Arc::clone(recorder), operation, caller, request, next, readable).await
    }
}

/// Makes a change with a key, unless it was made before. Its answer is kept even if the client has left.
async fn once(guard: &Arc<Guard>, key: repeats::Key, change: Change, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let most = change.operation.body_bytes;
    let Ok(bytes) = axum::body::to_bytes(body, most).await else {
        return record::too_large(most).into_response();
    };
    let digest = repeats::request_digest(&parts, &bytes);
    let request = Request::from_parts(parts, Body::from(bytes));
    let guard = Arc::clone(guard);
    match guard.repeats.begin(key, digest).await {
        Ok(Start::First(ticket)) => {
            let recorder = Arc::clone(&guard.recorder);
            record::to_its_end(async move { ticket.keep(change.make(&recorder, request).await).await }).await
        }
        Ok(Start::Again(answer)) => answer,
        Err(fault) => fault.into_response(),
    }
}

/// True if a request is about an object that can be read at its path.
fn is_readable(parts: &Parts) -> bool {
    let template = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    template.is_some_and(|path| path.ends_with('}') && find("GET", path).is_some())
}

impl Guard {
    /// Author of a request.
    fn authenticate(&self, parts: &Parts, operation: Option<&'static Operation>) -> Result<Caller, Fault> {
        let from = match parts.extensions.get::<Peer>() {
            Some(Peer::Local { uid }) => return Ok(Caller::local(*uid)),
            Some(Peer::Remote(address)) => address.ip(),
            None => return Err(Fault::Unauthorized),
        };
        if let Some(authorization) = parts.headers.get(header::AUTHORIZATION) {
            let token = authorization.to_str().ok().and_then(bearer);
            let caller = match token {
                Some(token) => self.gate.by_token(token, from),
                None => Err(self.gate.stranger(from)),
            };
            return caller.map_err(fault);
        }
        match cookie::of(&parts.headers) {
            Some(cookie) => self.with_cookie(cookie, parts, from, operation),
            None => Err(fault(self.gate.stranger(from))),
        }
    }

    /// Author of a request with a cookie. A change has to come from a page of the array.
    fn with_cookie(
        &self,
        cookie: &str,
        parts: &Parts,
        from: IpAddr,
        operation: Option<&'static Operation>,
    ) -> Result<Caller, Fault> {
        self.check_page(parts, operation)?;
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        if !is_read {
            let is_own = matches!(cookie::origin(&parts.headers), Origin::Own);
            if !is_own || !cookie::has_csrf(&parts.headers, cookie) {
                return Err(Refusal::ForeignPage.into());
            }
        }
        let is_use = operation.is_none_or(|operation| operation.is_use);
        self.gate.by_cookie(cookie, from, is_use).map_err(fault)
    }

    /// Refuses what a page of others causes, or a page under a name that is not ours (DNS rebinding).
    fn check_page(&self, parts: &Parts, operation: Option<&'static Operation>) -> Result<(), Fault> {
        let is_for_any = operation.is_some_and(|operation| operation.is_for_any_page);
        let is_remote = matches!(parts.extensions.get::<Peer>(), Some(Peer::Remote(_)));
        if is_for_any || !is_remote {
            return Ok(());
        }
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        if !is_read && matches!(cookie::origin(&parts.headers), Origin::Foreign) {
            return Err(Refusal::ForeignPage.into());
        }
        let Some(names) = &self.names else { return Ok(()) };
        let host = cookie::host(&parts.headers).unwrap_or_default();
        // An address cannot be bound to another server by DNS.
        let is_ours = host.parse::<IpAddr>().is_ok() || names.iter().any(|name| name.eq_ignore_ascii_case(host));
        if is_ours { Ok(()) } else { Err(Refusal::ForeignHost { host: host.to_owned() }.into()) }
    }
}

/// Checks that a caller may use an operation.
async fn check_rights(operation: &Operation, caller: &Caller, parts: &mut Parts) -> Result<(), Fault> {
    if caller.scopes.metrics_only && !operation.is_scrape {
        return Err(Refusal::OutsideScope { detail: "the token is for /metrics alone".to_owned() }.into());
    }
    let of_role = |role: Role| {
        if caller.must_change {
            Err(Refusal::PasswordToChange.into())
        } else if caller.role >= role {
            Ok(())
        } else {
            Err(Refusal::Forbidden { operation: operation.name, needs: role, has: caller.role }.into())
        }
    };
    let at_once = parts.uri.query().is_some_and(|query| scope::form_values(query, "now").any(|now| now == "true"));
    match operation.needs {
        // What passes by the trash does not come back.
        Needs::Role(_) if at_once => of_role(Role::Admin),
        Needs::Nothing | Needs::Credentials => Ok(()),
        Needs::Role(role) => of_role(role),
        Needs::Own(role) => {
            let named = scope::parameter(parts, &["user"]).await;
            let is_own =
                caller.sign_in.is_some() && named.is_some_and(|named| named.eq_ignore_ascii_case(&caller.name));
            if is_own { Ok(()) } else { of_role(role) }
        }
    }
}

fn fault(denied: Denied) -> Fault {
    match denied {
        Denied::Unauthorized => Fault::Unauthorized,
        Denied::Wait { seconds } => Fault::TooManyFailures { seconds },
        Denied::Elsewhere => {
            Refusal::OutsideScope { detail: "the token is not accepted from this address".to_owned() }.into()
        }
    }
}

/// Token of an `Authorization` header (RFC 6750 §2.1).
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
