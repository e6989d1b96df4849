//! `/api/v1/jobs`.

use crate::http::answer::listing;
use crate::http::extract::{Body, Path};
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{Job, JobSet};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use control::{JobView, Outcome, Request};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show, set, cancel))
}

listing! {
    /// Lists running and ended jobs, newest first. Sort keys: `kind`, `subject`, `state`, `started`, `finished`.
    "job_list" list, "/api/v1/jobs", "jobs", NoFilter => |_| Ok(control::JobList), Job, convert::job
}

/// Returns one job.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}",
    operation_id = "job_show",
    tag = "jobs",
    params(("job" = String, Path, description = "Id, or its beginning or end as far as that is unique")),
    responses((status = 200, body = Job))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(job): Path<String>) -> Result<Json<Job>, Fault> {
    answer::show(&array, control::JobShow { job }, convert::job).await
}

/// Changes the speed of a running job.
#[utoipa::path(
    patch,
    path = "/api/v1/jobs/{job}",
    operation_id = "job_set",
    tag = "jobs",
    params(("job" = String, Path, description = "Id, or its beginning or end as far as that is unique")),
    request_body = JobSet,
    responses((status = 200, body = Job))
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    Path(job): Path<String>,
    Body(JobSet { share_percent }): Body<JobSet>,
) -> Result<Json<Job>, Fault> {
    answer::change(&array, control::JobSet { job, share_percent }, convert::job).await
}

/// Cancels a running job. It ends soon after, and its work up to then remains. 409 with code
/// `sanitize-goes-on` for a sanitize operation, which cannot be cancelled.
#[utoipa::path(
    delete,
    path = "/api/v1/jobs/{job}",
    operation_id = "job_cancel",
    tag = "jobs",
    params(("job" = String, Path, description = "Id, or its beginning or end as far as that is unique")),
    responses((status = 202, description = "It is about to end", body = Job))
)]
pub(super) async fn cancel(State(array): State<ArrayHandle>, Path(job): Path<String>) -> Result<Response, Fault> {
    let job = convert::job(array.call(control::JobCancel { job }).await?.view);
    Ok((StatusCode::ACCEPTED, Json(job)).into_response())
}

/// Returns 202 with the location of a new job, or 200 if one of its kind is already running.
pub(super) async fn start(
    array: &ArrayHandle,
    request: impl Request<Reply = Outcome<JobView>>,
) -> Result<Response, Fault> {
    let outcome = array.call(request).await?;
    let job = convert::job(outcome.view);
    let status = if outcome.changed { StatusCode::ACCEPTED } else { StatusCode::OK };
    let location = format!("/api/v1/jobs/{}", job.id);
    let mut response = (status, Json(job)).into_response();
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}
