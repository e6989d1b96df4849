//! `/api/v1/channels`: where alerts are sent.

use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{Body, Path, made};
use crate::http::problem::{Fault, Refusal};
use crate::http::revision::{IfMatch, tagged};
use crate::notices::Desk;
use crate::people::Unavailable;
use api::{Channel, ChannelCreate, ChannelOutcome, ChannelSet, ChannelSettings, List, NoticeState, Severity, Warning};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use jiff::Timestamp;
use notification::{ChannelError, ChannelRecord, NewChannel, Notices};
use reactor::ArrayHandle;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, set, delete)).routes(routes!(test))
}

impl From<Unavailable> for Fault {
    fn from(Unavailable(reason): Unavailable) -> Self {
        Refusal::NotificationUnavailable { reason }.into()
    }
}

/// Channel in an answer: without secrets.
pub(super) fn shown(notices: &Notices, record: &ChannelRecord) -> Channel {
    let mut settings = record.settings.clone();
    match &mut settings {
        ChannelSettings::Email(of) => of.has_password = Some(of.password.take().is_some()),
        ChannelSettings::Webhook(of) => of.has_secret = Some(of.secret.take().is_some()),
        ChannelSettings::Syslog(_) => {}
    }
    Channel {
        id: record.id,
        name: record.name.clone(),
        enabled: record.enabled,
        min_severity: record.min_severity,
        codes: record.codes.clone(),
        quiet_hours: record.quiet_hours.clone(),
        settings,
        failing: record.failing,
        waiting: u64::try_from(notices.waiting(record.id)).unwrap_or(u64::MAX),
        last: record.last.clone(),
        created: record.created,
    }
}

/// Tag of a channel. Results of messages do not change it.
fn tag(record: &ChannelRecord) -> String {
    format!("{}-{}", record.id.simple(), record.revision)
}

/// Channel by name or id, with its tag.
async fn find(desk: &Desk, name: &str) -> Result<(Channel, String), Fault> {
    if let Some(trouble) = desk.trouble().await {
        return Err(trouble.into());
    }
    let look = |notices: &Notices| notices.channel(name).map(|record| (shown(notices, record), tag(record)));
    desk.see(look).map_err(Fault::from)
}

/// Lists channels, without their secrets.
#[utoipa::path(get, path = "/api/v1/channels", operation_id = "channel_list", tag = "notification", responses((status = 200, body = List<Channel>)))]
pub(super) async fn list(Extension(desk): Extension<Arc<Desk>>) -> Result<Json<List<Channel>>, Fault> {
    if let Some(trouble) = desk.trouble().await {
        return Err(trouble.into());
    }
    let all = |notices: &Notices| notices.channels().into_iter().map(|record| shown(notices, record)).collect();
    Ok(Json(List::whole(desk.see(all))))
}

/// Creates a channel. It is told of the alerts that hold.
#[utoipa::path(
    post,
    path = "/api/v1/channels",
    operation_id = "channel_create",
    tag = "notification",
    request_body = ChannelCreate,
    responses((status = 201, description = "Created", body = Channel))
)]
pub(super) async fn create(
    Extension(desk): Extension<Arc<Desk>>,
    Body(body): Body<ChannelCreate>,
) -> Result<Response, Fault> {
    let ChannelCreate { name, settings, min_severity, codes, quiet_hours, enabled } = body;
    let id = Uuid::new_v4();
    let new = NewChannel {
        id,
        name: name.clone(),
        settings,
        min_severity: min_severity.unwrap_or(Severity::Warning),
        codes,
        quiet_hours,
        enabled: enabled.unwrap_or(true),
    };
    desk.change(|notices| notices.create_channel(new, Timestamp::now()).map_err(Fault::from)).await?;
    let (channel, tag) = find(&desk, &id.to_string()).await?;
    Ok(tagged(made(true, &format!("/api/v1/channels/{name}"), channel), Some(&tag)))
}

/// Returns one channel, without its secrets.
#[utoipa::path(
    get,
    path = "/api/v1/channels/{channel}",
    operation_id = "channel_show",
    tag = "notification",
    params(("channel" = String, Path, description = "Name or id")),
    responses((status = 200, body = Channel))
)]
pub(super) async fn show(
    Extension(desk): Extension<Arc<Desk>>,
    Path(channel): Path<String>,
) -> Result<Response, Fault> {
    let (channel, tag) = find(&desk, &channel).await?;
    Ok(tagged(Json(channel), Some(&tag)))
}

/// Changes a channel. With new settings, what could not be sent is tried again.
#[utoipa::path(
    patch,
    path = "/api/v1/channels/{channel}",
    operation_id = "channel_set",
    tag = "notification",
    params(("channel" = String, Path, description = "Name or id"), ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")),
    request_body = ChannelSet,
    responses((status = 200, body = Channel))
)]
pub(super) async fn set(
    Extension(desk): Extension<Arc<Desk>>,
    Path(channel): Path<String>,
    condition: IfMatch,
    Body(body): Body<ChannelSet>,
) -> Result<Response, Fault> {
    let mut id = None;
    let plan = |notices: &Notices| {
        let record = notices.channel(&channel)?;
        condition.check(record.id, &tag(record), &shown(notices, record))?;
        id = Some(record.id);
        notices.set_channel(&channel, body, Timestamp::now()).map_err(Fault::from)
    };
    desk.change(plan).await?;
    // It may have another name now.
    let (channel, tag) = find(&desk, &id.map_or(channel, |id| id.to_string())).await?;
    Ok(tagged(Json(channel), Some(&tag)))
}

/// Deletes a channel. What waits for it is not sent.
#[utoipa::path(
    delete,
    path = "/api/v1/channels/{channel}",
    operation_id = "channel_delete",
    tag = "notification",
    params(("channel" = String, Path, description = "Name or id"), ("If-Match" = Option<String>, Header, description = "`ETag` of the object as the client knows it")),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(
    Extension(desk): Extension<Arc<Desk>>,
    Path(channel): Path<String>,
    condition: IfMatch,
    dry_run: DryRun,
) -> Result<Response, Fault> {
    let plan = |notices: &Notices| {
        let record = notices.channel(&channel)?;
        condition.check(record.id, &tag(record), &shown(notices, record))?;
        notices.delete_channel(&channel).map_err(Fault::from)
    };
    if dry_run.0 {
        let planned = desk.see(|notices| {
            plan(notices)?;
            Ok((Vec::new(), unsent(notices.waiting(notices.channel(&channel)?.id))))
        });
        return dry_run::planned(planned);
    }
    desk.change(plan).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Warning about messages that wait for a channel.
fn unsent(waiting: usize) -> Vec<Warning> {
    let message = format!("{waiting} messages that wait for it are not sent");
    if waiting == 0 { Vec::new() } else { vec![Warning { code: "not-sent".to_owned(), message }] }
}

/// Sends a test to a channel, also to one that is not enabled, and returns the peer's own words. Takes at most half a
/// minute. The status is 200 also if the test failed: see `outcome`.
#[utoipa::path(
    post,
    path = "/api/v1/channels/{channel}/test",
    operation_id = "channel_test",
    tag = "notification",
    params(("channel" = String, Path, description = "Name or id")),
    responses((status = 200, body = ChannelOutcome))
)]
pub(super) async fn test(
    State(array): State<ArrayHandle>,
    Extension(desk): Extension<Arc<Desk>>,
    Path(channel): Path<String>,
) -> Result<Json<ChannelOutcome>, Fault> {
    let (Channel { id, .. }, _) = find(&desk, &channel).await?;
    let result = desk.test(id, &array).await.ok_or(ChannelError::NoChannel { name: channel })?;
    let outcome = if result.is_ok() { NoticeState::Sent } else { NoticeState::Failed };
    let (Ok(detail) | Err(detail)) = result;
    Ok(Json(ChannelOutcome { time: Timestamp::now(), outcome, detail }))
}
