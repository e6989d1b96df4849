//! `/api/v1/audit`.

use crate::audit::{Audit, Query as Wanted, View};
use crate::http::answer;
use crate::http::extract::Query;
use crate::http::guard::Recorder;
use crate::http::problem::{Fault, Refusal};
use crate::people::Caller;
use api::{AuditAuthor, AuditChange, AuditEntry, AuditLines, AuditQuery, AuditTarget, AuditVerification, List};
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::{StreamExt, stream};
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Number of entries of a part for which the request has no limit.
const DEFAULT_LIMIT: u32 = 100;
/// Largest number of entries of a part.
const MAX_LIMIT: u32 = 1000;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(verify)).routes(routes!(export))
}

/// Lists changes, sign-ins, and changes that were refused, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/audit",
    operation_id = "audit_list",
    tag = "people",
    params(AuditQuery),
    responses((status = 200, body = List<AuditEntry>))
)]
pub(super) async fn list(
    Query(query): Query<AuditQuery>,
    Extension(audit): Extension<Audit>,
    uri: axum::http::Uri,
) -> Result<Json<List<AuditEntry>>, Fault> {
    let AuditQuery { limit, before, who, action, target, since, until } = query;
    let limit = answer::number(limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
    let views = audit.list(Wanted { limit, before, who, action, target, since, until }).await.map_err(unreadable)?;
    // A full part may be followed by another one.
    let last = views.last().filter(|_| views.len() == limit);
    let next = last.map(|last| answer::part_from(&uri, &["before="], &format!("before={}", last.seq)));
    Ok(Json(List { items: views.into_iter().map(entry).collect(), next, total: None, revision: None }))
}

/// Verifies that no line of the audit was changed or removed. Lines that were removed from the end are not
/// noticed: compare with a copy elsewhere.
#[utoipa::path(get, path = "/api/v1/audit/verify", operation_id = "audit_verify", tag = "people", responses((status = 200, body = AuditVerification)))]
pub(super) async fn verify(Extension(audit): Extension<Audit>) -> Result<Json<AuditVerification>, Fault> {
    let found = audit.verify().await.map_err(unreadable)?;
    Ok(Json(AuditVerification { lines: found.lines, ok: found.first_bad.is_none(), first_bad: found.first_bad }))
}

/// Returns the lines of the audit as they are in its files, oldest first: intents, their results, and the digest of the
/// line before in each.
#[utoipa::path(
    get,
    path = "/api/v1/audit.jsonl",
    operation_id = "audit_export",
    tag = "people",
    params(AuditLines),
    responses((status = 200, description = "JSON lines", content_type = "application/jsonl", body = String))
)]
pub(super) async fn export(
    Query(AuditLines { since, until }): Query<AuditLines>,
    Extension(audit): Extension<Audit>,
    Extension(recorder): Extension<Arc<Recorder>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Fault> {
    let files = audit.files().await.map_err(unreadable)?;
    // One file is in memory at a time.
    let parts = stream::iter(files).then(move |name| {
        let audit = audit.clone();
        async move { audit.lines(name, since, until).await.map_err(std::io::Error::other) }
    });
    let answer = async { ([(header::CONTENT_TYPE, "application/jsonl")], Body::from_stream(parts)).into_response() };
    Ok(recorder.note(&caller, "audit_export", answer).await)
}

fn unreadable(error: anyhow::Error) -> Fault {
    Refusal::AuditNotRead { reason: format!("{error:#}") }.into()
}

fn entry(view: View) -> AuditEntry {
    let View { seq, time, previous, intent, outcome } = view;
    let who = AuditAuthor {
        kind: intent.who.kind,
        name: intent.who.name,
        id: intent.who.id.map(|id| id.to_string()),
        uid: intent.who.uid,
        from: intent.who.from,
    };
    let created = outcome.as_ref().and_then(|outcome| outcome.id.clone());
    let id = intent.target.id.or(created);
    let changes = intent.change.into_iter();
    AuditEntry {
        seq,
        time,
        who,
        action: intent.action,
        target: AuditTarget { kind: intent.target.kind, id, name: intent.target.name },
        change: changes.map(|(field, change)| (field, AuditChange { before: change.0, after: change.1 })).collect(),
        result: outcome.as_ref().map_or("unknown", |outcome| &outcome.result).to_owned(),
        code: outcome.as_ref().and_then(|outcome| outcome.code.clone()),
        duration_us: outcome.map(|outcome| outcome.duration_us),
        previous,
    }
}
