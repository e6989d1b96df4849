//! `/api/v1/system`, `/health`, `/metrics`.

use crate::http::problem::Fault;
use crate::http::{answer, convert};
use crate::metrics::encode;
use api::{Health, Status};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use reactor::ArrayHandle;
use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(health)).routes(routes!(metrics))
}

/// Returns the status of the array.
#[utoipa::path(get, path = "/api/v1/system", operation_id = "system_show", tag = "system", responses((status = 200, body = Status)))]
pub(super) async fn show(State(array): State<ArrayHandle>) -> Result<Json<Status>, Fault> {
    answer::show(&array, control::StatusShow, convert::status).await
}

/// Health for probes: 200 if the array serves, 503 if its pool has stopped. Needs no token.
#[utoipa::path(
    get,
    path = "/health",
    operation_id = "health_show",
    tag = "system",
    security(()),
    responses((status = 200, description = "The array serves"), (status = 503, description = "The pool has stopped"))
)]
pub(super) async fn health(State(array): State<ArrayHandle>) -> Result<Response, Fault> {
    let health = convert::health(array.health().await?);
    let status = if health == Health::Failed { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    Ok((status, Json(json!({ "health": health }))).into_response())
}

/// Returns counters in the OpenMetrics text format.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics_show",
    tag = "system",
    responses((status = 200, body = String, content_type = "application/openmetrics-text"))
)]
pub(super) async fn metrics(State(array): State<ArrayHandle>) -> Result<Response, Fault> {
    let metrics = array.read(control::MetricsShow).await?;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, content_type)], encode(metrics, array.measurements())).into_response())
}
