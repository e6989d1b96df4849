//! `/api/v1/alerts`, and their acknowledgements.

use crate::http::answer::{page, wanted};
use crate::http::convert;
use crate::http::extract::{Body, ListQuery, Path};
use crate::http::problem::Fault;
use crate::notices::{Desk, alerts, ended};
use crate::people::Caller;
use api::{Alert, AlertAcknowledge, AlertFilter, AlertState, List};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::{Extension, Json};
use control::{AlertList, AlertsMarked, EndedAlertList};
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

/// Lists the conditions that need attention now, most severe first; or, with the state `ended`, those of the last 30
/// days that have ended, the last end first, which also sort by `ended`. Sort keys: `severity`, `code`, `subject`,
/// `since`.
#[utoipa::path(
    get,
    path = "/api/v1/alerts",
    operation_id = "alert_list",
    tag = "events",
    params(api::ListQuery, AlertFilter),
    responses((status = 200, body = List<Alert>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    Extension(desk): Extension<Arc<Desk>>,
    query: ListQuery<AlertFilter>,
    uri: Uri,
) -> Result<Json<List<Alert>>, Fault> {
    match query.filter.state {
        None => page(&array, wanted(AlertList, query.page)?, &uri, convert::alert).await,
        Some(AlertState::Active) => {
            page(&array, wanted(AlertsMarked { acknowledged: false }, query.page)?, &uri, convert::alert).await
        }
        Some(AlertState::Acknowledged) => {
            page(&array, wanted(AlertsMarked { acknowledged: true }, query.page)?, &uri, convert::alert).await
        }
        Some(AlertState::Ended) => {
            // What cannot be read is not empty.
            if let Some(trouble) = desk.trouble().await {
                return Err(trouble.into());
            }
            let list = EndedAlertList { alerts: desk.see(ended) };
            page(&array, wanted(list, query.page)?, &uri, convert::ended_alert).await
        }
    }
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
