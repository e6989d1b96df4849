//! Common forms of handlers: they execute a request and convert its view to a type of `api`.

use crate::http::convert;
use crate::http::problem::Fault;
use api::{List, PageQuery};
use axum::Json;
use axum::http::{StatusCode, Uri};
use control::{Listed, Page, Read, Request};
use reactor::ArrayHandle;

/// Largest number of elements of a part.
pub(super) const MAX_LIMIT: u32 = 10_000;

/// Defines the handler of a list without a filter, which is read in parts: its description, name,
/// path, tag, type, request and conversion.
macro_rules! listing {
    ($(#[$about:meta])* $name:ident, $path:literal, $tag:literal, $resource:ident, $list:expr, $convert:path) => {
        $(#[$about])*
        #[utoipa::path(
            get,
            path = $path,
            tag = $tag,
            params(api::PageQuery),
            responses((status = 200, body = api::List<$resource>))
        )]
        pub(super) async fn $name(
            axum::extract::State(array): axum::extract::State<reactor::ArrayHandle>,
            $crate::http::extract::Query(page): $crate::http::extract::Query<api::PageQuery>,
            uri: axum::http::Uri,
        ) -> Result<axum::Json<api::List<$resource>>, $crate::http::problem::Fault> {
            $crate::http::answer::page(&array, $list, page, &uri, $convert).await
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
    Ok(Json(List { items: views.into_iter().map(convert).collect(), next: None }))
}

/// Reads a part of a list. `uri` is that of the request; the link to the next part keeps its
/// other parameters.
pub(super) async fn page<L: Listed, T>(
    array: &ArrayHandle,
    list: L,
    PageQuery { limit, after }: PageQuery,
    uri: &Uri,
    convert: impl Fn(L::View) -> T,
) -> Result<Json<List<T>>, Fault> {
    let limit = limit.map(number).transpose()?.unwrap_or(usize::MAX);
    let part = array.read(Page { list, after, limit }).await?;
    let next = part.next.map(|after| next_part(uri, &after));
    Ok(Json(List { items: part.views.into_iter().map(convert).collect(), next }))
}

/// Most elements of a part, if it is possible.
pub(super) fn number(limit: u32) -> Result<usize, Fault> {
    let detail = format!("limit {limit} is not possible: 1 to {MAX_LIMIT}");
    let possible = (1..=MAX_LIMIT).contains(&limit).then(|| usize::try_from(limit).ok()).flatten();
    possible.ok_or(Fault::InvalidRequest { status: StatusCode::BAD_REQUEST, detail })
}

/// Path and query of the request with another start.
pub(super) fn next_part(uri: &Uri, after: &str) -> String {
    let query = uri.query().unwrap_or_default().split('&');
    let mut link = uri.path().to_owned() + "?";
    for parameter in query.filter(|parameter| !parameter.is_empty() && !parameter.starts_with("after=")) {
        link.extend([parameter, "&"]);
    }
    link + "after=" + &convert::segment(after)
}

/// Reads one resource.
pub(super) async fn show<R: Read, T>(
    array: &ArrayHandle,
    request: R,
    convert: impl Fn(R::Reply) -> T,
) -> Result<Json<T>, Fault> {
    Ok(Json(convert(array.read(request).await?)))
}

/// Changes one resource, or reads one that only the reactor knows.
pub(super) async fn change<R: Request, T>(
    array: &ArrayHandle,
    request: R,
    convert: impl Fn(R::Reply) -> T,
) -> Result<Json<T>, Fault> {
    Ok(Json(convert(array.call(request).await?)))
}
