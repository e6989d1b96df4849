//! Pools of every released format version open, check clean, and still have their content. See
//! `examples/golden_image.rs`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use media::{EngineChoice, FileDisk, LocalMedia, OpenOptions};
use pool::{CatalogChange, Core, ObjectId, ObjectKind, Operation, Options};
use serde_json::Value;

use super::fixture;
use crate::{DumpWhat, check, dump};

pub const IMAGES: [&str; 14] = [
    "v1-clean",
    "v1-killed",
    "v2-index-clean",
    "v2-index-killed",
    "v2-space-clean",
    "v2-space-killed",
    "v2-ceiling-clean",
    "v2-ceiling-killed",
    "v2-lock-clean",
    "v2-lock-killed",
    "v2-patch-clean",
    "v2-patch-killed",
    "v2-replica-clean",
    "v2-replica-killed",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// Unpacks an image into a temporary file.
pub fn unpack(image: &str) -> tempfile::NamedTempFile {
    let packed = File::open(folder().join(format!("{image}.gz"))).unwrap();
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut content).unwrap();
    let (count, blocks) = content.split_first_chunk().unwrap();
    let pool = tempfile::NamedTempFile::new().unwrap();
    pool.as_file().set_len(u64::from_le_bytes(*count) * 4096).unwrap();
    for entry in blocks.chunks_exact(8 + 4096) {
        let (number, block) = entry.split_first_chunk().unwrap();
        pool.as_file().write_all_at(block, u64::from_le_bytes(*number) * 4096).unwrap();
    }
    pool
}

#[test]
fn golden_images_open_check_clean_and_hold_what_they_held() {
    for image in IMAGES {
        let pool = unpack(image);
        let outcome = check(pool.path(), Default::default(), &mut |_| {}).unwrap();
        assert!(outcome.clean, "{image}: {:?}", outcome.findings);
        assert_eq!(outcome.replayed_records > 0, image.ends_with("killed"), "{image}");
        let open = OpenOptions { engine: EngineChoice::Inline, direct: false, ..OpenOptions::default() };
        let media = LocalMedia::open(FileDisk::open(pool.path(), &open).unwrap()).unwrap();
        let options = Options { incarnation: 2, ..Options::default() };
        let (mut core, _) = Core::open(media, options, &mut |_| {}).unwrap();
        let manifest: Value =
            serde_json::from_reader(File::open(folder().join(format!("{image}.json"))).unwrap()).unwrap();
        holds(image, &mut core, &manifest);
        // A version that can be read can also be written.
        core.checkpoint().unwrap();
        fixture::write(&mut core, ObjectId(16), 8192, vec![9; 4096]);
        core.checkpoint().unwrap();
        // A list of documents becomes an index with the first that changes.
        for (key, bytes) in [("volume/16", 900), ("zeros", 0), ("long", 30_000)] {
            let value = vec![b' '; bytes].into();
            fixture::run(
                &mut core,
                Operation::Catalog(vec![CatalogChange::PutDocument { key: key.to_owned(), value }]),
            );
        }
        core.checkpoint().unwrap();
        let documents = core.documents().clone();
        drop(core);
        let outcome = check(pool.path(), Default::default(), &mut |_| {}).unwrap();
        assert!(outcome.clean, "{image}: {:?}", outcome.findings);
        let superblock = dump(pool.path(), DumpWhat::Superblock).unwrap().0.to_string();
        // Features come into force with their first use.
        let features = match image {
            "v2-space-clean" | "v2-space-killed" => "0x1202",
            "v2-ceiling-clean" | "v2-ceiling-killed" => "0x3202",
            "v2-patch-clean" | "v2-patch-killed" => "0x3602",
            "v2-lock-clean" | "v2-lock-killed" => "0x7602",
            "v2-replica-clean" | "v2-replica-killed" => "0xf602",
            _ => "0x200",
        };
        let features = format!(r#""incompatible_features":"{features}""#);
        assert_eq!(superblock.matches(&features).count(), 4, "{image}: {superblock}");
        let media = LocalMedia::open(FileDisk::open(pool.path(), &open).unwrap()).unwrap();
        let options = Options { incarnation: 3, ..Options::default() };
        assert_eq!(Core::open(media, options, &mut |_| {}).unwrap().0.documents(), &documents, "{image}");
    }
}

fn holds(image: &str, core: &mut Core<LocalMedia<FileDisk>>, manifest: &Value) {
    let objects = manifest["objects"].as_array().unwrap();
    let ids: Vec<u64> = objects.iter().map(|object| object["id"].as_u64().unwrap()).collect();
    assert_eq!(core.object_ids().iter().map(|id| id.0).collect::<Vec<_>>(), ids, "{image}");
    for object in objects {
        let info = core.object(ObjectId(object["id"].as_u64().unwrap())).unwrap();
        assert_eq!(info.size_bytes, object["size_bytes"], "{image}");
        assert_eq!(info.kind == ObjectKind::Snapshot, object["snapshot"], "{image}");
        assert_eq!(info.parent.map_or(0, |parent| parent.0), object["parent"], "{image}");
        assert_eq!(info.write_cache, object["write_cache"], "{image}");
        // Manifests of older images do not have it.
        assert_eq!(info.ceiling_bytes, object["ceiling_bytes"].as_u64(), "{image}");
        let hour = object["locked_until_hour"].as_u64();
        assert_eq!(info.locked_until.map(|until| u64::from(until.get())), hour, "{image}");
        assert_eq!(info.is_replica, object["replica"].as_bool().unwrap_or_default(), "{image}");
        let blocks = object["blocks"].as_array().unwrap();
        assert_eq!(info.mapped_bytes / 4096, blocks.len() as u64, "{image}");
        for pair in blocks {
            let (block, tag) = (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
            let content = fixture::read(core, info.id, block * 4096, 4096);
            let expected: Vec<u8> = std::iter::repeat_n(tag.to_le_bytes(), 512).flatten().collect();
            assert!(content == expected, "{image}: object {:?} block {block}", info.id);
        }
    }
    let documents: BTreeMap<String, String> = serde_json::from_value(manifest["documents"].clone()).unwrap();
    let found: BTreeMap<String, String> =
        core.documents().iter().map(|(key, value)| (key.clone(), String::from_utf8(value.to_vec()).unwrap())).collect();
    assert_eq!(found, documents, "{image}");
}
