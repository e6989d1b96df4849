//! `/api/v1/support-bundles`.

mod addresses;
mod collect;
mod learn;
mod machine;

use crate::bundle::{Bundles, contents as contents_of};
use crate::doctor::Places;
use crate::http::answer::aside;
use crate::http::convert;
use crate::http::extract::{Body, Path};
use crate::http::guard::Recorder;
use crate::http::problem::{Fault, Refusal};
use crate::notices::Desk;
use crate::people::{Caller, Gate};
use api::{Bundle, BundleCreate, BundleFile, BundleNames, Job, List};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use collect::Collect;
use control::{ManagementJobEnd, ManagementJobStart, ManagementWork};
use futures_util::stream;
use jiff::Timestamp;
use reactor::ArrayHandle;
use std::io::Read;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

/// Hours of a bundle for which the request has none.
const DEFAULT_HOURS: u16 = 24;
/// Largest number of hours.
const MAX_HOURS: u16 = 168;
/// Bytes of a file that are read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Resources of this file.
pub(super) fn routes() -> OpenApiRouter<ArrayHandle> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(delete))
        .routes(routes!(contents))
        .routes(routes!(download))
}

fn failed(error: anyhow::Error) -> Fault {
    Refusal::BundleUnavailable { reason: format!("{error:#}") }.into()
}

fn not_found(id: Uuid) -> Fault {
    Refusal::NoBundle { id }.into()
}

const fn names(is_replaced: bool) -> BundleNames {
    if is_replaced { BundleNames::Replaced } else { BundleNames::Real }
}

/// Lists support bundles, newest first: at most three, of the last day.
#[utoipa::path(
    get,
    path = "/api/v1/support-bundles",
    operation_id = "bundle_list",
    tag = "support",
    responses((status = 200, body = List<Bundle>))
)]
pub(super) async fn list(Extension(bundles): Extension<Bundles>) -> Result<Json<List<Bundle>>, Fault> {
    let found = aside(move || bundles.expire(Timestamp::now()).and_then(|()| bundles.list()));
    let bundle = |of: crate::bundle::Bundle| Bundle {
        id: of.id,
        created: of.created,
        size_bytes: of.size_bytes,
        names: names(of.is_replaced),
    };
    Ok(Json(List::whole(found.await?.map_err(failed)?.into_iter().map(bundle).collect())))
}

/// Makes a support bundle: a job. It has no secrets. With `names: replaced`, words stand in the place of names, of
/// initiators and of addresses.
#[utoipa::path(
    post,
    path = "/api/v1/support-bundles",
    operation_id = "bundle_create",
    tag = "support",
    request_body = BundleCreate,
    responses((status = 202, description = "Started", body = Job))
)]
pub(super) async fn create(
    State(array): State<ArrayHandle>,
    Extension(gate): Extension<Arc<Gate>>,
    Extension(desk): Extension<Arc<Desk>>,
    Extension(recorder): Extension<Arc<Recorder>>,
    at: (Extension<Bundles>, Extension<Arc<Places>>),
    Extension(caller): Extension<Caller>,
    Body(BundleCreate { names, hours }): Body<BundleCreate>,
) -> Result<Response, Fault> {
    let (Extension(bundles), Extension(places)) = at;
    let hours = hours.unwrap_or(DEFAULT_HOURS);
    if !(1..=MAX_HOURS).contains(&hours) {
        let detail = format!("hours {hours} is not possible: 1 to {MAX_HOURS}");
        return Err(Fault::InvalidRequest { status: StatusCode::UNPROCESSABLE_ENTITY, detail });
    }
    let place = bundles.place().ok_or(Fault::Refused(Refusal::BundleRunning))?;
    let is_replaced = names == BundleNames::Replaced;
    let start = ManagementJobStart { work: ManagementWork::Bundle, total: Collect::steps(is_replaced) };
    let job = array.call(start).await?;
    let pool = places.pool.clone();
    let collect = Collect { array, gate, desk, recorder, caller, pool, job: job.id, hours, is_replaced };
    tokio::spawn(make(collect, bundles, place));
    Ok((StatusCode::ACCEPTED, Json(convert::job(job))).into_response())
}

/// Makes a bundle, and ends its job.
async fn make(collect: Collect, bundles: Bundles, place: OwnedSemaphorePermit) {
    let (array, job, is_replaced) = (collect.array.clone(), collect.job, collect.is_replaced);
    let made = async {
        let of = bundles.clone();
        let (archive, key) = tokio::task::spawn_blocking(move || of.begin()).await??;
        let archive = collect.run(archive, key).await?;
        tokio::task::spawn_blocking(move || bundles.keep(archive, is_replaced, Timestamp::now())).await?
    };
    let result = match made.await {
        Ok(bundle) => Ok(format!("bundle {} of {}", bundle.id, api::size::format(bundle.size_bytes))),
        Err(error) => Err(format!("{error:#}")),
    };
    drop(place);
    if let Err(error) = array.call(ManagementJobEnd { job, result }).await {
        tracing::warn!(%error, "the end of a support bundle could not be reported");
    }
}

/// Lists the files in a support bundle.
#[utoipa::path(
    get,
    path = "/api/v1/support-bundles/{bundle}/contents",
    operation_id = "bundle_contents",
    tag = "support",
    params(("bundle" = Uuid, Path, description = "Id")),
    responses((status = 200, body = List<BundleFile>))
)]
pub(super) async fn contents(
    Extension(bundles): Extension<Bundles>,
    Path(id): Path<Uuid>,
) -> Result<Json<List<BundleFile>>, Fault> {
    let found = aside(move || bundles.path(id)?.map(|path| contents_of(&path)).transpose()).await?.map_err(failed)?;
    let files = found.ok_or_else(|| not_found(id))?.into_iter();
    Ok(Json(List::whole(files.map(|(name, size_bytes)| BundleFile { name, size_bytes }).collect())))
}

/// Returns the file of a support bundle.
#[utoipa::path(
    get,
    path = "/api/v1/support-bundles/{bundle}/download",
    operation_id = "bundle_download",
    tag = "support",
    params(("bundle" = Uuid, Path, description = "Id")),
    responses((status = 200, description = "A tar archive, compressed by gzip", content_type = "application/gzip", body = Vec<u8>))
)]
pub(super) async fn download(
    Extension(bundles): Extension<Bundles>,
    Extension(recorder): Extension<Arc<Recorder>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<Uuid>,
) -> Result<Response, Fault> {
    let open = move || bundles.path(id)?.map(std::fs::File::open).transpose().map_err(anyhow::Error::from);
    let file = aside(open).await?.map_err(failed)?.ok_or_else(|| not_found(id))?;
    let pieces = stream::try_unfold(file, |mut file| async move {
        let next = move || -> std::io::Result<_> {
            let mut piece = vec![0; PIECE_BYTES];
            let length = file.read(&mut piece)?;
            piece.truncate(length);
            Ok((length > 0).then_some((piece, file)))
        };
        tokio::task::spawn_blocking(next).await.map_err(std::io::Error::other)?
    });
    let name = format!("attachment; filename=\"windlass-{id}.tar.gz\"");
    let head = [(header::CONTENT_TYPE, "application/gzip".to_owned()), (header::CONTENT_DISPOSITION, name)];
    let answer = async { (head, axum::body::Body::from_stream(pieces)).into_response() };
    Ok(recorder.note(&caller, "bundle_download", answer).await)
}

/// Deletes a support bundle.
#[utoipa::path(
    delete,
    path = "/api/v1/support-bundles/{bundle}",
    operation_id = "bundle_delete",
    tag = "support",
    params(("bundle" = Uuid, Path, description = "Id")),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(Extension(bundles): Extension<Bundles>, Path(id): Path<Uuid>) -> Result<StatusCode, Fault> {
    if aside(move || bundles.remove(id)).await?.map_err(failed)? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(not_found(id))
    }
}
