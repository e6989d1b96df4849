//! `/api/v1/nfs`: clients, locks, and the grace period.

use crate::http::answer;
use crate::http::convert;
use crate::http::extract::{Path, Query};
use crate::http::problem::Fault;
use api::{List, NfsClient, NfsGrace, NfsLock, NfsLockQuery, PageQuery};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use control::{NfsClientExpire, NfsClientList, NfsGraceShow, NfsLockList, NfsPart, NfsPosition};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(expire)).routes(routes!(locks)).routes(routes!(grace))
}

/// Start and length of a part of a list of the NFS server, which has at most [`answer::MAX_LIMIT`] elements.
fn part(PageQuery { limit, after }: PageQuery) -> Result<(NfsPosition, usize), Fault> {
    let position = after.map_or(Some(0), |after| NfsPosition::from_str_radix(&after, 16).ok());
    let detail = "after is not from the link to a part".to_owned();
    let position = position.ok_or(Fault::InvalidRequest { status: StatusCode::BAD_REQUEST, detail })?;
    Ok((position, answer::number(limit.unwrap_or(answer::MAX_LIMIT), answer::MAX_LIMIT)?))
}

/// Answers with a part of a list of the NFS server.
fn list_part<V, T>(part: NfsPart<V>, uri: &Uri, convert: impl Fn(V) -> T) -> Json<List<T>> {
    let next = part.next.map(|position| answer::next_part(uri, &format!("{position:x}")));
    Json(List { items: part.elements.into_iter().map(convert).collect(), next, total: None, revision: None })
}

/// Lists the clients of NFSv4, in the order of the server's table. A part has at most 10 000.
#[utoipa::path(
    get,
    path = "/api/v1/nfs/clients",
    operation_id = "nfs_client_list",
    tag = "nfs",
    params(PageQuery),
    responses((status = 200, body = List<NfsClient>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    Query(page): Query<PageQuery>,
    uri: Uri,
) -> Result<Json<List<NfsClient>>, Fault> {
    let (from, most) = part(page)?;
    Ok(list_part(array.call(NfsClientList { from, most }).await?, &uri, convert::nfs_client))
}

/// Revokes the opens and locks of a client, and its right to reclaim them. It may open and lock again.
#[utoipa::path(
    delete,
    path = "/api/v1/nfs/clients/{client}",
    operation_id = "nfs_client_expire",
    tag = "nfs",
    params(("client" = String, Path, description = "Client id: 16 hexadecimal digits")),
    responses((status = 204, description = "Revoked"))
)]
pub(super) async fn expire(State(array): State<ArrayHandle>, Path(client): Path<String>) -> Result<StatusCode, Fault> {
    array.call(NfsClientExpire { id: convert::nfs_client_id(&client)? }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists locked ranges of files, by file and offset, with the files in the order of the server's table. A part has at
/// most 10 000.
#[utoipa::path(
    get,
    path = "/api/v1/nfs/locks",
    operation_id = "nfs_lock_list",
    tag = "nfs",
    params(NfsLockQuery),
    responses((status = 200, body = List<NfsLock>))
)]
pub(super) async fn locks(
    State(array): State<ArrayHandle>,
    Query(NfsLockQuery { share, limit, after }): Query<NfsLockQuery>,
    uri: Uri,
) -> Result<Json<List<NfsLock>>, Fault> {
    let (from, most) = part(PageQuery { limit, after })?;
    Ok(list_part(array.call(NfsLockList { share, from, most }).await?, &uri, convert::nfs_lock))
}

/// Returns the grace period.
#[utoipa::path(get, path = "/api/v1/nfs/grace", operation_id = "nfs_grace_show", tag = "nfs", responses((status = 200, body = NfsGrace)))]
pub(super) async fn grace(State(array): State<ArrayHandle>) -> Result<Json<NfsGrace>, Fault> {
    answer::change(&array, NfsGraceShow, convert::nfs_grace).await
}
