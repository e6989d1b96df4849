//! `/api/v1/system`, `/health`, `/metrics`, `/metrics/volumes`.

use crate::http::extract::Query;
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use crate::metrics::{Format, of_array, of_volumes};
use crate::notices::Desk;
use api::{Health, MetricsQuery, Status};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use reactor::ArrayHandle;
use serde_json::json;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(health)).merge(metrics_routes())
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

/// Returns counters of the whole array for Prometheus; their number does not depend on that of volumes
/// and shares. OpenMetrics text if `Accept` prefers it, and the classic text format otherwise.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics_show",
    tag = "system",
    responses((status = 200, content((String = "text/plain"), (String = "application/openmetrics-text"))))
)]
pub(super) async fn metrics(
    State(array): State<ArrayHandle>,
    Extension(desk): Extension<Arc<Desk>>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let format = format(&headers);
    let view = array.read(control::MetricsShow).await?;
    let failures = desk.see(notification::Notices::failures);
    Ok(text(format, of_array(view, array.measurements(), failures, format)))
}

/// Returns counters of each volume and share for Prometheus, in the formats of `/metrics`. Gauges that
/// are rarely other than 0 are left out where they are 0.
#[utoipa::path(
    get,
    path = "/metrics/volumes",
    operation_id = "metrics_volumes",
    tag = "system",
    params(MetricsQuery),
    responses((status = 200, content((String = "text/plain"), (String = "application/openmetrics-text"))))
)]
pub(super) async fn volume_metrics(
    State(array): State<ArrayHandle>,
    Query(MetricsQuery { active }): Query<MetricsQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let format = format(&headers);
    let view = array.read(control::VolumeMetricsShow { active }).await?;
    Ok(text(format, of_volumes(view, format)))
}

/// Resources of a listener for scrapes.
pub(super) fn metrics_routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(metrics)).routes(routes!(volume_metrics))
}

fn format(headers: &HeaderMap) -> Format {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    Format::accepted(&accepted.collect::<Vec<_>>().join(","))
}

fn text(format: Format, text: String) -> Response {
    ([(header::CONTENT_TYPE, format.content_type())], text).into_response()
}
