//! `/api/v1/search` and `/api/v1/capabilities`.

use crate::http::answer;
use crate::http::extract::Query;
use crate::http::problem::Fault;
use api::{Capabilities, Found, List, SearchQuery};
use axum::extract::State;
use axum::{Extension, Json};
use reactor::ArrayHandle;
use std::sync::Arc;
use tokio::sync::Semaphore;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    let searches = Searches(Arc::new(Semaphore::new(1)));
    OpenApiRouter::new().routes(routes!(search)).routes(routes!(capabilities)).layer(Extension(searches))
}

/// Place for one search at a time: each looks at all names, and other readers wait meanwhile.
#[derive(Clone)]
pub(super) struct Searches(Arc<Semaphore>);

/// Finds volumes, shares, hosts, host groups, QoS policies, snapshots and jobs by a part of a name, identifier or
/// address; at most 20, those whose name begins with the text first.
#[utoipa::path(
    get,
    path = "/api/v1/search",
    operation_id = "search_list",
    tag = "system",
    params(SearchQuery),
    responses((status = 200, body = List<Found>))
)]
pub(super) async fn search(
    State(array): State<ArrayHandle>,
    Extension(Searches(searches)): Extension<Searches>,
    Query(SearchQuery { q }): Query<SearchQuery>,
) -> Result<Json<List<Found>>, Fault> {
    let _place = searches.acquire().await;
    let convert = |control::Found { kind, name, matched }| Found { kind: kind.to_owned(), name, matched };
    answer::list(&array, control::Search { text: q }, convert).await
}

/// Returns what this array can do, so that clients leave out the rest.
#[utoipa::path(
    get,
    path = "/api/v1/capabilities",
    operation_id = "capabilities_show",
    tag = "system",
    responses((status = 200, body = Capabilities))
)]
pub(super) async fn capabilities(State(array): State<ArrayHandle>) -> Result<Json<Capabilities>, Fault> {
    let version = crate::VERSION.to_owned();
    let convert = |shares| Capabilities {
        version: version.clone(),
        shares,
        history: true,
        live: true,
        revisions: true,
        qos: true,
    };
    answer::show(&array, control::SharesServed, convert).await
}
