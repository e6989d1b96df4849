//! Requests of browsers and of programs, by path and headers.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::{POLICY, serve};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;

/// `Accept` of a browser that opens a page.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// Returns a REST interface of one sentence behind the console.
fn app() -> Router {
    Router::new()
        .fallback(async || (StatusCode::IM_A_TEAPOT, "the REST interface"))
        .layer(axum::middleware::from_fn(serve))
}

async fn send(method: &str, path: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = app().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (head, body) = response.into_parts();
    (head.status, head.headers, body.collect().await.unwrap().to_bytes().to_vec())
}

#[tokio::test]
async fn a_browser_gets_the_page_at_every_path_of_the_console() {
    for path in ["/", "/volumes", "/volumes/db-1/snapshots", "/no-such-page", "/assetsx"] {
        let (status, headers, body) = send("GET", path, &[("accept", BROWSER)]).await;
        assert_eq!((status.as_u16(), body.as_slice()), (200, console_assets::page().plain), "{path}");
        assert_eq!(headers["content-type"], "text/html; charset=utf-8");
        assert_eq!(headers["content-security-policy"], POLICY);
        assert_eq!(headers["cache-control"], "no-cache");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
    }
}

#[tokio::test]
async fn the_rest_interface_is_not_touched() {
    let browser = [("accept", BROWSER)];
    for path in ["/api/v1/volumes", "/api/", "/health", "/metrics"] {
        assert_eq!(send("GET", path, &browser).await.0, 418, "{path}");
    }
    assert_eq!(send("GET", "/", &[("accept", "application/json")]).await.0, 418, "a program");
    assert_eq!(send("GET", "/", &[("accept", "text/html;q=0")]).await.0, 418, "a client that refuses HTML");
    assert_eq!(send("POST", "/", &browser).await.0, 418, "a change");
}

#[tokio::test]
async fn files_are_cached_compressed_and_known_by_their_tag() {
    let asset = console_assets::ASSETS.iter().find(|asset| asset.path.ends_with(".js")).unwrap();
    let path = format!("/assets/{}/{}", console_assets::DIGEST, asset.path);
    let (status, headers, body) = send("GET", &path, &[]).await;
    assert_eq!((status.as_u16(), body.as_slice()), (200, asset.plain));
    assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
    assert!(!headers.contains_key("content-encoding"));

    let (_, headers, body) = send("GET", &path, &[("accept-encoding", "br, gzip")]).await;
    assert_eq!((headers["content-encoding"].as_bytes(), body.as_slice()), (b"gzip".as_slice(), asset.gzip));
    let (_, headers, _) = send("GET", &path, &[("accept-encoding", "gzip;q=0")]).await;
    assert!(!headers.contains_key("content-encoding"));

    for tag in [asset.entity_tag.to_owned(), format!("\"other\", W/{}", asset.entity_tag)] {
        let (status, headers, body) = send("GET", &path, &[("if-none-match", &tag)]).await;
        assert_eq!((status.as_u16(), body.len()), (304, 0), "{tag}");
        assert_eq!(headers["etag"], asset.entity_tag);
    }
    assert_eq!(send("GET", &path, &[("if-none-match", "\"other\"")]).await.0, 200);
}

#[tokio::test]
async fn files_of_another_version_are_not_found() {
    let (status, _, body) = send("GET", "/assets/0123456789abcdef/main.js", &[("accept", BROWSER)]).await;
    assert_eq!((status.as_u16(), body.len()), (404, 0), "never the page in place of a script");
    assert_eq!(send("GET", "/assets/", &[("accept", BROWSER)]).await.0, 404);
}
