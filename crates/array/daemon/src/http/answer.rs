//! Common forms of handlers: they execute a request and convert its view to a type of `api`.

use crate::http::convert;
use crate::http::dry_run::{self, DryRun};
use crate::http::problem::Fault;
use api::{List, ListQuery};
use axum::Json;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use control::{Listed, Page, Read, Rehearsed, Request, Start};
use reactor::ArrayHandle;

/// Largest number of elements of a part.
pub(super) const MAX_LIMIT: u32 = 10_000;
/// Number of elements of a part for which the request has no limit.
const DEFAULT_LIMIT: usize = 1000;

/// Runs work with files, or work that takes long, on a thread for it.
pub(super) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        let detail = format!("the request ended without an answer: {error}");
        Fault::InvalidRequest { status: StatusCode::INTERNAL_SERVER_ERROR, detail }
    })
}

/// Defines the handler of a list that is read in parts: its description, operation, name, path,
/// tag, filter, request, type and conversion. A list of one object also has the name of the
/// parameter in its path.
macro_rules! listing {
    (
        $(#[$about:meta])*
        $operation:literal $name:ident, $path:literal, $tag:literal, $filter:ident => $list:expr, $resource:ident,
        $convert:path
    ) => {
        $(#[$about])*
        #[utoipa::path(
            get,
            path = $path,
            operation_id = $operation,
            tag = $tag,
            params(api::ListQuery, api::$filter),
            responses((status = 200, body = api::List<$resource>))
        )]
        pub(super) async fn $name(
            axum::extract::State(array): axum::extract::State<reactor::ArrayHandle>,
            query: $crate::http::extract::ListQuery<api::$filter>,
            uri: axum::http::Uri,
        ) -> Result<axum::Json<api::List<$resource>>, $crate::http::problem::Fault> {
            let wanted: fn(api::$filter) -> Result<_, $crate::http::problem::Fault> = $list;
            let page = $crate::http::answer::wanted(wanted(query.filter)?, query.page)?;
            $crate::http::answer::page(&array, page, &uri, $convert).await
        }
    };
    (
        $(#[$about:meta])*
        $operation:literal $name:ident, $path:literal of $of:literal, $tag:literal, $filter:ident => $list:expr,
        $resource:ident, $convert:path
    ) => {
        $(#[$about])*
        #[utoipa::path(
            get,
            path = $path,
            operation_id = $operation,
            tag = $tag,
            params(($of = String, Path, description = "Name or id"), api::ListQuery, api::$filter),
            responses((status = 200, body = api::List<$resource>))
        )]
        pub(super) async fn $name(
            axum::extract::State(array): axum::extract::State<reactor::ArrayHandle>,
            $crate::http::extract::Path(of): $crate::http::extract::Path<String>,
            query: $crate::http::extract::ListQuery<api::$filter>,
            uri: axum::http::Uri,
        ) -> Result<axum::Json<api::List<$resource>>, $crate::http::problem::Fault> {
            let wanted: fn(String, api::$filter) -> Result<_, $crate::http::problem::Fault> = $list;
            let page = $crate::http::answer::wanted(wanted(of, query.filter)?, query.page)?;
            $crate::http::answer::page(&array, page, &uri, $convert).await
        }
    };
}
pub(super) use listing;

/// Reads a list without parts: one that is always short.
pub(super) async fn list<R: Read<Reply = Vec<V>>, V, T>(
    array: &ArrayHandle,
    request: R,
    convert: impl Fn(V) -> T,
) -> Result<Json<List<T>>, Fault> {
    let views = array.read(request).await?;
    Ok(Json(List::whole(views.into_iter().map(convert).collect())))
}

/// Part of a list that a query wants.
pub(super) fn wanted<L: Listed>(list: L, query: ListQuery) -> Result<Page<L>, Fault> {
    let ListQuery { limit, after, offset, sort, q } = query;
    let start = match (after, offset) {
        (Some(_), Some(_)) => return Err(Fault::malformed("after and offset exclude each other".to_owned())),
        (Some(after), None) => Start::After(after),
        (None, Some(offset)) => Start::Offset(usize::try_from(offset).unwrap_or(usize::MAX)),
        (None, None) => Start::Beginning,
    };
    let limit = limit.map(|limit| number(limit, MAX_LIMIT)).transpose()?.unwrap_or(DEFAULT_LIMIT);
    Ok(Page { list, text: q, sort, start, limit })
}

/// Reads a part of a list. `uri` is that of the request; the link to the next part keeps its
/// other parameters.
pub(super) async fn page<L: Listed, T>(
    array: &ArrayHandle,
    page: Page<L>,
    uri: &Uri,
    convert: impl Fn(L::View) -> T,
) -> Result<Json<List<T>>, Fault> {
    let part = array.read(page).await?;
    let next = part.next.map(|after| next_part(uri, &after));
    let (total, revision) = (u64::try_from(part.total).ok(), Some(part.revision));
    Ok(Json(List { items: part.views.into_iter().map(convert).collect(), next, total, revision }))
}

/// Number of elements of a part, if it is possible: `most` at most.
pub(super) fn number(limit: u32, most: u32) -> Result<usize, Fault> {
    let possible = (1..=most).contains(&limit).then(|| usize::try_from(limit).ok()).flatten();
    possible.ok_or_else(|| Fault::malformed(format!("limit {limit} is not possible: 1 to {most}")))
}

/// Path and query of the request with another start, after an element.
pub(super) fn next_part(uri: &Uri, after: &str) -> String {
    part_from(uri, &["after=", "offset="], &format!("after={}", convert::segment(after)))
}

/// Path and query of the request with another start. `starts`: how the parameters that it replaces begin.
pub(super) fn part_from(uri: &Uri, starts: &[&str], start: &str) -> String {
    let query = uri.query().unwrap_or_default().split('&');
    let is_start = |parameter: &str| starts.iter().any(|start| parameter.starts_with(start));
    let mut link = uri.path().to_owned() + "?";
    for parameter in query.filter(|parameter| !parameter.is_empty() && !is_start(parameter)) {
        link.extend([parameter, "&"]);
    }
    link + start
}

/// Reads one resource.
pub(super) async fn show<R: Read, T>(
    array: &ArrayHandle,
    request: R,
    convert: impl Fn(R::Reply) -> T,
) -> Result<Json<T>, Fault> {
    Ok(Json(convert(array.read(request).await?)))
}

/// Makes a change whose answer has no body, or says what it would do.
pub(super) async fn without_body<R: Rehearsed>(
    array: &ArrayHandle,
    DryRun(is_dry): DryRun,
    request: R,
) -> Result<Response, Fault> {
    if is_dry {
        return dry_run::answer(array, request).await;
    }
    array.call(request).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Changes one resource, or reads one that only the reactor knows.
pub(super) async fn change<R: Request, T>(
    array: &ArrayHandle,
    request: R,
    convert: impl Fn(R::Reply) -> T,
) -> Result<Json<T>, Fault> {
    Ok(Json(convert(array.call(request).await?)))
}
