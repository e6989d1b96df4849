//! `/api/v1/jobs`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::{Body, Path};
use crate::http::problem::Fault;
use api::{Job, JobSet, List};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use control::{Action, Reply};

/// Jobs that run and jobs that ended, the newest first.
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs", responses((status = 200, body = List<Job>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Job>>, Fault> {
    let Reply::Jobs(jobs) = array.call(Action::JobList).await? else { return Err(Fault::UnexpectedReply) };
    Ok(Json(List { items: jobs.into_iter().map(convert::job).collect() }))
}

/// One job.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}",
    tag = "jobs",
    params(("job" = String, Path, description = "Id, or its beginning or end as far as that is unique")),
    responses((status = 200, body = Job))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(job): Path<String>) -> Result<Json<Job>, Fault> {
    Ok(Json(one(array.call(Action::JobShow { job }).await?)?.0))
}

/// Changes how fast a running job goes.
#[utoipa::path(
    patch,
    path = "/api/v1/jobs/{job}",
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
    Ok(Json(one(array.call(Action::JobSet { job, share_percent }).await?)?.0))
}

/// Cancels a running job. It ends soon after, and keeps what it did. 409 with code `sanitize-goes-on` for a sanitize operation, which nobody can end.
#[utoipa::path(
    delete,
    path = "/api/v1/jobs/{job}",
    tag = "jobs",
    params(("job" = String, Path, description = "Id, or its beginning or end as far as that is unique")),
    responses((status = 202, description = "It is about to end", body = Job))
)]
pub(super) async fn cancel(State(array): State<ArrayHandle>, Path(job): Path<String>) -> Result<Response, Fault> {
    let (job, _) = one(array.call(Action::JobCancel { job }).await?)?;
    Ok((StatusCode::ACCEPTED, Json(job)).into_response())
}

/// 202 with the place of a new job, or 200 when one of its kind runs already.
pub(super) async fn start(array: &ArrayHandle, action: Action) -> Result<Response, Fault> {
    let (job, created) = one(array.call(action).await?)?;
    let status = if created { StatusCode::ACCEPTED } else { StatusCode::OK };
    let location = format!("/api/v1/jobs/{}", job.id);
    let mut response = (status, Json(job)).into_response();
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// The job in a reply, and whether it is new.
fn one(reply: Reply) -> Result<(Job, bool), Fault> {
    match reply {
        Reply::Job { view, created } => Ok((convert::job(*view), created)),
        _ => Err(Fault::UnexpectedReply),
    }
}
