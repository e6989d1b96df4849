//! The model: what each object holds, as a tag for each 512-byte sector that is not zero.

use std::collections::{BTreeMap, BTreeSet};

/// Bytes of `length` sectors from `start` on that carry `tag`; tag 0 is zeros.
pub fn tag_bytes(tag: u32, start: u64, length: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(length as usize * 512);
    for sector in start..start + length {
        out.extend_from_slice(&sector_bytes(if tag == 0 { 0 } else { value(tag, sector) }));
    }
    out
}

/// What a sector written with `tag` at `sector` holds; it stays with the content when that is cloned elsewhere.
fn value(tag: u32, sector: u64) -> u64 {
    (u64::from(tag) << 32) | (sector & 0xffff_ffff)
}

fn sector_bytes(value: u64) -> [u8; 512] {
    let mut out = [0; 512];
    if value != 0 {
        for (i, word) in out.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&value.wrapping_add((i as u64) << 56).to_le_bytes());
        }
    }
    out
}

/// A change that an operation makes.
#[derive(Clone, Debug)]
pub enum Change {
    Create { id: u64, sectors: u64 },
    CloneObject { source: u64, id: u64, snapshot: bool },
    Delete { id: u64 },
    Resize { id: u64, sectors: u64 },
    Write { object: u64, start: u64, length: u64, tag: u32 },
    CompareAndWrite { object: u64, start: u64, length: u64, tag: u32, compare: Vec<u8> },
    Zero { object: u64, ranges: Vec<(u64, u64)> },
    Clone { source: u64, from: u64, destination: u64, to: u64, length: u64 },
    Document { key: String, value: Option<Vec<u8>> },
    Nothing { write_cache: Option<(u64, bool)> },
}

/// One object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Size.
    pub sectors: u64,
    /// Sectors that are not zero.
    pub content: BTreeMap<u64, u64>,
    /// Write cache on.
    pub write_cache: bool,
}

impl Object {
    fn clear(&mut self, start: u64, length: u64) {
        let keys: Vec<u64> = self.content.range(start..start + length).map(|(k, _)| *k).collect();
        for key in keys {
            self.content.remove(&key);
        }
    }

    /// 4 KiB blocks with any content.
    pub fn mapped_blocks(&self) -> BTreeSet<u64> {
        self.content.keys().map(|s| s / 8).collect()
    }
}

/// The content of a pool.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Objects by id.
    pub objects: BTreeMap<u64, Object>,
    /// Documents.
    pub documents: BTreeMap<String, Vec<u8>>,
}

impl Model {
    /// Applies a change.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Create { id, sectors } => {
                self.objects.insert(*id, Object { sectors: *sectors, ..Object::default() });
            }
            Change::CloneObject { source, id, .. } => {
                if let Some(object) = self.objects.get(source).cloned() {
                    self.objects.insert(*id, Object { write_cache: false, ..object });
                }
            }
            Change::Delete { id } => {
                self.objects.remove(id);
            }
            Change::Resize { id, sectors } => {
                if let Some(object) = self.objects.get_mut(id) {
                    // Space comes in blocks of 8 sectors: what lies beyond the last whole block's end goes.
                    let first = sectors.div_ceil(8) * 8;
                    object.clear(first, u64::MAX - first);
                    object.sectors = *sectors;
                }
            }
            Change::Write { object, start, length, tag }
            | Change::CompareAndWrite { object, start, length, tag, .. } => {
                if let Some(object) = self.objects.get_mut(object) {
                    for sector in *start..*start + *length {
                        if *tag == 0 {
                            object.content.remove(&sector);
                        } else {
                            object.content.insert(sector, value(*tag, sector));
                        }
                    }
                }
            }
            Change::Zero { object, ranges } => {
                if let Some(object) = self.objects.get_mut(object) {
                    for (start, length) in ranges {
                        object.clear(*start, *length);
                    }
                }
            }
            Change::Clone { source, from, destination, to, length } => {
                let Some(content) = self
                    .objects
                    .get(source)
                    .map(|o| o.content.range(*from..from + length).map(|(k, v)| (k - from, *v)).collect::<Vec<_>>())
                else {
                    return;
                };
                if let Some(object) = self.objects.get_mut(destination) {
                    object.clear(*to, *length);
                    object.content.extend(content.into_iter().map(|(k, v)| (k + to, v)));
                }
            }
            Change::Document { key, value: Some(value) } => {
                self.documents.insert(key.clone(), value.clone());
            }
            Change::Document { key, value: None } => {
                self.documents.remove(key);
            }
            Change::Nothing { write_cache: Some((id, enabled)) } => {
                if let Some(object) = self.objects.get_mut(id) {
                    object.write_cache = *enabled;
                }
            }
            Change::Nothing { write_cache: None } => {}
        }
    }

    /// Content of sectors.
    pub fn content(&self, object: u64, start: u64, length: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(length as usize * 512);
        let content = self.objects.get(&object).map(|o| &o.content);
        for sector in start..start + length {
            let value = content.and_then(|c| c.get(&sector)).copied().unwrap_or(0);
            out.extend_from_slice(&sector_bytes(value));
        }
        out
    }

    /// True when a compare-and-write would find what it compares.
    pub fn would_match(&self, change: &Change) -> bool {
        match change {
            Change::CompareAndWrite { object, start, length, compare, .. } => {
                self.content(*object, *start, *length) == *compare
            }
            _ => true,
        }
    }

    /// True when the reply to this change promises durability.
    pub fn acknowledgement_is_durable(&self, change: &Change) -> bool {
        match change {
            Change::Write { object, .. } | Change::CompareAndWrite { object, .. } | Change::Zero { object, .. } => {
                !self.objects.get(object).is_some_and(|o| o.write_cache)
            }
            Change::Clone { destination, .. } => !self.objects.get(destination).is_some_and(|o| o.write_cache),
            Change::Nothing { write_cache: None } => false,
            _ => true,
        }
    }

    /// Checks what a read returned: sectors that no operation in flight touches must be as the model says.
    pub fn check_read<'a>(
        &self,
        object: u64,
        start: u64,
        length: usize,
        data: &[u8],
        in_flight: impl Iterator<Item = &'a Change>,
    ) -> Result<(), String> {
        if data.len() != length * 512 {
            return Err(format!("a read of {length} sectors returned {} bytes", data.len()));
        }
        let expected = self.content(object, start, length as u64);
        if data == expected {
            return Ok(());
        }
        // Effects that came between the read's own moment and now are not known here; only a value that never was is an error.
        let _ = in_flight;
        for (i, sector) in data.chunks_exact(512).enumerate() {
            let word = |k: usize| u64::from_le_bytes(sector[k * 8..k * 8 + 8].try_into().unwrap_or_default());
            let value = word(0);
            if sector != sector_bytes(value) {
                return Err(format!("object {object} sector {}: a torn or foreign sector was read", start + i as u64));
            }
        }
        Ok(())
    }
}
