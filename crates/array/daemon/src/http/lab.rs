//! `/api/v1/lab`: runs of the laboratory on the array.

use crate::http::extract::{Body, Path, Query, made};
use crate::http::problem::Fault;
use crate::laboratory::{Laboratory, MAX_RESULTS_BYTES};
use crate::people::Caller;
use api::{LabCase, LabReportQuery, LabRun, LabRunCreate, List};
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Policy of a report: a page without scripts, that may do nothing and is of no origin.
const REPORT_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    let upload = OpenApiRouter::new().routes(routes!(upload)).layer(DefaultBodyLimit::max(MAX_RESULTS_BYTES));
    OpenApiRouter::new()
        .routes(routes!(cases))
        .routes(routes!(list, start))
        .routes(routes!(show, cancel))
        .routes(routes!(report))
        .routes(routes!(results))
        .merge(upload)
}

/// Author of a run.
fn author(caller: Option<Extension<Caller>>) -> String {
    caller.map_or_else(String::new, |Extension(caller)| format!("{} {}", caller.kind.name(), caller.name))
}

/// Lists the cases, in the order of the papers.
#[utoipa::path(get, path = "/api/v1/lab/cases", operation_id = "lab_case_list", tag = "lab", responses((status = 200, body = List<LabCase>)))]
pub(super) async fn cases() -> Json<List<LabCase>> {
    Json(List::whole(Laboratory::cases()))
}

/// Lists runs, the newest first, without their points. The array keeps the last twenty.
#[utoipa::path(get, path = "/api/v1/lab/runs", operation_id = "lab_run_list", tag = "lab", responses((status = 200, body = List<LabRun>)))]
pub(super) async fn list(Extension(laboratory): Extension<Arc<Laboratory>>) -> Json<List<LabRun>> {
    Json(List::whole(laboratory.list()))
}

/// Runs cases on scratch volumes that the array makes and removes. 409 with code `lab-run-running` while another run
/// goes on; 507 with `lab-needs-space` from the warning threshold of the pool on, and with less than three times the
/// size of the largest disk available.
#[utoipa::path(
    post,
    path = "/api/v1/lab/runs",
    operation_id = "lab_run_start",
    tag = "lab",
    request_body = LabRunCreate,
    responses((status = 201, description = "It runs", body = LabRun))
)]
pub(super) async fn start(
    State(array): State<ArrayHandle>,
    Extension(laboratory): Extension<Arc<Laboratory>>,
    caller: Option<Extension<Caller>>,
    Body(body): Body<LabRunCreate>,
) -> Result<Response, Fault> {
    let run = laboratory.start(body, author(caller), &array).await?;
    Ok(made(true, &format!("/api/v1/lab/runs/{}", run.id), run))
}

/// Returns one run, with its points.
#[utoipa::path(
    get,
    path = "/api/v1/lab/runs/{run}",
    operation_id = "lab_run_show",
    tag = "lab",
    params(("run" = u64, Path, description = "Number")),
    responses((status = 200, body = LabRun))
)]
pub(super) async fn show(
    Extension(laboratory): Extension<Arc<Laboratory>>,
    Path(run): Path<u64>,
) -> Result<Json<LabRun>, Fault> {
    Ok(Json(laboratory.show(run)?))
}

/// Cancels a run. It ends soon after: what it has measured is kept, and what it has made on the array is removed. A
/// run that has ended is returned as it is.
#[utoipa::path(
    delete,
    path = "/api/v1/lab/runs/{run}",
    operation_id = "lab_run_cancel",
    tag = "lab",
    params(("run" = u64, Path, description = "Number")),
    responses((status = 202, description = "It is about to end, or has ended", body = LabRun))
)]
pub(super) async fn cancel(
    Extension(laboratory): Extension<Arc<Laboratory>>,
    Path(run): Path<u64>,
) -> Result<Response, Fault> {
    Ok((StatusCode::ACCEPTED, Json(laboratory.cancel(run)?)).into_response())
}

/// Returns the report of a run as one HTML page, or the comparison with another run.
#[utoipa::path(
    get,
    path = "/api/v1/lab/runs/{run}/report.html",
    operation_id = "lab_run_report",
    tag = "lab",
    params(("run" = u64, Path, description = "Number"), LabReportQuery),
    responses((status = 200, body = String, content_type = "text/html"))
)]
pub(super) async fn report(
    Extension(laboratory): Extension<Arc<Laboratory>>,
    Path(run): Path<u64>,
    Query(LabReportQuery { with }): Query<LabReportQuery>,
) -> Result<Response, Fault> {
    let page = laboratory.report(run, with).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, page).into_response())
}

/// Returns all results of a run, as `windlass lab run` saves them: a file for `windlass lab report` and `compare`,
/// and to upload at another array.
#[utoipa::path(
    get,
    path = "/api/v1/lab/runs/{run}/results.json",
    operation_id = "lab_run_results",
    tag = "lab",
    params(("run" = u64, Path, description = "Number")),
    responses((status = 200, body = serde_json::Value))
)]
pub(super) async fn results(
    Extension(laboratory): Extension<Arc<Laboratory>>,
    Path(run): Path<u64>,
) -> Result<Response, Fault> {
    let file = laboratory.results(run).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((headers, file).into_response())
}

/// Keeps results that were measured elsewhere: a file of `windlass lab run --save`, of at most 8 MiB.
#[utoipa::path(
    post,
    path = "/api/v1/lab/results",
    operation_id = "lab_result_upload",
    tag = "lab",
    request_body = serde_json::Value,
    responses((status = 201, description = "Kept as a run", body = LabRun))
)]
pub(super) async fn upload(
    Extension(laboratory): Extension<Arc<Laboratory>>,
    caller: Option<Extension<Caller>>,
    file: Bytes,
) -> Result<Response, Fault> {
    let run = laboratory.upload(file.to_vec(), author(caller)).await?;
    Ok(made(true, &format!("/api/v1/lab/runs/{}", run.id), run))
}
