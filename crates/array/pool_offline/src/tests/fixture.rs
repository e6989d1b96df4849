//! Pools written by the real engine, each in its own folder.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use media::{EngineChoice, FileDisk, FormatOptions, LocalMedia, Media, OpenOptions};
use pool::{ByteRange, CatalogChange, Core, ObjectId, ObjectKind, Operation, Options, Output};

use crate::{CheckArguments, OutputFormat, run_check};

/// Size of every pool in bytes; the file is sparse.
pub const POOL_BYTES: u64 = 32 << 20;
const LOG_BYTES: u64 = 1 << 20;
/// Offset of the data area: the log ends in the first 8 MiB.
pub const DATA_START: u64 = 8 << 20;
/// Data blocks in a filled pool; blocks that volumes and snapshot share count once.
pub const DATA_BLOCKS: u64 = 20 + 64 + 1;
/// Blocks that a checkpoint adds for the catalog: the object table and the documents.
pub const CATALOG_BLOCKS: u64 = 2;
/// Byte that fills the first block of the first volume.
pub const FIRST_BLOCK: u8 = 0xa0;

type Engine = Core<LocalMedia<FileDisk>>;

/// Result of a command.
pub struct Ran {
    pub status: u8,
    pub output: String,
    pub errors: String,
}

/// Folder with one pool; both are removed on drop.
pub struct Fixture {
    folder: PathBuf,
    pub path: PathBuf,
    content: Vec<u8>,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Fixture {
    /// Creates a folder with a file of this content.
    pub fn of(content: &[u8]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("pool-tool-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("p0.pool");
        fs::write(&path, content).unwrap();
        Self { folder, path, content: content.to_vec() }
    }

    fn made(make: impl FnOnce(&mut Engine)) -> Self {
        let mut fixture = Self::of(&[]);
        let mut engine = fixture.format();
        make(&mut engine);
        drop(engine);
        fixture.content = fs::read(&fixture.path).unwrap();
        fixture
    }

    /// An empty pool.
    pub fn empty() -> Self {
        Self::made(|_| {})
    }

    /// A pool with content, followed by a checkpoint.
    pub fn checkpointed() -> Self {
        Self::made(|engine| {
            fill(engine);
            engine.checkpoint().unwrap();
        })
    }

    /// A pool with content, with so many documents that their index has several levels (one of them
    /// long), and a checkpoint after it.
    pub fn indexed() -> Self {
        Self::made(|engine| {
            fill(engine);
            let put = |key: String, bytes: usize| CatalogChange::PutDocument { key, value: vec![b'd'; bytes].into() };
            let mut documents: Vec<_> = (0..200).map(|n| put(format!("document/{n}"), 200)).collect();
            documents.push(put("long".to_owned(), 9000));
            run(engine, Operation::Catalog(documents));
            engine.checkpoint().unwrap();
        })
    }

    /// A pool with content; the identity of an array and a persistent reservation are in the log.
    pub fn identified(array: &str) -> Self {
        Self::made(|engine| {
            fill(engine);
            let put = |key: &str, value: serde_json::Value| CatalogChange::PutDocument {
                key: key.to_owned(),
                value: Bytes::from(value.to_string()),
            };
            let record = serde_json::json!({ "id": array, "created": "2026-01-01T00:00:00Z" });
            let volume = "01997c2e-7b3c-7000-8000-00001f2e3d4c";
            let reservations = serde_json::json!({ "volume": volume, "registrations": [] });
            let documents = vec![put("array", record), put(&format!("reservations/{volume}"), reservations)];
            run(engine, Operation::Catalog(documents));
        })
    }

    /// A pool with content whose last part is only in the log.
    pub fn killed() -> Self {
        Self::made(fill)
    }

    /// Like `killed`, but the file is a copy from while the engine had the original open.
    pub fn copied_while_open() -> Self {
        let original = Self::of(&[]);
        let mut engine = original.format();
        fill(&mut engine);
        let copy = Self::of(&fs::read(&original.path).unwrap());
        drop(engine);
        copy
    }

    fn format(&self) -> Engine {
        let open = OpenOptions {
            create_bytes: Some(POOL_BYTES),
            direct: false,
            engine: EngineChoice::Inline,
            ..OpenOptions::default()
        };
        let disk = FileDisk::open(&self.path, &open).unwrap();
        let uuid = [7; 16];
        let format = FormatOptions { uuid, log_bytes: LOG_BYTES, root: pool::initial_root(uuid), overwrite: false };
        let media = LocalMedia::format(disk, format).unwrap();
        Core::open(media, Options { incarnation: 1, ..Options::default() }, &mut |_| {}).unwrap().0
    }

    /// Changes a block of the file; the change counts as expected content.
    pub fn change(&mut self, offset: u64, change: impl FnOnce(&mut [u8; 4096])) {
        let file = fs::OpenOptions::new().read(true).write(true).open(&self.path).unwrap();
        let mut block = [0; 4096];
        file.read_exact_at(&mut block, offset).unwrap();
        change(&mut block);
        file.write_all_at(&block, offset).unwrap();
        self.content[usize::try_from(offset).unwrap()..][..4096].copy_from_slice(&block);
    }

    /// Truncates the file.
    pub fn truncate(&mut self, bytes: u64) {
        fs::OpenOptions::new().write(true).open(&self.path).unwrap().set_len(bytes).unwrap();
        self.content.truncate(usize::try_from(bytes).unwrap());
    }

    /// Offsets of the matching blocks in the data area.
    pub fn find(&self, fits: impl Fn(&[u8]) -> bool) -> Vec<u64> {
        let blocks = (0u64..).step_by(4096).zip(self.content.chunks_exact(4096));
        blocks.filter(|(offset, block)| *offset >= DATA_START && fits(block)).map(|(offset, _)| offset).collect()
    }

    /// Offsets of the nonzero blocks.
    pub fn stored(&self) -> Vec<u64> {
        let blocks = (0u64..).step_by(4096).zip(self.content.chunks_exact(4096));
        blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0)).map(|(offset, _)| offset).collect()
    }

    pub fn run(&self, quick: bool) -> Ran {
        self.run_as(quick, OutputFormat::Text, false)
    }

    /// Runs the command, and asserts that it did not change the file.
    pub fn run_as(&self, quick: bool, format: OutputFormat, terminal: bool) -> Ran {
        let arguments = CheckArguments { file: self.path.clone(), quick, memory: None };
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let status = run_check(&arguments, format, &mut output, &mut errors, terminal);
        self.assert_unchanged();
        Ran { status, output: String::from_utf8(output).unwrap(), errors: String::from_utf8(errors).unwrap() }
    }

    pub fn assert_unchanged(&self) {
        assert!(fs::read(&self.path).unwrap() == self.content, "the check changed the file");
    }
}

fn fill(engine: &mut Engine) {
    let [first, second, snapshot] = [(); 3].map(|()| engine.new_object_id());
    let size_bytes = 1 << 30;
    let volumes = [first, second].map(|id| CatalogChange::CreateVolume { id, size_bytes });
    let id = "01997c2e-7b3c-7000-8000-00001f2e3d4c";
    let record = serde_json::json!({
        "id": id, "object": first.0, "name": "db", "naa": format!("602574c{:025x}", 1),
        "created": "2026-01-01T00:00:00Z", "source": null,
    });
    let (key, value) = (format!("volume/{id}"), Bytes::from(record.to_string()));
    let document = CatalogChange::PutDocument { key, value };
    run(engine, Operation::Catalog(Vec::from(volumes)));
    run(engine, Operation::Catalog(vec![document]));
    for block in 0..20u8 {
        write(engine, first, u64::from(block) * 4096, vec![FIRST_BLOCK.wrapping_add(block); 4096]);
    }
    // A write so large that it goes straight to its place, not into the log.
    let large = (1..=64u8).flat_map(|byte| [byte; 4096]).collect();
    write(engine, first, 512 << 20, large);
    let clone = Operation::Clone {
        source: first,
        source_offset: 0,
        destination: second,
        destination_offset: 1 << 20,
        length: 16 * 4096,
    };
    run(engine, clone);
    let snap = CatalogChange::CloneObject { source: first, id: snapshot, kind: ObjectKind::Snapshot };
    run(engine, Operation::Catalog(vec![snap]));
    write(engine, first, 4096, vec![0xee; 4096]);
    run(engine, Operation::Zero { object: first, ranges: vec![ByteRange::new(8192, 8192)], forced: false });
}

/// Writes, and waits until the data is durable.
pub fn write<M: Media>(engine: &mut Core<M>, object: ObjectId, offset: u64, data: Vec<u8>) {
    run(engine, Operation::Write { object, offset, data: data.into(), forced: false });
}

/// Reads.
pub fn read<M: Media>(engine: &mut Core<M>, object: ObjectId, offset: u64, length: usize) -> Bytes {
    match run(engine, Operation::Read { object, offset, length }) {
        Output::Data(data) => data,
        other => panic!("{other:?}"),
    }
}

/// Runs an operation to its end.
pub fn run<M: Media>(engine: &mut Core<M>, operation: Operation) -> Output {
    let id = engine.submit(operation);
    loop {
        if let Some((found, result)) = engine.poll_finished() {
            assert_eq!(found, id);
            return result.unwrap();
        }
        engine.pump(8);
    }
}
