//! Axum's extractors with problem documents for rejected requests, and responses for created
//! resources.

use crate::http::problem::Fault;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// JSON body.
#[derive(FromRequest)]
#[from_request(via(axum::Json), rejection(Fault))]
pub(super) struct Body<T>(pub(super) T);

/// Query string.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Fault))]
pub(super) struct Query<T>(pub(super) T);

/// Parameters in the path.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Fault))]
pub(super) struct Path<T>(pub(super) T);

/// Query string of a list: the part and order, and the filter of that list. A parameter of neither
/// is refused.
pub(super) struct ListQuery<F> {
    /// Part and order.
    pub(super) page: api::ListQuery,
    /// Filter.
    pub(super) filter: F,
}

impl<F: DeserializeOwned, S: Sync> FromRequestParts<S> for ListQuery<F> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        let parameters = parts.uri.query().unwrap_or_default().split('&');
        let is_of_page = |parameter: &&str| {
            let name = parameter.split('=').next();
            name.is_some_and(|name| api::ListQuery::PARAMETERS.contains(&name))
        };
        let (page, filter): (Vec<&str>, Vec<&str>) = parameters.partition(is_of_page);
        Ok(Self { page: parse(&page)?, filter: parse(&filter)? })
    }
}

/// Reads some parameters of a query string.
pub(super) fn parse<T: DeserializeOwned>(parameters: &[&str]) -> Result<T, Fault> {
    let malformed = |error: axum::http::Error| Fault::malformed(error.to_string());
    let uri = Uri::builder().path_and_query(format!("/?{}", parameters.join("&"))).build().map_err(malformed)?;
    Ok(axum::extract::Query::<T>::try_from_uri(&uri)?.0)
}

impl From<JsonRejection> for Fault {
    fn from(rejection: JsonRejection) -> Self {
        Self::InvalidRequest { status: rejection.status(), detail: rejection.body_text() }
    }
}

impl From<QueryRejection> for Fault {
    fn from(rejection: QueryRejection) -> Self {
        Self::InvalidRequest { status: rejection.status(), detail: rejection.body_text() }
    }
}

impl From<PathRejection> for Fault {
    fn from(rejection: PathRejection) -> Self {
        Self::InvalidRequest { status: rejection.status(), detail: rejection.body_text() }
    }
}

/// Returns 201 with the location of a new resource, or 200 if it already existed.
pub(super) fn made(created: bool, location: &str, body: impl Serialize) -> Response {
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = (status, axum::Json(body)).into_response();
    if created && let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}
