//! `/api/v1/config`: the configuration as a document: export, plan, apply, and an export a day.

mod apply;
mod calls;
mod days;
mod plans;
mod present;

pub(crate) use days::keep_days;
pub(super) use plans::Plans;
pub(super) use present::present;

use crate::doctor::Places;
use crate::http::answer::aside;
use crate::http::convert;
use crate::http::extract::{Body, Path, Query};
use crate::http::guard::Recorder;
use crate::http::problem::{Fault, PlanRefusal, Refusal};
use crate::notices::Desk;
use crate::people::{Caller, Gate};
use api::{
    AuditChange, ConfigurationApplied, ConfigurationApply, ConfigurationDay, ConfigurationExport, ConfigurationFormat,
    ConfigurationPlan, ConfigurationStep, GeneratedSecret, Job, List, MAX_DOCUMENT_BYTES,
};
use apply::{Apply, named};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use configuration::{Configuration, Format, Invalid, Plan, Step};
use control::{ManagementJobStart, ManagementWork};
use days::Days;
use jiff::Timestamp;
use jiff::civil::Date;
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    let document = OpenApiRouter::new().routes(routes!(plan)).layer(DefaultBodyLimit::max(MAX_DOCUMENT_BYTES));
    OpenApiRouter::new()
        .routes(routes!(export))
        .merge(document)
        .routes(routes!(apply))
        .routes(routes!(applied))
        .routes(routes!(secrets))
        .routes(routes!(history))
        .routes(routes!(history_show))
}

impl From<PlanRefusal> for Fault {
    fn from(refusal: PlanRefusal) -> Self {
        Refusal::Plan(refusal).into()
    }
}

fn invalid(error: Invalid) -> Fault {
    Refusal::Configuration(error).into()
}

/// A document as an answer.
fn document(text: String, format: ConfigurationFormat) -> Response {
    let kind = match format {
        ConfigurationFormat::Toml => "application/toml",
        ConfigurationFormat::Json => "application/json",
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// Exports the configuration: sorted, without secrets, identifiers and content.
#[utoipa::path(
    get,
    path = "/api/v1/config/export",
    operation_id = "config_export",
    tag = "configuration",
    params(ConfigurationExport),
    responses((status = 200, description = "The document", content_type = "application/toml", body = String))
)]
pub(super) async fn export(
    State(array): State<ArrayHandle>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(desk): Extension<Arc<Desk>>,
    Extension(recorder): Extension<Arc<Recorder>>,
    Extension(caller): Extension<Caller>,
    Query(ConfigurationExport { format, secrets }): Query<ConfigurationExport>,
) -> Result<Response, Fault> {
    if secrets {
        return Err(PlanRefusal::Secrets.into());
    }
    let (configuration, _) = present(&array, &gate, &desk).await?;
    let form = match format {
        ConfigurationFormat::Toml => Format::Toml,
        ConfigurationFormat::Json => Format::Json,
    };
    let text = aside(move || configuration.write(form)).await?.map_err(invalid)?;
    Ok(recorder.note(&caller, "config_export", async { document(text, format) }).await)
}

/// Plans the steps from the present configuration to that of a document, TOML or JSON by its `Content-Type`, of at
/// most 8 MiB and 32 768 objects. Changes nothing. 422 with code `invalid-configuration`, and the parameters `field`
/// and `line`, if the document cannot be read or contradicts itself.
#[utoipa::path(
    post,
    path = "/api/v1/config/plan",
    operation_id = "config_plan",
    tag = "configuration",
    request_body(content = String, content_type = "application/toml"),
    responses((status = 200, body = ConfigurationPlan))
)]
pub(super) async fn plan(
    State(array): State<ArrayHandle>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(desk): Extension<Arc<Desk>>,
    Extension(plans): Extension<Arc<Plans>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ConfigurationPlan>, Fault> {
    let body = body.map_err(|rejection| match rejection.status() {
        status @ StatusCode::PAYLOAD_TOO_LARGE => {
            Fault::InvalidRequest { status, detail: format!("a document has at most {MAX_DOCUMENT_BYTES} bytes") }
        }
        status => Fault::InvalidRequest { status, detail: rejection.body_text() },
    })?;
    let format = format(&headers)?;
    let _place = plans.place().await;
    let read = move || {
        let text = std::str::from_utf8(&body).map_err(|_| Invalid {
            field: String::new(),
            line: None,
            reason: "the document is not UTF-8 text".to_owned(),
        })?;
        Configuration::read(text, format)
    };
    let wanted = aside(read).await?.map_err(invalid)?;
    let (present, _) = present(&array, &gate, &desk).await?;
    let planned = aside(move || Plan::new(&present, wanted, Timestamp::now())).await?.map(|plan| plans.keep(plan));
    let planned = planned.map_err(invalid)?;
    Ok(Json(ConfigurationPlan {
        id: planned.id,
        base_revision: planned.plan.base.clone(),
        created: Timestamp::now(),
        steps: planned.plan.steps.iter().map(step).collect(),
        problems: u64::try_from(planned.plan.problems()).unwrap_or(u64::MAX),
    }))
}

/// Form of a document by its media type, without the parameters of the type (RFC 9110 §8.3.1). Without a type, TOML.
fn format(headers: &HeaderMap) -> Result<Format, Fault> {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return Ok(Format::Toml) };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "application/json" => Ok(Format::Json),
        "application/toml" | "text/toml" => Ok(Format::Toml),
        _ => {
            let detail = format!("{kind:?} is no type of a document: application/toml or application/json");
            Err(Fault::InvalidRequest { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, detail })
        }
    }
}

fn step(step: &Step) -> ConfigurationStep {
    let change = step
        .change
        .iter()
        .map(|(field, (before, after))| (field.clone(), AuditChange { before: before.clone(), after: after.clone() }));
    ConfigurationStep {
        op: plans::op(step.op),
        kind: step.kind.name().to_owned(),
        name: step.name.clone(),
        change: change.collect(),
        problem: step.problem.clone(),
        note: step.note.clone(),
    }
}

/// Applies a plan: a job makes the same requests that an administrator would make, each with its record in the audit.
/// What fails is tried again after the rest; content is deleted at the end, and only if nothing else has failed. 409
/// with code `configuration-moved` if the configuration has changed since the plan was made.
#[utoipa::path(
    post,
    path = "/api/v1/config/apply",
    operation_id = "config_apply",
    tag = "configuration",
    request_body = ConfigurationApply,
    responses((status = 202, description = "Started", body = Job))
)]
pub(super) async fn apply(
    State(array): State<ArrayHandle>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(desk): Extension<Arc<Desk>>,
    Extension(plans): Extension<Arc<Plans>>,
    Extension(recorder): Extension<Arc<Recorder>>,
    Extension(caller): Extension<Caller>,
    Body(ConfigurationApply { plan, allow_delete }): Body<ConfigurationApply>,
) -> Result<Response, Fault> {
    let planned = plans.find(plan)?;
    let mut problems = planned.plan.steps.iter().filter_map(|step| Some((step, step.problem.as_ref()?)));
    if let Some((step, problem)) = problems.next() {
        let first = format!("{}: {problem}", named(step));
        return Err(PlanRefusal::Problems { count: planned.plan.problems(), first }.into());
    }
    if planned.plan.removes_content() && !allow_delete {
        return Err(PlanRefusal::Deletes.into());
    }
    let applying = plans.begin()?;
    let (present, pool) = present(&array, &gate, &desk).await?;
    if aside(move || present.digest()).await? != planned.plan.base {
        return Err(PlanRefusal::Moved.into());
    }
    let generate = || gate.new_secret().map_err(|_| anyhow::anyhow!("the operating system gives no random bytes"));
    let calls = calls::of(&planned.plan.steps, &planned.plan.wanted, &pool, &generate);
    let calls = calls.map_err(|error| PlanRefusal::NoRandomBytes { reason: error.to_string() })?;
    let total = u64::try_from(calls.len()).unwrap_or(u64::MAX);
    let job = array.call(ManagementJobStart { work: ManagementWork::Apply, total }).await?;
    plans.started(job.id, planned.id, &planned.plan.steps);
    let apply = Apply { array, gate, recorder, plans, caller, planned, calls, job: job.id };
    tokio::spawn(apply.run(applying));
    Ok((StatusCode::ACCEPTED, Json(convert::job(job))).into_response())
}

/// Returns the last apply since the array started: what was done, and what was not.
#[utoipa::path(
    get,
    path = "/api/v1/config/applied",
    operation_id = "config_applied",
    tag = "configuration",
    responses((status = 200, body = ConfigurationApplied))
)]
pub(super) async fn applied(Extension(plans): Extension<Arc<Plans>>) -> Result<Json<ConfigurationApplied>, Fault> {
    Ok(Json(plans.applied()?))
}

/// Returns secrets that applies have generated, at most 500, and forgets them: a client repeats the request until none
/// is left. With an `Idempotency-Key`, a repeat gets the same answer.
#[utoipa::path(
    post,
    path = "/api/v1/config/applied/secrets",
    operation_id = "config_secrets",
    tag = "configuration",
    responses((status = 200, body = List<GeneratedSecret>))
)]
pub(super) async fn secrets(Extension(plans): Extension<Arc<Plans>>) -> Json<List<GeneratedSecret>> {
    Json(List::whole(plans.take_secrets()))
}

/// Lists the days with an export, newest first: one is kept each day, for thirty days.
#[utoipa::path(
    get,
    path = "/api/v1/config/history",
    operation_id = "config_history",
    tag = "configuration",
    responses((status = 200, body = List<ConfigurationDay>))
)]
pub(super) async fn history(Extension(places): Extension<Arc<Places>>) -> Result<Json<List<ConfigurationDay>>, Fault> {
    let days = aside(move || Days::of(&places.state_directory).list()).await?;
    Ok(Json(List::whole(days.map_err(|error| PlanRefusal::Unavailable { reason: error.to_string() })?)))
}

/// Returns the export of a day, as TOML.
#[utoipa::path(
    get,
    path = "/api/v1/config/history/{day}",
    operation_id = "config_history_show",
    tag = "configuration",
    params(("day" = String, Path, description = "Day, UTC: `2026-03-01`")),
    responses((status = 200, description = "The document", content_type = "application/toml", body = String))
)]
pub(super) async fn history_show(
    Extension(places): Extension<Arc<Places>>,
    Extension(recorder): Extension<Arc<Recorder>>,
    Extension(caller): Extension<Caller>,
    Path(day): Path<Date>,
) -> Result<Response, Fault> {
    let found = aside(move || Days::of(&places.state_directory).read(day)).await?;
    let text = found.map_err(|error| PlanRefusal::Unavailable { reason: error.to_string() })?;
    let text = text.ok_or_else(|| PlanRefusal::NoDay { day: day.to_string() })?;
    let answer = async { document(text, ConfigurationFormat::Toml) };
    Ok(recorder.note(&caller, "config_history_show", answer).await)
}
