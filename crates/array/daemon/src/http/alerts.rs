//! `/api/v1/alerts`, and their acknowledgements.

use crate::http::answer::listing;
use crate::http::convert;
use crate::http::extract::{Body, Path};
use crate::http::problem::Fault;
use crate::notices::{Desk, alerts};
use crate::people::Caller;
use api::{Alert, AlertAcknowledge};
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use control::AlertList;
use jiff::Timestamp;
use notification::{Acknowledged, ChannelError, Notices, alert_id};
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(acknowledge, unacknowledge))
}

listing! {
    /// Lists the conditions that need attention now, most severe first. Sort keys: `severity`, `code`, `subject`,
    /// `since`.
    "alert_list" list, "/api/v1/alerts", "events", NoFilter => |_| Ok(AlertList), Alert, convert::alert
}

/// Acknowledges an alert: channels receive no further message about it, except that it ended. The acknowledgement
/// ends with the alert, when the alert becomes more severe, and at the time that it names; then the alert is sent
/// again if it holds.
#[utoipa::path(
    post,
    path = "/api/v1/alerts/{alert}/acknowledgement",
    operation_id = "alert_acknowledge",
    tag = "events",
    params(("alert" = String, Path, description = "Id; or code, if one active alert has it")),
    request_body = AlertAcknowledge,
    responses((status = 200, body = Alert))
)]
pub(super) async fn acknowledge(
    State(array): State<ArrayHandle>,
    Extension(desk): Extension<Arc<Desk>>,
    Extension(caller): Extension<Caller>,
    Path(alert): Path<String>,
    Body(body): Body<AlertAcknowledge>,
) -> Result<Json<Alert>, Fault> {
    let AlertAcknowledge { note, until } = body;
    let acknowledged = Acknowledged { by: caller.name, time: Timestamp::now(), note, until };
    Ok(Json(mark(&array, &desk, &alert, Some(acknowledged)).await?))
}

/// Ends the acknowledgement of an alert.
#[utoipa::path(
    delete,
    path = "/api/v1/alerts/{alert}/acknowledgement",
    operation_id = "alert_unacknowledge",
    tag = "events",
    params(("alert" = String, Path, description = "Id; or code, if one active alert has it")),
    responses((status = 204, description = "Not acknowledged"))
)]
pub(super) async fn unacknowledge(
    State(array): State<ArrayHandle>,
    Extension(desk): Extension<Arc<Desk>>,
    Path(alert): Path<String>,
) -> Result<StatusCode, Fault> {
    mark(&array, &desk, &alert, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Changes the acknowledgement of an active alert. Returns the alert with it.
async fn mark(
    array: &ArrayHandle,
    desk: &Desk,
    id_or_code: &str,
    acknowledged: Option<Acknowledged>,
) -> Result<Alert, Fault> {
    let views = array.read(AlertList).await?;
    let alert = Notices::find(&alerts(views), id_or_code)?.clone();
    desk.change(|notices| notices.acknowledge(&alert, acknowledged).map_err(Fault::from)).await?;
    desk.show(array).await;
    let id = alert_id(&alert.code, &alert.subject);
    let views = array.read(AlertList).await?;
    let found = views.into_iter().map(convert::alert).find(|of| of.id == id);
    // It ended meanwhile.
    found.ok_or_else(|| ChannelError::NoAlert { name: id_or_code.to_owned() }.into())
}
