//! `/api/v1/offload`.

use crate::http::answer::listing;
use crate::http::extract::Query;
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{List, OffloadBy, OffloadFilter, OffloadRefusal, OffloadStatistics, RefusalQuery};
use axum::Json;
use axum::extract::State;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(statistics)).routes(routes!(log))
}

/// Number of entries returned without a limit.
const DEFAULT_LIMIT: usize = 100;
/// Largest number of entries returned.
const MAX_LIMIT: usize = 10_000;

listing! {
    /// Returns statistics of each primitive for each volume and share since the array started, or for each client of
    /// each share. Sort keys: `volume`, `primitive`, `commands`, `refused`, `bytes`, `host_bytes_avoided`, `p99_us`.
    "offload_statistics" statistics, "/api/v1/offload/stats", "offload", OffloadFilter => wanted, OffloadStatistics,
    convert::offload
}

fn wanted(OffloadFilter { volume, by }: OffloadFilter) -> Result<control::OffloadStatistics, Fault> {
    Ok(control::OffloadStatistics { volume, noun: None, by_client: by == Some(OffloadBy::Client) })
}

/// Lists commands that were refused, failed, or succeeded without the benefit of the offload, with
/// the reasons; oldest first.
#[utoipa::path(
    get,
    path = "/api/v1/offload/log",
    operation_id = "offload_log",
    tag = "offload",
    params(RefusalQuery),
    responses((status = 200, body = List<OffloadRefusal>))
)]
pub(super) async fn log(
    State(array): State<ArrayHandle>,
    Query(query): Query<RefusalQuery>,
) -> Result<Json<List<OffloadRefusal>>, Fault> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(MAX_LIMIT)).min(MAX_LIMIT);
    let ending = query.ending.map(convert::wanted_ending);
    answer::list(&array, control::OffloadLog { volume: query.volume, ending, limit }, convert::refusal).await
}
