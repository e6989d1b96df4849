//! `/api/v1/shares/{share}/files`.

use crate::http::answer::{next_part, number};
use crate::http::convert;
use crate::http::dry_run::DryRun;
use crate::http::extract::{Body, Path, Query, made};
use crate::http::problem::Fault;
use api::{File, FileCreate, FileList, FileSet, List, Problem};
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use control::{FileChange, FileFrom, FilePart};
use reactor::ArrayHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Largest number of files of a part.
const MAX_LIMIT: u32 = 1000;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, set))
}

fn invalid(status: StatusCode, detail: String) -> Fault {
    Fault::InvalidRequest { status, detail }
}

/// Path of a file for `control`.
fn file(share: &str, path: &str) -> String {
    format!("{share}/{}", path.trim_start_matches('/'))
}

/// Lists the files of a directory, in the order of the directory.
#[utoipa::path(
    get,
    path = "/api/v1/shares/{share}/files",
    operation_id = "file_list",
    tag = "files",
    params(("share" = String, Path, description = "Name or id, or `share@snapshot`"), FileList),
    responses((status = 200, body = List<File>))
)]
pub(super) async fn list(
    State(array): State<ArrayHandle>,
    Path(share): Path<String>,
    Query(FileList { path, space, limit, after }): Query<FileList>,
    uri: Uri,
) -> Result<Json<List<File>>, Fault> {
    let limit = number(limit.unwrap_or(MAX_LIMIT), MAX_LIMIT)?;
    let after = match after.as_deref().map_or(Ok(0), str::parse::<u64>) {
        Ok(after) => after,
        Err(_) => return Err(invalid(StatusCode::BAD_REQUEST, "after is not from the link to a part".to_owned())),
    };
    let part = FilePart { after, most: limit, space };
    let view = array.call(control::FileList { path: file(&share, &path.unwrap_or_default()), part }).await?;
    let next = view.listing.next.map(|after| next_part(&uri, &after.to_string()));
    let items = view.listing.files.into_iter().map(|info| convert::file(view.share.clone(), info, None)).collect();
    Ok(Json(List { items, next, total: None, revision: None }))
}

/// Creates a file that shares the content of a file, a volume or a snapshot, as of one instant and in no time. The
/// file appears as a whole or not at all. The path of an existing file is refused (`exists`).
#[utoipa::path(
    post,
    path = "/api/v1/shares/{share}/files",
    operation_id = "file_create",
    tag = "files",
    params(("share" = String, Path, description = "Name or id")),
    request_body = FileCreate,
    responses(
        (status = 201, description = "Created", body = File),
        (status = 409, description = "The path is taken", body = Problem, content_type = "application/problem+json")
    )
)]
pub(super) async fn create(
    State(array): State<ArrayHandle>,
    Path(share): Path<String>,
    Body(body): Body<FileCreate>,
) -> Result<Response, Fault> {
    let FileCreate { path, source_file, source_volume, owner_uid, owner_gid, mode } = body;
    let unprocessable = |detail: &str| invalid(StatusCode::UNPROCESSABLE_ENTITY, detail.to_owned());
    let from = match (source_file, source_volume) {
        (Some(path), None) => FileFrom::File(path),
        (None, Some(name)) => FileFrom::Volume(name),
        _ => return Err(unprocessable("exactly one of source_file and source_volume is required")),
    };
    let owner = match (owner_uid, owner_gid) {
        (None, None) => None,
        (Some(uid), Some(gid)) => Some((uid, gid)),
        _ => return Err(unprocessable("owner_uid and owner_gid are given together")),
    };
    let mode = mode.as_deref().map(convert::mode).transpose()?;
    let request = control::FileCreate { path: file(&share, &path), from, mode, owner };
    let made_file = convert::file_view(array.call(request).await?);
    let location = format!("/api/v1/shares/{share}/files/{}", convert::segment(&made_file.path));
    Ok(made(true, &location, made_file))
}

/// Returns attributes and space of one file.
#[utoipa::path(
    get,
    path = "/api/v1/shares/{share}/files/{path}",
    operation_id = "file_show",
    tag = "files",
    params(
        ("share" = String, Path, description = "Name or id, or `share@snapshot`"),
        ("path" = String, Path, description = "Path in the share, with each slash as `%2F`")
    ),
    responses((status = 200, body = File))
)]
pub(super) async fn show(
    State(array): State<ArrayHandle>,
    Path((share, path)): Path<(String, String)>,
) -> Result<Json<File>, Fault> {
    let view = array.call(control::FileShow { path: file(&share, &path) }).await?;
    Ok(Json(convert::file_view(view)))
}

/// Keeps space free for a range of a regular file, or makes a range zero and frees its space.
#[utoipa::path(
    patch,
    path = "/api/v1/shares/{share}/files/{path}",
    operation_id = "file_set",
    tag = "files",
    params(
        ("share" = String, Path, description = "Name or id"),
        ("path" = String, Path, description = "Path in the share, with each slash as `%2F`")
    ),
    request_body = FileSet,
    responses((status = 200, body = File))
)]
pub(super) async fn set(
    State(array): State<ArrayHandle>,
    DryRun(is_dry): DryRun,
    Path((share, path)): Path<(String, String)>,
    Body(body): Body<FileSet>,
) -> Result<Response, Fault> {
    let path = file(&share, &path);
    let (change, range) = match (body.reserve, body.punch) {
        (Some(range), None) => (FileChange::Reserve, convert::file_range(range)),
        (None, Some(range)) => (FileChange::Punch, convert::file_range(range)),
        _ => {
            let detail = "exactly one of reserve and punch is required".to_owned();
            return Err(invalid(StatusCode::UNPROCESSABLE_ENTITY, detail));
        }
    };
    if is_dry {
        let effect = array.call(control::FileRehearsal { path, range, change }).await?;
        return Ok(Json(convert::effect(effect)).into_response());
    }
    let view = match change {
        FileChange::Reserve => array.call(control::FileReserve { path, range }).await?,
        FileChange::Punch => array.call(control::FilePunch { path, range }).await?,
    };
    Ok(Json(convert::file_view(view)).into_response())
}
