//! `/api/v1/history` and `/api/v1/samples`: what hosts did in the last minutes.

use crate::http::extract::Query;
use crate::http::problem::Fault;
use crate::http::{answer, convert};
use api::{History, HistoryQuery, List, Sample, SampleQuery, SeriesInfo};
use axum::Json;
use axum::extract::State;
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

/// Points of a series without a number in the request.
const DEFAULT_POINTS: u64 = 300;
/// Largest number of volumes and shares of a sample.
pub(super) const MAX_UNITS: usize = 60;

/// Number of the busiest volumes and shares in a sample without a number in the request.
pub(super) const MAX_BUSIEST: usize = 5;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(series)).routes(routes!(latest))
}

/// Returns series of values of the last ten minutes.
#[utoipa::path(
    get,
    path = "/api/v1/history",
    operation_id = "history_show",
    tag = "history",
    params(HistoryQuery),
    responses((status = 200, body = History))
)]
pub(super) async fn show(
    State(array): State<ArrayHandle>,
    Query(HistoryQuery { series, from, to, points }): Query<HistoryQuery>,
) -> Result<Json<History>, Fault> {
    let series = series.split(',').map(str::to_owned).collect();
    let request = control::History { series, from, to, points: points.unwrap_or(DEFAULT_POINTS) };
    answer::show(&array, request, convert::history).await
}

/// Lists the series that a history can have.
#[utoipa::path(
    get,
    path = "/api/v1/history/series",
    operation_id = "history_series",
    tag = "history",
    responses((status = 200, body = List<SeriesInfo>))
)]
pub(super) async fn series(State(array): State<ArrayHandle>) -> Result<Json<List<SeriesInfo>>, Fault> {
    answer::list(&array, control::SeriesList, convert::series_info).await
}

/// Returns the newest sample of what hosts did in a second, with chosen volumes and shares. Before
/// the first one, its time is 0.
#[utoipa::path(
    get,
    path = "/api/v1/samples/latest",
    operation_id = "sample_latest",
    tag = "history",
    params(SampleQuery),
    responses((status = 200, body = Sample))
)]
pub(super) async fn latest(
    State(array): State<ArrayHandle>,
    Query(SampleQuery { volumes, busiest }): Query<SampleQuery>,
) -> Result<Json<Sample>, Fault> {
    let busiest = busiest.and_then(|busiest| usize::try_from(busiest).ok()).unwrap_or(MAX_BUSIEST);
    if busiest > MAX_UNITS {
        return Err(Fault::malformed(format!("{busiest} of the busiest are too many: at most {MAX_UNITS}")));
    }
    let units = volumes.as_deref().map_or(Ok(Vec::new()), ids)?;
    answer::show(&array, control::SampleLatest { units, busiest }, |view| view.map(convert::sample).unwrap_or_default())
        .await
}

/// Reads ids that commas separate.
pub(super) fn ids(text: &str) -> Result<Vec<Uuid>, Fault> {
    let malformed = |word: &str| Fault::malformed(format!("{word:?} is not the id of a volume or share"));
    let parse = |word: &str| Uuid::try_parse(word).map_err(|_| malformed(word));
    let ids = text.split(',').map(parse).collect::<Result<Vec<Uuid>, Fault>>()?;
    if ids.len() > MAX_UNITS {
        return Err(Fault::malformed(format!("{} ids are too many: at most {MAX_UNITS}", ids.len())));
    }
    Ok(ids)
}
