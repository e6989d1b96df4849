//! `/api/v1/history` and `/api/v1/samples`: what hosts did in the last minutes, days and months.

mod stored;

use crate::http::extract::Query;
use crate::http::problem::{Fault, Refusal};
use crate::http::{answer, convert};
use crate::recording::{Recording, Unavailable};
use api::{History, HistoryQuery, List, Sample, SampleQuery, SeriesInfo};
use axum::extract::State;
use axum::{Extension, Json};
use control::{HistoryFind, HistoryFound, SeriesList};
use jiff::Timestamp;
use reactor::ArrayHandle;
use std::collections::{BTreeMap, BTreeSet};
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

/// Returns series of values: of the last ten minutes from memory, and of longer ranges from the stored history, in
/// steps that fit the range.
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
    Extension(recording): Extension<Recording>,
    Query(HistoryQuery { series, from, to, points }): Query<HistoryQuery>,
) -> Result<Json<History>, Fault> {
    let series = series.split(',').map(str::to_owned).collect();
    let request = control::History { series, from, to, points: points.unwrap_or(DEFAULT_POINTS) };
    match array.read(HistoryFind(request)).await? {
        HistoryFound::Recent(view) => Ok(Json(convert::history(view))),
        HistoryFound::Stored(wanted) => {
            let query = stored::query(&wanted);
            let values = recording.look(move |store| store.query(&query)).await.map_err(unavailable)?;
            Ok(Json(stored::history(wanted, values)))
        }
    }
}

/// Fault of a history that cannot be read.
pub(super) fn unavailable(Unavailable(reason): Unavailable) -> Fault {
    Refusal::HistoryUnavailable { reason }.into()
}

/// Lists the series that a history can have.
#[utoipa::path(
    get,
    path = "/api/v1/history/series",
    operation_id = "history_series",
    tag = "history",
    responses((status = 200, body = List<SeriesInfo>))
)]
pub(super) async fn series(
    State(array): State<ArrayHandle>,
    Extension(recording): Extension<Recording>,
) -> Result<Json<List<SeriesInfo>>, Fault> {
    let mut items: Vec<_> = array.read(SeriesList).await?.into_iter().map(convert::series_info).collect();
    let entities: BTreeSet<String> = items.iter().map(|item| entity(&item.name).to_owned()).collect();
    let since = move |store: &history::Store| {
        let start = |entity: String| Some((store.since(&entity)?, entity));
        Ok(entities.into_iter().filter_map(start).map(|(start, entity)| (entity, start)).collect::<BTreeMap<_, _>>())
    };
    // Without a history, there is no start.
    let starts = recording.look(since).await.unwrap_or_default();
    for item in &mut items {
        item.since = starts.get(entity(&item.name)).and_then(|start| Timestamp::from_second(*start).ok());
    }
    Ok(Json(List::whole(items)))
}

/// Entity of a series.
fn entity(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(entity, _)| entity)
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
