//! `/api/v1/audit`.

use crate::audit::{Audit, Query as Wanted, View};
use crate::http::answer;
use crate::http::extract::Query;
use crate::http::problem::{Fault, Refusal};
use api::{AuditAuthor, AuditChange, AuditEntry, AuditQuery, AuditTarget, AuditVerification, List};
use axum::{Extension, Json};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Number of entries of a part for which the request has no limit.
const DEFAULT_LIMIT: u32 = 100;
/// Largest number of entries of a part.
const MAX_LIMIT: u32 = 1000;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(verify))
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
    let AuditQuery { limit, before, who, action, target, since } = query;
    let limit = answer::number(limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
    let views = audit.list(Wanted { limit, before, who, action, target, since }).await.map_err(unreadable)?;
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
