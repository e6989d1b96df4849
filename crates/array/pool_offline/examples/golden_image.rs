//! Writes the golden image of the present on-disk format: `cargo run -p pool_offline --example
//! golden_image -- crates/array/pool_offline/golden v1`.
//!
//! Creates `NAME-clean.gz` and `NAME-killed.gz`, pools after a clean stop and after a kill, and
//! `NAME-clean.json` and `NAME-killed.json`, the content that must be read from them. An image is
//! sparse: gzip over the number of blocks (8 bytes), then number (8) and content (4 096) of every
//! nonzero block. Each format version, and each feature that the format gained, has one image,
//! which is never rewritten. (Images are older than parts of the story that came later.)

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use media::{BLOCK_BYTES, EngineChoice, FileDisk, FormatOptions, LocalMedia, OpenOptions};
use pool::{
    BlockNumber, ByteRange, CatalogChange, Core, Hour, ObjectId, ObjectKind, Operation, OperationId, Options, Outcome,
    Stability, View,
};
use serde_json::{Value, json};

const POOL_BYTES: u64 = 24 << 20;
const LOG_BYTES: u64 = 1 << 20;
const BLOCK: u64 = BLOCK_BYTES as u64;
/// Block of an address space that begins another page at every level but the highest.
const SPACE_PLACE: u64 = 1 << 46;

/// Expected content of an object: for each block, the number that fills it.
#[derive(Clone)]
struct Object {
    kind: ObjectKind,
    parent: u64,
    size_bytes: u64,
    write_cache: bool,
    ceiling_bytes: Option<u64>,
    locked_until_hour: Option<u32>,
    replica: bool,
    blocks: BTreeMap<u64, u64>,
}

struct Story {
    core: Core<LocalMedia<FileDisk>>,
    objects: BTreeMap<u64, Object>,
    documents: BTreeMap<String, String>,
    tag: u64,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(name)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: golden_image FOLDER NAME");
        std::process::exit(2);
    };
    let folder = PathBuf::from(folder);
    for (suffix, clean) in [("clean", true), ("killed", false)] {
        let target = folder.join(format!("{name}-{suffix}.gz"));
        assert!(!target.exists(), "{} exists: a golden image is never made anew", target.display());
        let pool = tempfile::NamedTempFile::new().expect("a temporary file");
        let manifest = Story::tell(pool.path(), clean);
        write_sparse(pool.path(), &target);
        let text = serde_json::to_string_pretty(&manifest).expect("JSON");
        std::fs::write(folder.join(format!("{name}-{suffix}.json")), text + "\n").expect("the manifest");
    }
}

impl Story {
    fn tell(path: &Path, clean: bool) -> Value {
        let open = OpenOptions {
            create_bytes: Some(POOL_BYTES),
            direct: false,
            engine: EngineChoice::Inline,
            ..OpenOptions::default()
        };
        let uuid = *b"golden image 001";
        let format = FormatOptions { uuid, log_bytes: LOG_BYTES, root: pool::initial_root(uuid), overwrite: false };
        let media = LocalMedia::format(FileDisk::open(path, &open).expect("a file"), format).expect("a pool");
        let options = Options { incarnation: 0x676f_6c64, ..Options::default() };
        let (core, _) = Core::open(media, options, &mut |_| {}).expect("an empty pool");
        let mut story = Self { core, objects: BTreeMap::new(), documents: BTreeMap::new(), tag: 1 };
        let (a, b) = (story.create(64 << 20), story.create(1 << 30));
        story.document("array", r#"{"name":"golden"}"#);
        story.document("volume/16", r#"{"name":"a"}"#);
        story.write(a, 0, 20);
        story.write(a, 300, 5);
        story.write(b, 100_000, 60);
        let snapshot = story.copy(a, ObjectKind::Snapshot);
        story.checkpoint();
        story.write(a, 1, 2);
        story.share(b, 100_000, a, 4_000, 50);
        let clone = story.copy(snapshot, ObjectKind::Volume);
        story.write(clone, 0, 1);
        let replica = story.copy(clone, ObjectKind::Volume);
        story.replicate(replica, true);
        story.replicate(clone, true);
        let space = story.create(pool::ADDRESS_SPACE_BYTES);
        story.write(space, 3, 4);
        story.write(space, SPACE_PLACE + 9, 3);
        story.share(a, 0, space, SPACE_PLACE + 512, 256);
        story.limit(space, 300 << 20);
        let [kept, released] = [a, b].map(|volume| story.copy(volume, ObjectKind::Snapshot));
        story.lock(kept, 500_000);
        story.lock(released, 500_001);
        let gone = story.create(1 << 44);
        story.write(gone, 1 << 31, 40);
        story.checkpoint();
        // The background gets no turn, so that the checkpoint below has entries in its drop queue.
        story.delete(gone);
        story.zero(b, 100_010, 5);
        story.share(space, SPACE_PLACE, space, 2 * SPACE_PLACE, 1 << 32);
        story.resize(b, 2 << 30);
        story.cache(b, true);
        story.document("volume/17", r#"{"name":"b"}"#);
        // So many, and one so long, that their index has several levels.
        for n in 0..90 {
            story.document(&format!("host/{n}"), &format!("{n:0>200}"));
        }
        story.document("events", &"event ".repeat(2000));
        story.edit(space, 3);
        story.checkpoint();
        if !clean {
            // One record of each kind, for the log.
            story.write(a, 2, 1);
            story.edit(a, 2);
            story.write(b, 400_000, 30);
            story.zero(a, 300, 2);
            story.share(space, 0, space, SPACE_PLACE, 1 << 32);
            story.write(space, 3 * SPACE_PLACE - 1, 2);
            story.zero(space, 2 * SPACE_PLACE, 1 << 32);
            story.share(a, 0, b, 256, 256);
            let c = story.create(512 * 77);
            story.write(c, 3, 2);
            story.resize(a, 2 << 20);
            story.cache(b, false);
            let second = story.copy(b, ObjectKind::Snapshot);
            story.write(b, 256, 1);
            story.delete(snapshot);
            story.document("snapshot/21", r#"{"of":"b"}"#);
            story.run(Operation::Catalog(vec![CatalogChange::DeleteDocument { key: "volume/16".to_owned() }]));
            story.documents.remove("volume/16");
            let limited = story.create(pool::ADDRESS_SPACE_BYTES);
            story.limit(limited, 5 << 40);
            story.limit(space, 7 << 20);
            story.lock(second, 500_123);
            story.unlock(released);
            story.replicate(c, true);
            story.replicate(clone, false);
            story.document("host/20", &"h".repeat(1500));
            assert!(story.objects.contains_key(&second.0));
        }
        story.manifest()
    }

    fn manifest(&self) -> Value {
        let objects: Vec<Value> = self
            .objects
            .iter()
            .map(|(id, object)| {
                let blocks: Vec<[u64; 2]> = object.blocks.iter().map(|(block, tag)| [*block, *tag]).collect();
                json!({
                    "id": id,
                    "snapshot": object.kind == ObjectKind::Snapshot,
                    "parent": object.parent,
                    "size_bytes": object.size_bytes,
                    "write_cache": object.write_cache,
                    "ceiling_bytes": object.ceiling_bytes,
                    "locked_until_hour": object.locked_until_hour,
                    "replica": object.replica,
                    "blocks": blocks,
                })
            })
            .collect();
        json!({ "objects": objects, "documents": self.documents })
    }

    fn run(&mut self, operation: Operation) {
        let id = self.core.submit(operation);
        self.finish(id);
    }

    fn finish(&mut self, id: OperationId) {
        loop {
            if let Some((found, result)) = self.core.poll_finished() {
                assert_eq!(found, id);
                result.expect("an operation of the story");
                return;
            }
            self.core.pump(0);
        }
    }

    fn checkpoint(&mut self) {
        self.core.checkpoint().expect("a checkpoint");
    }

    fn create(&mut self, size_bytes: u64) -> ObjectId {
        let id = self.core.new_object_id();
        self.run(Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes }]));
        let object = Object {
            kind: ObjectKind::Volume,
            parent: 0,
            size_bytes,
            write_cache: false,
            ceiling_bytes: None,
            locked_until_hour: None,
            replica: false,
            blocks: BTreeMap::new(),
        };
        self.objects.insert(id.0, object);
        id
    }

    fn copy(&mut self, source: ObjectId, kind: ObjectKind) -> ObjectId {
        let id = self.core.new_object_id();
        self.run(Operation::Catalog(vec![CatalogChange::CloneObject { source, id, kind }]));
        let object = Object {
            kind,
            parent: source.0,
            write_cache: false,
            ceiling_bytes: None,
            locked_until_hour: None,
            replica: false,
            ..self.objects[&source.0].clone()
        };
        self.objects.insert(id.0, object);
        id
    }

    fn delete(&mut self, id: ObjectId) {
        self.run(Operation::Catalog(vec![CatalogChange::DeleteObject { id }]));
        self.objects.remove(&id.0);
    }

    fn object(&mut self, id: ObjectId) -> &mut Object {
        self.objects.get_mut(&id.0).expect("an object of the story")
    }

    fn resize(&mut self, id: ObjectId, size_bytes: u64) {
        self.run(Operation::Catalog(vec![CatalogChange::Resize { id, size_bytes }]));
        let object = self.object(id);
        object.size_bytes = size_bytes;
        object.blocks.retain(|block, _| *block < size_bytes / BLOCK);
    }

    fn cache(&mut self, id: ObjectId, enabled: bool) {
        self.run(Operation::Catalog(vec![CatalogChange::SetWriteCache { id, enabled }]));
        self.object(id).write_cache = enabled;
    }

    fn limit(&mut self, id: ObjectId, ceiling_bytes: u64) {
        let ceiling_bytes = Some(ceiling_bytes);
        self.run(Operation::Catalog(vec![CatalogChange::SetCeiling { id, ceiling_bytes }]));
        self.object(id).ceiling_bytes = ceiling_bytes;
    }

    fn lock(&mut self, id: ObjectId, until: u32) {
        let hour = Hour::new(until).expect("an hour");
        self.run(Operation::Catalog(vec![CatalogChange::Lock { id, until: hour }]));
        self.object(id).locked_until_hour = Some(until);
    }

    fn unlock(&mut self, id: ObjectId) {
        self.run(Operation::Catalog(vec![CatalogChange::Unlock { id, now: Hour::MAX }]));
        self.object(id).locked_until_hour = None;
    }

    fn replicate(&mut self, id: ObjectId, enabled: bool) {
        self.run(Operation::Catalog(vec![CatalogChange::SetReplica { id, enabled }]));
        self.object(id).replica = enabled;
    }

    fn document(&mut self, key: &str, value: &str) {
        let change =
            CatalogChange::PutDocument { key: key.to_owned(), value: Bytes::copy_from_slice(value.as_bytes()) };
        self.run(Operation::Catalog(vec![change]));
        self.documents.insert(key.to_owned(), value.to_owned());
    }

    fn write(&mut self, id: ObjectId, first: u64, count: u64) {
        let mut data = Vec::new();
        for block in first..first + count {
            let tag = self.tag;
            self.tag += 1;
            data.extend(std::iter::repeat_n(tag.to_le_bytes(), BLOCK_BYTES / 8).flatten());
            self.object(id).blocks.insert(block, tag);
        }
        self.run(Operation::Write { object: id, offset: first * BLOCK, data: data.into(), forced: true });
    }

    /// Edits one half of a block, and then the other: what the log has of both is as long as a patch may be.
    fn edit(&mut self, id: ObjectId, block: u64) {
        let tag = self.tag;
        self.tag += 1;
        self.object(id).blocks.insert(block, tag);
        for half in [0..BLOCK_BYTES / 2, BLOCK_BYTES / 2..BLOCK_BYTES] {
            let edit = move |view: &mut View<'_>| {
                let content: Vec<u8> = std::iter::repeat_n(tag.to_le_bytes(), half.len() / 8).flatten().collect();
                view.edit(id, BlockNumber::new(block), half.clone())?.copy_from_slice(&content);
                Ok(Outcome::Commit(()))
            };
            let (transaction, _) = self.core.transact(edit, Stability::Durable);
            self.finish(transaction);
        }
    }

    fn zero(&mut self, id: ObjectId, first: u64, count: u64) {
        self.run(Operation::Zero {
            object: id,
            ranges: vec![ByteRange::new(first * BLOCK, count * BLOCK)],
            forced: true,
        });
        self.object(id).blocks.retain(|block, _| !(first..first + count).contains(block));
    }

    fn share(&mut self, source: ObjectId, from: u64, destination: ObjectId, to: u64, count: u64) {
        self.run(Operation::Clone {
            source,
            source_offset: from * BLOCK,
            destination,
            destination_offset: to * BLOCK,
            length: count * BLOCK,
        });
        let shared: Vec<_> = self
            .object(source)
            .blocks
            .range(from..from + count)
            .map(|(block, tag)| (block - from + to, *tag))
            .collect();
        let target = &mut self.object(destination).blocks;
        target.retain(|block, _| !(to..to + count).contains(block));
        target.extend(shared);
    }
}

fn write_sparse(pool: &Path, target: &Path) {
    let content = std::fs::read(pool).expect("the pool");
    let file = std::fs::File::create_new(target).expect("the image");
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    let blocks = content.chunks_exact(BLOCK_BYTES);
    let mut put = |bytes: &[u8]| out.write_all(bytes).expect("the image");
    put(&(blocks.len() as u64).to_le_bytes());
    for (number, block) in (0u64..).zip(blocks).filter(|(_, block)| block.iter().any(|byte| *byte != 0)) {
        put(&number.to_le_bytes());
        put(block);
    }
    out.finish().expect("the image");
}
