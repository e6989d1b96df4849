//! The cookie of a sign-in, and what a browser must say beside it.
//!
//! A browser adds the cookie to every request to the array, whichever page causes it. A change is
//! accepted if the page knows a value that only pages of the array can read (`Windlass-CSRF`), and if
//! the browser says that the page is one of the array (`Origin`, `Sec-Fetch-Site`).

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use identity::Digest;

/// Name of the cookie. The prefix makes browsers insist on `Secure`, `Path=/` and no domain.
pub(super) const NAME: &str = "__Host-windlass";
/// Header with the value that only pages of the array can read.
pub(super) const CSRF: HeaderName = HeaderName::from_static("windlass-csrf");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Cookie of a request.
pub(super) fn of(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find(|(name, _)| *name == NAME).map(|(_, value)| value)
}

/// Header that sets the cookie, for so many seconds; 0 removes it.
pub(super) fn set(value: &str, seconds: i64) -> Option<HeaderValue> {
    let text = format!("{NAME}={value}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&text).ok()
}

/// Value of the header `Windlass-CSRF` that belongs to a cookie.
pub(super) fn csrf(cookie: &str) -> String {
    Digest::of(format!("csrf {cookie}").as_bytes()).to_string()
}

/// True if the header with that value is there.
pub(super) fn has_csrf(headers: &HeaderMap, cookie: &str) -> bool {
    let expected = Digest::of(csrf(cookie).as_bytes());
    headers.get(CSRF).is_some_and(|value| Digest::of(value.as_bytes()).matches(&expected))
}

/// Whether a browser says that the page is one of the array.
pub(super) enum Origin {
    /// One of the array.
    Own,
    /// Another one.
    Foreign,
    /// It does not say; programs do not.
    Unknown,
}

/// Where the page of a request is from.
pub(super) fn origin(headers: &HeaderMap) -> Origin {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if text(FETCH_SITE).is_some_and(|site| site != "same-origin") {
        return Origin::Foreign;
    }
    match (text(header::ORIGIN), text(header::HOST)) {
        (None, _) => Origin::Unknown,
        (Some(origin), Some(host))
            if origin.strip_prefix("https://").is_some_and(|of| of.eq_ignore_ascii_case(host)) =>
        {
            Origin::Own
        }
        (Some(_), _) => Origin::Foreign,
    }
}

/// Host of a request without its port.
pub(super) fn host(headers: &HeaderMap) -> Option<&str> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    match host.strip_prefix('[') {
        Some(address) => address.split(']').next(),
        None => host.split(':').next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let found = |line: &'static str| of(&headers(&[("cookie", line)])).map(str::to_owned);
        assert_eq!(found("a=b; __Host-windlass=0a1b; c=d").as_deref(), Some("0a1b"));
        assert_eq!(found("a=b; x__Host-windlass=0a1b"), None);
        assert_eq!(found("windlass=0a1b"), None);
        let line = set("0a", 60).and_then(|value| value.to_str().map(str::to_owned).ok());
        let expected = "__Host-windlass=0a; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Strict";
        assert_eq!(line.as_deref(), Some(expected));
    }

    #[test]
    fn pages_of_others_are_foreign() {
        let name = |lines: &[(&'static str, &'static str)]| match origin(&headers(lines)) {
            Origin::Own => "own",
            Origin::Foreign => "foreign",
            Origin::Unknown => "unknown",
        };
        let host = ("host", "array:8443");
        assert_eq!(name(&[host, ("origin", "https://Array:8443"), ("sec-fetch-site", "same-origin")]), "own");
        assert_eq!(name(&[host, ("origin", "https://array:8443")]), "own");
        assert_eq!(name(&[host]), "unknown");
        for lines in [
            [host, ("origin", "https://array"), ("sec-fetch-site", "same-origin")],
            [host, ("origin", "http://array:8443"), ("sec-fetch-site", "same-origin")],
            [host, ("origin", "null"), ("sec-fetch-site", "same-origin")],
            [host, ("origin", "https://array:8443"), ("sec-fetch-site", "cross-site")],
            [host, ("origin", "https://array:8443"), ("sec-fetch-site", "same-site")],
            [("accept", "*/*"), ("origin", "https://array:8443"), ("sec-fetch-site", "same-origin")],
        ] {
            assert_eq!(name(&lines), "foreign", "{lines:?}");
        }
    }

    #[test]
    fn the_csrf_value_belongs_to_one_cookie() {
        let mut lines = HeaderMap::new();
        assert!(!has_csrf(&lines, "a"));
        lines.extend(HeaderValue::from_str(&csrf("a")).map(|value| (CSRF, value)));
        assert!(has_csrf(&lines, "a") && !has_csrf(&lines, "b"));
    }

    #[test]
    fn a_host_is_without_its_port() {
        for (line, expected) in [("array:8443", "array"), ("array", "array"), ("[fd00::1]:8443", "fd00::1")] {
            assert_eq!(host(&headers(&[("host", line)])), Some(expected));
        }
    }
}
