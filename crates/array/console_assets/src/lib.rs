//! The files of the web console (`console/dist`), built into the program.
//!
//! The build script reads them, compares them with the digests in `dist/manifest.json` and
//! compresses them. It runs no Node: `make console` builds `dist`, which is checked in. All files
//! but the page itself are below `/assets/DIGEST/`, and `DIGEST` changes with any of them, so that
//! a page never mixes two versions.
#![forbid(unsafe_code)]

/// A file of the console.
#[derive(Debug)]
pub struct Asset {
    /// Path below the directory of the assets, such as `volumes.js`.
    pub path: &'static str,
    /// Value of `Content-Type`.
    pub media_type: &'static str,
    /// Value of `ETag`, with its quotation marks.
    pub entity_tag: &'static str,
    /// Content.
    pub plain: &'static [u8],
    /// Content as gzip (RFC 1952).
    pub gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The page, which loads everything else. It is the answer for every path of the console.
#[must_use]
pub const fn page() -> &'static Asset {
    &PAGE
}

/// Finds a file by its path below `/assets/`, `DIGEST/NAME`. `None` if there is none, or if the
/// digest is that of another version.
#[must_use]
pub fn find(path: &str) -> Option<&'static Asset> {
    let (digest, name) = path.split_once('/')?;
    if digest != DIGEST {
        return None;
    }
    ASSETS.binary_search_by(|asset| asset.path.cmp(name)).ok().and_then(|index| ASSETS.get(index))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use std::io::Read;

    #[test]
    fn compressed_content_is_the_content() {
        for asset in ASSETS.iter().chain([page()]) {
            let mut inflated = Vec::new();
            flate2::read::GzDecoder::new(asset.gzip).read_to_end(&mut inflated).unwrap();
            assert_eq!(inflated, asset.plain, "{}", asset.path);
        }
    }

    #[test]
    fn files_are_found_under_the_digest_of_this_version_only() {
        for asset in ASSETS {
            assert_eq!(find(&format!("{DIGEST}/{}", asset.path)).unwrap().entity_tag, asset.entity_tag);
        }
        let name = ASSETS.first().unwrap().path;
        for path in [name, "", "/", &format!("0123456789abcdef/{name}"), &format!("{DIGEST}/no-such-file")] {
            assert!(find(path).is_none(), "{path}");
        }
    }

    #[test]
    fn the_page_names_only_files_that_exist() {
        let html = std::str::from_utf8(page().plain).unwrap();
        let prefix = format!("\"/assets/{DIGEST}/");
        let names: Vec<_> = html.split(&prefix).skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert!(names.len() >= 2, "a script and a style sheet: {html}");
        for name in names {
            assert!(find(&format!("{DIGEST}/{name}")).is_some(), "{name}");
        }
        assert!(!html.contains("\"./"), "{html}");
    }
}
