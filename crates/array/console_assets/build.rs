//! Reads `console/dist`, verifies it and writes a table of its files.

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// File whose references to other files are relative, and get their directory here.
const PAGE: &str = "index.html";
/// Digests of the other files, and of nothing else.
const MANIFEST: &str = "manifest.json";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dist = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../../console/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let manifest = fs::read_to_string(dist.join(MANIFEST))
        .map_err(|error| format!("{}: {error}: run `make console`", dist.join(MANIFEST).display()))?;
    let mut files = read(&dist)?;
    let listed = files.iter().map(|(name, content)| (name.as_str(), hexadecimal(content)));
    if listing(listed) != manifest {
        return Err("console/dist does not match its manifest: run `make console`".into());
    }
    let digest = hexadecimal(manifest.as_bytes()).split_off(48);
    let page = files.remove(PAGE).ok_or("console/dist has no index.html: run `make console`")?;
    let page = String::from_utf8(page)?.replace("\"./", &format!("\"/assets/{digest}/"));

    let mut table = format!("/// Digest of all files of the console.\npub const DIGEST: &str = {digest:?};\n");
    writeln!(table, "const PAGE: Asset = {};", asset(&out, PAGE, page.as_bytes())?)?;
    table += "/// All files but the page, by path.\npub const ASSETS: &[Asset] = &[\n";
    for (name, content) in &files {
        writeln!(table, "    {},", asset(&out, name, content)?)?;
    }
    table += "];\n";
    fs::write(out.join("assets.rs"), table)?;
    Ok(())
}

/// Reads all files but the manifest. `dist` has no folders.
fn read(dist: &Path) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn std::error::Error>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dist)? {
        let path = entry?.path();
        println!("cargo:rerun-if-changed={}", path.display());
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("a file name is not UTF-8")?.to_owned();
        if name != MANIFEST {
            files.insert(name, fs::read(&path)?);
        }
    }
    Ok(files)
}

/// Text of the manifest, as `console/vite.config.ts` writes it.
fn listing<'a>(files: impl Iterator<Item = (&'a str, String)>) -> String {
    let lines: Vec<_> = files.map(|(name, digest)| format!("  \"{name}\": \"{digest}\"")).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// Writes both forms of a file, and returns its row.
fn asset(out: &Path, name: &str, content: &[u8]) -> Result<String, Box<dyn std::error::Error>> {
    let (plain, gzip) = (out.join(name), out.join(format!("{name}.gz")));
    fs::write(&plain, content)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    fs::write(&gzip, encoder.finish()?)?;
    let tag = format!("\"{}\"", hexadecimal(content).split_off(48));
    let media_type = media_type(name).ok_or_else(|| format!("{name}: unknown kind of file"))?;
    Ok(format!(
        "Asset {{ path: {name:?}, media_type: {media_type:?}, entity_tag: {tag:?}, \
         plain: include_bytes!({plain:?}), gzip: include_bytes!({gzip:?}) }}"
    ))
}

fn media_type(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

fn hexadecimal(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
