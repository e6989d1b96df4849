//! `/api/v1/schedules`.

use crate::http::answer;
use crate::http::answer::listing;
use crate::http::convert;
use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, made};
use crate::http::locks;
use crate::http::problem::Fault;
use crate::http::revision::{self, IfMatch};
use crate::people::Caller;
use api::{Schedule, ScheduleCreate, SchedulePreview, SchedulePreviewed, ScheduleSet};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use control::Label;
use reactor::ArrayHandle;
use std::collections::BTreeMap;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(preview))
        .routes(routes!(show, set, delete))
        .routes(routes!(run))
}

listing! {
    /// Lists schedules, by name. Sort keys: `name`, `next`, `created`.
    "schedule_list" list, "/api/v1/schedules", "schedules", NoFilter => |_| Ok(control::ScheduleList), Schedule,
    convert::schedule
}

/// Creates a schedule. The name of an existing one is refused (`exists`). One that locks for more than 30 days needs
/// the role admin.
#[utoipa::path(
    post,
    path = "/api/v1/schedules",
    operation_id = "schedule_create",
    tag = "schedules",
    request_body = ScheduleCreate,
    responses((status = 201, description = "Created", body = Schedule))
)]
pub(super) async fn create(
    State(array): State<ArrayHandle>,
    Extension(caller): Extension<Caller>,
    Body(body): Body<ScheduleCreate>,
) -> Result<Response, Fault> {
    locks::check_seconds(&caller, body.lock_seconds)?;
    let ScheduleCreate { name, when, zone, volumes, label, keep, keep_last, lock_seconds } = body;
    let request = control::ScheduleCreate {
        name,
        when: convert::wanted_when(when),
        zone,
        volumes,
        label: one_label(label)?,
        keep: convert::wanted_keep(keep),
        keep_last,
        lock_seconds,
    };
    let schedule = convert::schedule(array.call(request).await?);
    Ok(made(true, &format!("/api/v1/schedules/{}", schedule.id), schedule))
}

/// Says what times and rules would do: the next runs, and which snapshots would stay. Changes nothing.
#[utoipa::path(
    post,
    path = "/api/v1/schedules/preview",
    operation_id = "schedule_preview",
    tag = "schedules",
    request_body = SchedulePreview,
    responses((status = 200, body = SchedulePreviewed))
)]
pub(super) async fn preview(
    State(array): State<ArrayHandle>,
    Body(body): Body<SchedulePreview>,
) -> Result<Json<SchedulePreviewed>, Fault> {
    let SchedulePreview { schedule, when, zone, keep, keep_last } = body;
    let (when, keep) = (when.map(convert::wanted_when), keep.map(convert::wanted_keep));
    let request = control::SchedulePreview { schedule, when, zone, keep, keep_last };
    answer::change(&array, request, convert::schedule_preview).await
}

/// Returns one schedule.
#[utoipa::path(
    get,
    path = "/api/v1/schedules/{schedule}",
    operation_id = "schedule_show",
    tag = "schedules",
    params(("schedule" = String, Path, description = "Name or id")),
    responses((status = 200, body = Schedule))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(schedule): Path<String>) -> Result<Response, Fault> {
    revision::show(&array, control::ScheduleShow { schedule }, convert::schedule).await
}

/// Changes a schedule. Snapshots that the new rules do not keep are removed at once. A lock of more than 30 days
/// needs the role admin.
#[utoipa::path(
    patch,
    path = "/api/v1/schedules/{schedule}",
    operation_id = "schedule_set",
    tag = "schedules",
    params(
        ("schedule" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    request_body = ScheduleSet,
    responses((status = 200, body = Schedule))
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    Extension(caller): Extension<Caller>,
    condition: IfMatch,
    Path(schedule): Path<String>,
    Body(body): Body<ScheduleSet>,
) -> Result<Response, Fault> {
    locks::check_seconds(&caller, body.lock_seconds)?;
    let present = control::ScheduleShow { schedule: schedule.clone() };
    let ScheduleSet { when, zone, volumes, label, keep, keep_last, lock_seconds, paused } = body;
    let request = control::ScheduleSet {
        schedule,
        when: when.map(convert::wanted_when),
        zone,
        volumes,
        label: label.map(one_label).transpose()?,
        keep: keep.map(convert::wanted_keep),
        keep_last,
        lock_seconds: lock_seconds.map(|seconds| (seconds != 0).then_some(seconds)),
        paused,
    };
    revision::change(&array, condition, request, present, convert::schedule).await
}

/// Deletes a schedule. Its snapshots stay.
#[utoipa::path(
    delete,
    path = "/api/v1/schedules/{schedule}",
    operation_id = "schedule_delete",
    tag = "schedules",
    params(
        ("schedule" = String, Path, description = "Name or id"),
        ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")
    ),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    condition: IfMatch,
    Path(schedule): Path<String>,
) -> Result<Response, Fault> {
    let present = control::ScheduleShow { schedule: schedule.clone() };
    let request = control::ScheduleDelete { schedule };
    if dry_run.0 {
        return dry_run::answer_if(&array, condition, request, present, convert::schedule).await;
    }
    revision::delete(&array, condition, request, present, convert::schedule).await
}

/// Runs a schedule now: takes snapshots of all its members, and applies its rules.
#[utoipa::path(
    post,
    path = "/api/v1/schedules/{schedule}/run",
    operation_id = "schedule_run",
    tag = "schedules",
    params(("schedule" = String, Path, description = "Name or id")),
    responses((status = 200, body = Schedule))
)]
pub(super) async fn run(
    State(array): State<ArrayHandle>,
    Path(schedule): Path<String>,
) -> Result<Json<Schedule>, Fault> {
    answer::change(&array, control::ScheduleRun { schedule }, convert::schedule).await
}

/// The label of a request: none, or one key with its value.
fn one_label(label: BTreeMap<String, String>) -> Result<Option<Label>, Fault> {
    if label.len() > 1 {
        let detail = "a schedule has one label: one key with its value".to_owned();
        return Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail });
    }
    Ok(label.into_iter().next().map(|(key, value)| Label { key, value }))
}
