//! `/api/v1/pools`.

use crate::ArrayHandle;
use crate::http::convert;
use crate::http::extract::Path;
use crate::http::problem::Fault;
use api::{List, Pool};
use axum::Json;
use axum::extract::State;
use control::{Action, Reply};

/// Every pool.
#[utoipa::path(get, path = "/api/v1/pools", tag = "pools", responses((status = 200, body = List<Pool>)))]
pub(super) async fn list(State(array): State<ArrayHandle>) -> Result<Json<List<Pool>>, Fault> {
    let Reply::Pools(pools) = array.call(Action::PoolList).await? else { return Err(Fault::UnexpectedReply) };
    Ok(Json(List { items: pools.into_iter().map(convert::pool).collect() }))
}

/// One pool and its space.
#[utoipa::path(
    get,
    path = "/api/v1/pools/{pool}",
    tag = "pools",
    params(("pool" = String, Path, description = "Name")),
    responses((status = 200, body = Pool))
)]
pub(super) async fn show(State(array): State<ArrayHandle>, Path(pool): Path<String>) -> Result<Json<Pool>, Fault> {
    let Reply::Pool(pool) = array.call(Action::PoolShow { pool }).await? else { return Err(Fault::UnexpectedReply) };
    Ok(Json(convert::pool(pool)))
}
