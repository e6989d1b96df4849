//! Dumps for experts: structures of a closed pool as names and values, verified only as far as
//! needed to read them.

use crate::catalog::FIRST_OBJECT;
use crate::catalog::documents::Stored;
use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::checkpoint::root::{Root, TreeRoot};
use crate::core::recovery::scanner::Scanner;
use crate::core::recovery::{await_ticket, read_blocks};
use crate::core::scan::walk::{Item, TreeWalk, Visit, leaf_entries};
use crate::geometry::{NARROW_LEVEL, Pointer};
use crate::index::page::Target;
use crate::index::{self, IndexRoot, Node, Value};
use crate::interface::operation::Options;
use crate::interface::range::BlockNumber;
use crate::interface::{ObjectId, ObjectKind, PoolError};

use crate::log::frame::FRAME_HEADER_BYTES;
use crate::log::patch::Patch;
use crate::log::record;
use crate::log::record::Record;
use crate::map::page::{Page, PageHeaderFields};
use crate::space::layout::{SEGMENT_BLOCKS, ZONE_SEGMENTS};
use media::{BLOCK_BYTES, BlockAddress, Done, Media};

/// Value of a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Text.
    Text(String),
    /// A number.
    Number(u64),
    /// True or false.
    Flag(bool),
    /// Several values of one kind.
    List(Vec<Shown>),
    /// Named values, in order.
    Fields(Vec<(&'static str, Shown)>),
}

impl From<u64> for Shown {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}
impl From<ObjectId> for Shown {
    fn from(id: ObjectId) -> Self {
        Self::Number(id.0)
    }
}
impl From<String> for Shown {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
impl From<BlockNumber> for Shown {
    fn from(block: BlockNumber) -> Self {
        Self::Number(block.get())
    }
}

impl From<BlockAddress> for Shown {
    fn from(address: BlockAddress) -> Self {
        Self::Number(address.get())
    }
}

impl From<&str> for Shown {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

fn hex32(crc: Crc32c) -> Shown {
    format!("{crc:08x}").into()
}

fn hex_bytes(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn tree(root: &TreeRoot) -> Shown {
    let Pointer { address, level, crc } = root.pointer();
    Shown::Fields(vec![
        ("address", address.into()),
        ("crc", hex32(crc)),
        ("level", u64::from(level).into()),
        ("length_bytes", root.length().into()),
    ])
}

fn show_stored(documents: Stored) -> Shown {
    match documents {
        Stored::List => "none: the documents are a list".into(),
        Stored::Index(IndexRoot { page, level, entries }) => Shown::Fields(vec![
            ("page", u64::from(page).into()),
            ("level", u64::from(level).into()),
            ("entries", entries.into()),
        ]),
    }
}

/// Shows a block as a page of the index: header and entries, values only by their length, since
/// documents may hold secrets. `None` for any other block.
fn show_index_page(block: &[u8], address: BlockAddress) -> Option<Result<Shown, String>> {
    let (number, part) = index::page::identify(block)?;
    let mut fields = vec![("address", address.into()), ("page", u64::from(number).into())];
    if let Some(position) = part {
        let shown = index::page::decode_value(block, number, position).map(|content| {
            fields
                .extend([("position_in_value", u64::from(position).into()), ("bytes", (content.len() as u64).into())]);
            Shown::Fields(fields)
        });
        return Some(shown);
    }
    Some(Node::decode(block, number).map(|node| {
        let entries = node.entries.iter().map(|entry| {
            let mut fields = vec![("key", String::from_utf8_lossy(&entry.key).into_owned().into())];
            match &entry.target {
                Target::Child(child) => fields.push(("page", u64::from(*child).into())),
                Target::Value(Value::Inline(value)) => fields.push(("bytes", (value.len() as u64).into())),
                Target::Value(Value::Long { length, pages }) => fields.extend([
                    ("bytes", u64::from(*length).into()),
                    ("pages", Shown::List(pages.iter().map(|page| u64::from(*page).into()).collect())),
                ]),
            }
            Shown::Fields(fields)
        });
        fields.extend([("level", u64::from(node.level).into()), ("entries", Shown::List(entries.collect()))]);
        Shown::Fields(fields)
    }))
}

/// Shows the fields of an encoded root.
pub fn show_root(blob: &[u8]) -> Result<Shown, String> {
    let root = Root::decode(blob)?;
    let groups = root.groups.iter().enumerate().filter_map(|(group, entry)| {
        let slot = entry.slot()?;
        Some(Shown::Fields(vec![
            ("group", (group as u64).into()),
            ("slot", u64::from(slot).into()),
            ("crc", hex32(entry.crc())),
        ]))
    });
    Ok(Shown::Fields(vec![
        ("uuid", hex_bytes(&root.uuid).into()),
        ("epoch", root.epoch.into()),
        ("log_position", root.log_position.into()),
        ("log_sequence", root.log_sequence.into()),
        ("log_previous_crc", format!("{:016x}", root.log_previous_crc).into()),
        ("next_object", root.next_object.into()),
        ("allocated_blocks", root.allocated_blocks.into()),
        ("metadata_blocks", root.metadata_blocks.into()),
        ("data_start", root.data_start.into()),
        ("data_end", root.data_end.into()),
        ("objects", tree(&root.objects)),
        ("documents", tree(&root.documents)),
        ("documents_index", show_stored(root.stored_documents)),
        ("drops", tree(&root.drops)),
        ("allotments", tree(&root.allotments)),
        ("clean", Shown::Flag(root.clean)),
        ("groups", Shown::List(groups.collect())),
    ]))
}

/// Shows a block as a map page: header and entries. The error says why it is not one.
fn show_page(block: &[u8], address: BlockAddress) -> Result<Shown, String> {
    let (page, fields) = Page::inspect(block).ok_or_else(|| format!("block {address} is not a map page"))?;
    let PageHeaderFields { stored_crc, computed_crc, own_address, object_hint } = fields;
    let leaf = page.level() == 0;
    let entries = page.entries.iter().enumerate().filter(|(_, entry)| !entry.is_empty()).map(|(index, entry)| {
        let mut fields = vec![("index", (index as u64).into()), ("address", entry.address().into())];
        if !leaf {
            let name = if page.level() > NARROW_LEVEL { "mapped_at_most" } else { "mapped" };
            fields.push((name, entry.mapped(page.level()).into()));
        }
        fields.push(("crc", hex32(entry.crc())));
        Shown::Fields(fields)
    });
    Ok(Shown::Fields(vec![
        ("address", address.into()),
        ("own_address", own_address.into()),
        ("level", u64::from(page.level()).into()),
        ("epoch", page.epoch().into()),
        ("made_for_object", object_hint.into()),
        ("mapped", page.mapped().into()),
        ("crc", hex32(stored_crc)),
        ("intact", Shown::Flag(stored_crc == computed_crc && own_address == address)),
        ("entries", Shown::List(entries.collect())),
    ]))
}

fn show_record(record: &Record<'_>, sequence: u64) -> Shown {
    let mut fields: Vec<(&'static str, Shown)> = vec![("sequence", sequence.into())];
    match record {
        Record::Write { object, first, blocks, data } => {
            let new = blocks.iter().filter(|block| block.new).count() as u64;
            let addresses = blocks.iter().map(|block| block.address.into()).collect();
            fields.extend([
                ("kind", "write".into()),
                ("object", (*object).into()),
                ("first_block", (*first).into()),
                ("blocks", (blocks.len() as u64).into()),
                ("new_blocks", new.into()),
                ("carries_data", Shown::Flag(data.is_some())),
                ("addresses", Shown::List(addresses)),
            ]);
        }
        Record::Zero { object, first, count } => fields.extend([
            ("kind", "zero".into()),
            ("object", (*object).into()),
            ("first_block", (*first).into()),
            ("blocks", (*count).into()),
        ]),
        Record::Clone { source, source_first, destination, destination_first, count } => fields.extend([
            ("kind", "clone".into()),
            ("source", (*source).into()),
            ("source_first_block", (*source_first).into()),
            ("destination", (*destination).into()),
            ("destination_first_block", (*destination_first).into()),
            ("blocks", (*count).into()),
        ]),
        Record::Patch(Patch { patched, parts }) => {
            let parts = parts.iter().map(|(first, bytes)| format!("{} at {first}", bytes.len()).into());
            fields.extend([
                ("kind", "patch".into()),
                ("object", patched.object.into()),
                ("first_block", patched.block.into()),
                ("address", patched.address.into()),
                ("whole_content_in_record", patched.image.into()),
                ("parts", Shown::List(parts.collect())),
            ]);
        }
        Record::Allotments(changes) => {
            let changes = changes.iter().map(|change| format!("{change:?}").into());
            fields.extend([("kind", "catalog".into()), ("changes", Shown::List(changes.collect()))]);
        }
        Record::Catalog(changes, _) => {
            let changes = changes.iter().map(|change| {
                // Documents may hold secrets, and are long.
                match change {
                    crate::CatalogChange::PutDocument { key, value } => {
                        format!("PutDocument {{ key: {key:?}, {} bytes }}", value.len()).into()
                    }
                    other => format!("{other:?}").into(),
                }
            });
            fields.extend([("kind", "catalog".into()), ("changes", Shown::List(changes.collect()))]);
        }
    }
    Shown::Fields(fields)
}

fn load_root<M: Media>(media: &mut M) -> Result<Root, PoolError> {
    media.load_root(0);
    match await_ticket(media, 0)? {
        Done::Root(blob, _) => Root::decode(&blob).map_err(PoolError::Damaged),
        _ => Err(PoolError::Damaged("the medium answered a root load with something else".into())),
    }
}

/// Shows the frames and records of the log from the root's replay point to its end, at most `limit`
/// records.
pub fn show_log<M: Media>(media: &mut M, limit: usize) -> Result<Shown, PoolError> {
    let root = load_root(media)?;
    let start = crate::log::ReplayPoint {
        position: root.log_position,
        sequence: root.log_sequence,
        previous_crc: root.log_previous_crc,
    };
    let mut scanner = Scanner::new(media.log_bytes(), root.uuid, start);
    let (mut frames, mut records, mut more) = (Vec::new(), 0usize, false);
    while let Some((info, content)) = scanner.next(media)? {
        let mut shown = Vec::new();
        let mut rest = content.get(FRAME_HEADER_BYTES..).unwrap_or_default();
        for sequence in info.first_sequence.. {
            let Some((record, after)) = record::decode(rest).filter(|_| !rest.is_empty()) else { break };
            rest = after;
            if records == limit {
                more = true;
                break;
            }
            shown.push(show_record(&record, sequence));
            records += 1;
        }
        frames.push(Shown::Fields(vec![
            ("position", info.position.into()),
            ("epoch", info.epoch.into()),
            ("incarnation", format!("{:016x}", info.incarnation).into()),
            ("bytes", u64::from(info.bytes).into()),
            ("durable_sequence", info.durable_sequence.into()),
            ("records", Shown::List(shown)),
        ]));
        if more {
            break;
        }
    }
    Ok(Shown::Fields(vec![
        ("log_bytes", media.log_bytes().into()),
        ("replay_position", root.log_position.into()),
        ("replay_sequence", root.log_sequence.into()),
        ("frames", Shown::List(frames)),
        ("more", Shown::Flag(more)),
    ]))
}

impl<M: Media> Core<M> {
    /// Loads the checkpoint in force, without its log: for dumps only. A damaged space index does
    /// not prevent that.
    pub fn load_for_dump(media: M, options: Options) -> Result<Self, PoolError> {
        Ok(Self::load(media, options, Some(&mut Vec::new()))?.0)
    }

    fn show_one(&self, id: ObjectId) -> Option<Vec<(&'static str, Shown)>> {
        let object = self.map.objects().get(id)?;
        let kind = match (id < FIRST_OBJECT, object.kind) {
            (true, _) => "catalog",
            (_, ObjectKind::Volume) => "volume",
            (_, ObjectKind::Snapshot) => "snapshot",
            (_, ObjectKind::Capture) => "capture",
        };
        let ceiling = object.ceiling_bytes.map(|bytes| ("ceiling_bytes", bytes.into()));
        let lock = object.locked_until().map(|until| ("locked_until_hour", u64::from(until.get()).into()));
        let replica = object.is_replica().then_some(("replica", Shown::Flag(true)));
        let fields = [
            ("id", id.into()),
            ("kind", kind.into()),
            ("parent", object.parent.unwrap_or(ObjectId::NONE).into()),
            ("size_bytes", object.size_bytes.into()),
            ("mapped_blocks", object.mapped.into()),
            ("write_cache", Shown::Flag(object.write_cache)),
            ("root_address", object.root.into()),
            ("root_crc", hex32(object.root_crc)),
            ("level", u64::from(object.level).into()),
        ];
        Some(fields.into_iter().chain(ceiling).chain(lock).chain(replica).collect())
    }

    /// Shows objects, allotments, keys of documents, and detached trees of the checkpoint.
    pub fn show_objects(&self) -> Shown {
        let objects = self.map.objects().ids().filter_map(|id| self.show_one(id).map(Shown::Fields));
        let documents = self.map.documents().all().iter().map(|(key, value)| {
            Shown::Fields(vec![("key", key.as_str().into()), ("bytes", (value.len() as u64).into())])
        });
        let drops = self.map.drops().queue().iter().map(|dropped| {
            Shown::Fields(vec![
                ("address", dropped.pointer.address.into()),
                ("level", u64::from(dropped.pointer.level).into()),
                ("crc", hex32(dropped.pointer.crc)),
            ])
        });
        Shown::Fields(vec![
            ("objects", Shown::List(objects.collect())),
            ("allotments", self.show_allotments(None)),
            ("documents", Shown::List(documents.collect())),
            ("drops", Shown::List(drops.collect())),
        ])
    }

    /// Shows one object, its map pages and the place of its content: at most `limit` pages and
    /// `limit` runs.
    pub fn show_object(&mut self, id: ObjectId, limit: usize) -> Result<Shown, PoolError> {
        let mut fields = self.show_one(id).ok_or(PoolError::NoSuchObject(id))?;
        let roots: Vec<Item> = self.all_roots().into_iter().filter(|item| item.object == id).collect();
        let mut walk = TreeWalk::new(roots, false);
        let (mut pages, mut runs): (Vec<_>, Vec<(BlockNumber, BlockAddress, u64)>) = (Vec::new(), Vec::new());
        let mut bad = Vec::new();
        while pages.len() < limit
            && runs.len() < limit
            && let Some(visits) = walk.next(self)
        {
            for (item, visit) in &visits {
                let Pointer { address, level, .. } = item.pointer;
                match visit {
                    Visit::Page(page) => {
                        pages.push((item.first, level, address, page.mapped()));
                        if leaf_entries(page).next().is_some() {
                            let entries =
                                item.first.onwards().zip(&page.entries).filter(|(_, entry)| !entry.is_empty());
                            runs.extend(entries.map(|(block, entry)| (block, entry.address(), 1)));
                        }
                    }
                    Visit::Bad(reason) => bad.push(reason.as_str().into()),
                    Visit::Outside => bad.push(format!("page address {address} lies outside the data area").into()),
                    Visit::Again(_) => {}
                }
            }
            runs.sort_unstable();
            runs = merged(&runs);
        }
        let more = runs.len() > limit || pages.len() > limit;
        pages.sort_unstable();
        let pages = pages.into_iter().take(limit).map(|(first, level, address, mapped)| {
            Shown::Fields(vec![
                ("first_block", first.into()),
                ("level", u64::from(level).into()),
                ("address", address.into()),
                ("mapped", mapped.into()),
            ])
        });
        let runs = runs.into_iter().take(limit).map(|(block, address, count)| {
            Shown::Fields(vec![("first_block", block.into()), ("address", address.into()), ("blocks", count.into())])
        });
        fields.extend([
            ("pages", Shown::List(pages.collect())),
            ("runs", Shown::List(runs.collect())),
            ("allotments", self.show_allotments(Some(id))),
            ("damaged", Shown::List(bad)),
            ("more", Shown::Flag(more)),
        ]);
        Ok(Shown::Fields(fields))
    }

    /// True if the data area has such a block.
    pub fn has_block(&self, address: BlockAddress) -> bool {
        self.map.space().layout().locate(address).is_some()
    }

    /// Shows a block as a map page, or as a page of the index of the documents.
    pub fn show_page_at(&mut self, address: BlockAddress) -> Result<Shown, PoolError> {
        let block = read_blocks(self.medium.media_mut(), address, 1)?;
        show_index_page(&block, address).unwrap_or_else(|| show_page(&block, address)).map_err(PoolError::Damaged)
    }

    /// Shows a block of the data area: its purpose, the number of references to it, and its
    /// content.
    pub fn show_block(&mut self, address: BlockAddress) -> Result<Shown, PoolError> {
        let block = read_blocks(self.medium.media_mut(), address, 1)?;
        let layout = self.map.space().layout();
        let mut fields = vec![("address", Shown::Number(address.get()))];
        if let Some((segment, index)) = layout.locate(address) {
            fields.push(("segment", u64::from(segment).into()));
            if layout.is_metadata(segment) {
                let zone = u64::from(segment) / ZONE_SEGMENTS;
                let use_ = match index as u64 {
                    0 | 1 => format!("index of zone {zone}, slot {}", index % 2),
                    2 | 3 => format!("index of 512 zones, slot {}", index % 2),
                    16..=1039 => format!(
                        "reference counts of segment {}, slot {}",
                        u64::from(segment) + (index as u64 - 16) / 2,
                        index % 2
                    ),
                    _ => "not in use".to_owned(),
                };
                fields.push(("use", use_.into()));
            } else {
                let count = match self.map.space().source(segment) {
                    None => Shown::Number(0),
                    Some((at, _)) => match read_blocks(self.medium.media_mut(), at, 1) {
                        Ok(counts) => {
                            let (counts, _) = counts.as_chunks::<2>();
                            let count = counts.get(index % SEGMENT_BLOCKS as usize).copied().unwrap_or_default();
                            u64::from(u16::from_le_bytes(count)).into()
                        }
                        Err(error) => error.to_string().into(),
                    },
                };
                let looks = match (Page::inspect(&block), index::page::identify(&block)) {
                    (Some(_), _) => "looks like a map page",
                    (_, Some(_)) => "looks like a page of the index",
                    _ => "data, catalog, or free",
                };
                fields.push(("use", looks.into()));
                fields.push(("reference_count", count));
            }
        }
        fields.push(("crc", hex32(Crc32c::of(&block))));
        let lines = block.chunks(32).enumerate().filter(|(_, line)| line.iter().any(|byte| *byte != 0));
        let lines = lines.map(|(number, line)| format!("{:03x} {}", number * 32, hex_bytes(line)).into());
        fields.push(("content", Shown::List(lines.collect())));
        debug_assert!(block.len() == BLOCK_BYTES);
        Ok(Shown::Fields(fields))
    }
}

/// Merges runs that are neighbours both in the object and on the medium.
fn merged(runs: &[(BlockNumber, BlockAddress, u64)]) -> Vec<(BlockNumber, BlockAddress, u64)> {
    let mut out: Vec<(BlockNumber, BlockAddress, u64)> = Vec::new();
    for &(block, address, count) in runs {
        match out.last_mut() {
            Some((b, a, n)) if *b + *n == block && *a + *n == address => *n += count,
            _ => out.push((block, address, count)),
        }
    }
    out
}
