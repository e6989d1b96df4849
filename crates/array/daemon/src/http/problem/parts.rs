//! Parts of a problem.

use axum::http::StatusCode;

/// Status, code, description and advice of a problem.
pub(super) type Parts = (StatusCode, &'static str, String, Option<String>);
