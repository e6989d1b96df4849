//! `/api/v1/nfs`: clients, locks, and the grace period.

use crate::ArrayHandle;
use crate::http::answer::{self, listing};
use crate::http::convert;
use crate::http::extract::{Path, Query};
use crate::http::problem::Fault;
use api::{List, NfsClient, NfsGrace, NfsLock, NfsLockQuery, PageQuery};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use control::{NfsClientExpire, NfsClientList, NfsGraceShow, NfsLockList};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(expire)).routes(routes!(locks)).routes(routes!(grace))
}

listing! {
    /// Lists the clients of NFSv4, by id. The list is at most a second old.
    list, "/api/v1/nfs/clients", "nfs", NfsClient, NfsClientList, convert::nfs_client
}

/// Revokes the opens and locks of a client, and its right to reclaim them. It may open and lock again.
#[utoipa::path(
    delete,
    path = "/api/v1/nfs/clients/{client}",
    tag = "nfs",
    params(("client" = String, Path, description = "Client id: 16 hexadecimal digits")),
    responses((status = 204, description = "Revoked"))
)]
pub(super) async fn expire(State(array): State<ArrayHandle>, Path(client): Path<String>) -> Result<StatusCode, Fault> {
    array.call(NfsClientExpire { id: convert::nfs_client_id(&client)? }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists locked ranges of files, by share, file and offset. The list is at most a second old.
#[utoipa::path(
    get,
    path = "/api/v1/nfs/locks",
    tag = "nfs",
    params(NfsLockQuery),
    responses((status = 200, body = List<NfsLock>))
)]
pub(super) async fn locks(
    State(array): State<ArrayHandle>,
    Query(NfsLockQuery { share, limit, after }): Query<NfsLockQuery>,
    uri: Uri,
) -> Result<Json<List<NfsLock>>, Fault> {
    answer::page(&array, NfsLockList { share }, PageQuery { limit, after }, &uri, convert::nfs_lock).await
}

/// Returns the grace period.
#[utoipa::path(get, path = "/api/v1/nfs/grace", tag = "nfs", responses((status = 200, body = NfsGrace)))]
pub(super) async fn grace(State(array): State<ArrayHandle>) -> Result<Json<NfsGrace>, Fault> {
    answer::show(&array, NfsGraceShow, convert::nfs_grace).await
}
