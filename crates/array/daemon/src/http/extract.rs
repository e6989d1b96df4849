//! Axum's extractors with problem documents for rejected requests, and responses for created
//! resources.

use crate::http::problem::Fault;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

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
