//! `/api/v1/pools`.

use crate::http::dry_run::{self, DryRun};
use crate::http::extract::{self, Body, Path};
use crate::http::history::unavailable;
use crate::http::problem::Fault;
use crate::http::{answer, convert, jobs};
use crate::recording::{Recording, Unforeseen};
use api::{
    Forecast, Freeable, FreeableKind, Job, JobStart, List, ListQuery, NoFilter, Pool, PoolGrow, PoolSet, WhatIf,
    WhatIfAnswer, WhatIfOne,
};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::{Extension, Json};
use control::Commitment;
use jiff::Timestamp;
use pool::Growth;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, set))
        .routes(routes!(forecast))
        .routes(routes!(frees))
        .routes(routes!(what_if))
        .routes(routes!(grow))
        .routes(routes!(scrub))
        .routes(routes!(check))
        .routes(routes!(reclaim))
}

/// Lists all pools: as many as are configured.
#[utoipa::path(get, path = "/api/v1/pools", operation_id = "pool_list", tag = "pools", responses((status = 200, body = List<Pool>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Pool>>, Fault> {
    answer::list(&array, control::PoolList, convert::pool).await
}

/// Returns one pool and its space.
#[utoipa::path(
    get,
    path = "/api/v1/pools/{pool}",
    operation_id = "pool_show",
    tag = "pools",
    params(("pool" = String, Path, description = "Name")),
    responses((status = 200, body = Pool))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(pool): Path<String>) -> Result<Json<Pool>, Fault> {
    answer::show(&array, control::PoolShow { pool }, convert::pool).await
}

/// Returns when a pool is full, if it goes on growing as in the last month.
#[utoipa::path(
    get,
    path = "/api/v1/pools/{pool}/forecast",
    operation_id = "pool_forecast",
    tag = "pools",
    params(("pool" = String, Path, description = "Name")),
    responses((status = 200, body = Forecast))
)]
pub(super) async fn forecast(
    State(array): State<ArrayHandle>,
    Extension(recording): Extension<Recording>,
    Path(pool): Path<String>,
) -> Result<Json<Forecast>, Fault> {
    match recording.forecast(&array, pool).await {
        Ok(view) => Ok(Json(convert::forecast(view))),
        Err(Unforeseen::Refused(error)) => Err(error.into()),
        Err(Unforeseen::Unavailable(reason)) => Err(unavailable(reason)),
    }
}

/// Lists what could be deleted to free space: what is in the trash, snapshots, and volumes and shares that are
/// granted to nobody. What frees most comes first. Sort keys: `frees_bytes`, `kind`, `name`, `since`.
#[utoipa::path(
    get,
    path = "/api/v1/pools/{pool}/frees",
    operation_id = "pool_frees",
    tag = "pools",
    params(("pool" = String, Path, description = "Name or id"), ListQuery, NoFilter),
    responses((status = 200, body = List<Freeable>))
)]
pub(super) async fn frees(
    State(array): State<ArrayHandle>,
    Extension(recording): Extension<Recording>,
    Path(pool): Path<String>,
    query: extract::ListQuery<NoFilter>,
    uri: Uri,
) -> Result<Json<List<Freeable>>, Fault> {
    let NoFilter {} = query.filter;
    let page = answer::wanted(control::PoolFrees { pool }, query.page)?;
    let Json(mut list) = answer::page(&array, page, &uri, convert::freeable).await?;
    let entities: Vec<Option<String>> = list.items.iter().map(entity).collect();
    let last = move |store: &history::Store| {
        entities.iter().map(|entity| entity.as_deref().map_or(Ok(None), |entity| store.last(entity))).collect()
    };
    // Without a history, nothing of the list but these times is missing.
    let last: Vec<Option<i64>> = recording.look(last).await.unwrap_or_default();
    for (item, last) in list.items.iter_mut().zip(last) {
        item.last_used = last.and_then(|seconds| Timestamp::from_second(seconds).ok());
    }
    Ok(Json(list))
}

/// Entity of the history that a volume or share is.
fn entity(item: &Freeable) -> Option<String> {
    match item.kind {
        FreeableKind::Volume => Some(control::volume_entity(item.id)),
        FreeableKind::Share => Some(control::share_entity(item.id)),
        FreeableKind::Snapshot | FreeableKind::Trash => None,
    }
}

/// Returns what deleting volumes, shares, snapshots and objects in the trash together would free. Deletes nothing.
#[utoipa::path(
    post,
    path = "/api/v1/space/what-if",
    operation_id = "space_what_if",
    tag = "pools",
    request_body = WhatIf,
    responses((status = 200, body = WhatIfAnswer))
)]
pub(super) async fn what_if(
    State(array): State<ArrayHandle>,
    Body(WhatIf { delete, with_snapshots }): Body<WhatIf>,
) -> Result<Json<WhatIfAnswer>, Fault> {
    let request = control::SpaceWhatIf { delete, with_snapshots };
    answer::change(&array, request, |control::WhatIfView { freed_bytes, each }| {
        let one = |(id, name, alone_bytes)| WhatIfOne { id, name, alone_bytes };
        WhatIfAnswer { freed_bytes, each: each.into_iter().map(one).collect() }
    })
    .await
}

/// Changes thresholds, the limit of over-commitment, the times of the trash, and the latency of an alert.
#[utoipa::path(
    patch,
    path = "/api/v1/pools/{pool}",
    operation_id = "pool_set",
    tag = "pools",
    params(("pool" = String, Path, description = "Name")),
    request_body = PoolSet,
    responses((status = 200, body = Pool))
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    Path(pool): Path<String>,
    Body(body): Body<PoolSet>,
) -> Result<Json<Pool>, Fault> {
    let PoolSet { warn_percent, critical_percent, commitment_limit_percent, .. } = body;
    let PoolSet { trash_seconds, trash_lock_seconds, latency_alert_us, .. } = body;
    let commitment = commitment_limit_percent.map(|percent| match percent {
        0 => Commitment::Unlimited,
        percent => Commitment::Percent(percent),
    });
    let request = control::PoolSet {
        pool,
        warn_percent,
        critical_percent,
        commitment,
        trash_seconds,
        trash_lock_seconds,
        latency_alert_us,
    };
    answer::change(&array, request, convert::pool).await
}

/// Enlarges a pool while in use.
#[utoipa::path(
    post,
    path = "/api/v1/pools/{pool}/grow",
    operation_id = "pool_grow",
    tag = "pools",
    params(("pool" = String, Path, description = "Name")),
    request_body = PoolGrow,
    responses((status = 200, body = Pool))
)]
pub(super) async fn grow(
    State(array): State<ArrayHandle>,
    Path(pool): Path<String>,
    Body(body): Body<PoolGrow>,
) -> Result<Json<Pool>, Fault> {
    let growth = match body {
        PoolGrow { size_bytes: Some(size_bytes), device: None } => Growth::Size(size_bytes),
        PoolGrow { size_bytes: None, device: Some(device) } => Growth::Device(device.into()),
        _ => {
            let detail = "a pool grows by size_bytes or by device: give one of the two".to_owned();
            return Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail });
        }
    };
    answer::change(&array, control::PoolGrow { pool, growth }, convert::pool).await
}

/// Starts a job that reads and verifies all stored data.
#[utoipa::path(
    post,
    path = "/api/v1/pools/{pool}/scrub",
    operation_id = "pool_scrub",
    tag = "pools",
    params(("pool" = String, Path, description = "Name")),
    request_body = JobStart,
    responses(
        (status = 202, description = "Started", body = Job),
        (status = 200, description = "One runs already", body = Job)
    )
)]
pub(super) async fn scrub(
    State(array): State<ArrayHandle>,
    Path(pool): Path<String>,
    Body(JobStart { share_percent }): Body<JobStart>,
) -> Result<Response, Fault> {
    jobs::start(&array, control::PoolScrub { pool, share_percent }).await
}

/// Starts a job that checks map, reference counts and counters while the pool is in use.
#[utoipa::path(
    post,
    path = "/api/v1/pools/{pool}/check",
    operation_id = "pool_check",
    tag = "pools",
    params(("pool" = String, Path, description = "Name")),
    request_body = JobStart,
    responses(
        (status = 202, description = "Started", body = Job),
        (status = 200, description = "One runs already", body = Job)
    )
)]
pub(super) async fn check(
    State(array): State<ArrayHandle>,
    Path(pool): Path<String>,
    Body(JobStart { share_percent }): Body<JobStart>,
) -> Result<Response, Fault> {
    jobs::start(&array, control::PoolCheck { pool, share_percent }).await
}

/// Starts a job that frees stored blocks of zeros in all volumes.
#[utoipa::path(
    post,
    path = "/api/v1/pools/{pool}/reclaim",
    operation_id = "pool_reclaim",
    tag = "pools",
    params(("pool" = String, Path, description = "Name")),
    request_body = JobStart,
    responses(
        (status = 202, description = "Started", body = Job),
        (status = 200, description = "One runs already", body = Job)
    )
)]
pub(super) async fn reclaim(
    State(array): State<ArrayHandle>,
    dry_run: DryRun,
    Path(pool): Path<String>,
    Body(JobStart { share_percent }): Body<JobStart>,
) -> Result<Response, Fault> {
    let request = control::PoolReclaim { pool, share_percent };
    if dry_run.0 { dry_run::answer(&array, request).await } else { jobs::start(&array, request).await }
}
