//! `/api/v1/system`, `/health`, `/metrics`.

use crate::http::convert;
use crate::http::problem::Fault;
use crate::{ArrayHandle, metrics::encode};
use api::{Health, Status};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// The array on one screen.
#[utoipa::path(get, path = "/api/v1/system", tag = "system", responses((status = 200, body = Status)))]
pub(super) async fn show(State(array): State<ArrayHandle>) -> Result<Json<Status>, Fault> {
    let status = array.call(control::StatusShow).await?;
    Ok(Json(convert::status(status)))
}

/// Health for probes: 200 if the array serves, 503 if its pool has stopped. Needs no token.
#[utoipa::path(
    get,
    path = "/health",
    tag = "system",
    responses((status = 200, description = "The array serves"), (status = 503, description = "The pool has stopped"))
)]
pub(super) async fn health(State(array): State<ArrayHandle>) -> Result<Response, Fault> {
    let status = array.call(control::StatusShow).await?;
    let health = convert::health(status.health);
    let status = if health == Health::Failed { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    Ok((status, Json(json!({ "health": health }))).into_response())
}

/// Returns counters in the OpenMetrics text format.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "system",
    responses((status = 200, body = String, content_type = "application/openmetrics-text"))
)]
pub(super) async fn metrics(State(array): State<ArrayHandle>) -> Result<Response, Fault> {
    let metrics = array.call(control::MetricsShow).await?;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, content_type)], encode(metrics)).into_response())
}
