//! The web console: its page for paths that a browser asks for, and its files below `/assets/`.
//!
//! These need no token, because they are the same on every array; the page asks for the token and
//! sends it with each request to the REST interface. Paths of that interface are not touched.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use console_assets::Asset;

/// Paths of the management plane for programs.
const PROGRAMS: [&str; 3] = ["/api/", "/health", "/metrics"];
/// Files of the console, below the digest of their version.
const FILES: &str = "/assets/";
/// The page loads nothing from elsewhere, and nothing that is not a file of the console.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Answers requests for the console, and passes all others on.
pub(super) async fn serve(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if !matches!(*request.method(), Method::GET | Method::HEAD) || PROGRAMS.iter().any(|start| path.starts_with(start))
    {
        return next.run(request).await;
    }
    if let Some(name) = path.strip_prefix(FILES) {
        return match console_assets::find(name) {
            // The path names the version of the file.
            Some(asset) => answer(asset, request.headers(), "public, max-age=31536000, immutable"),
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    if accepts(request.headers(), header::ACCEPT, "text/html") {
        let mut response = answer(console_assets::page(), request.headers(), "no-cache");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
        return response;
    }
    next.run(request).await
}

/// Returns a file, compressed if the client takes that, or 304 if the client has it.
fn answer(asset: &'static Asset, request: &HeaderMap, caching: &'static str) -> Response {
    let gzip = accepts(request, header::ACCEPT_ENCODING, "gzip");
    let known = accepts(request, header::IF_NONE_MATCH, asset.entity_tag);
    let mut response = match (known, gzip) {
        (true, _) => StatusCode::NOT_MODIFIED.into_response(),
        (false, true) => Body::from(Bytes::from_static(asset.gzip)).into_response(),
        (false, false) => Body::from(Bytes::from_static(asset.plain)).into_response(),
    };
    let headers = response.headers_mut();
    if !known {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
        if gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
    }
    headers.insert(header::ETAG, HeaderValue::from_static(asset.entity_tag));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(header::VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

/// Whether a header lists a value and does not refuse it with weight 0.
fn accepts(headers: &HeaderMap, name: header::HeaderName, value: &str) -> bool {
    let listed = headers.get_all(name).iter().filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    listed.into_iter().any(|item| {
        let mut parts = item.trim().split(';').map(str::trim);
        let weak = parts.next().map(|first| first.strip_prefix("W/").unwrap_or(first));
        weak == Some(value) && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

#[cfg(test)]
mod tests;
