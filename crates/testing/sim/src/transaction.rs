//! Transactions of a run: their changes, their execution through a view of the engine, and what the model
//! makes of them.

use crate::model::{BLOCK_SECTORS, Model, Object, Undo, bytes_of, value};
use crate::step::{Catalog, Pattern, Request};
use bytes::Bytes;
use pool::{BlockNumber, BlockRange, ByteRange, Missing, ObjectId, Outcome, View};
use std::fmt;

/// One change of a transaction, or a look at the content after the changes before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Looks at a sector.
    Look { object: u64, sector: u64 },
    /// Writes content that belongs to `tag`.
    Write { object: u64, start: u64, length: u64, tag: u32, pattern: Pattern },
    /// Changes sectors of one block in place.
    Edit { object: u64, start: u64, length: u64, tag: u32 },
    /// Makes sectors zero.
    Zero { object: u64, start: u64, length: u64 },
    /// Shares blocks.
    Clone { source: u64, from: u64, destination: u64, to: u64, blocks: u64 },
    /// Promises space for blocks of an address space.
    Allot { object: u64, first: u64, blocks: u64 },
    /// Ends the promises for blocks of an address space.
    Release { object: u64, first: u64, blocks: u64 },
}

/// What a transaction returns: whether it took effect, and the sectors that it has seen.
pub(crate) type Seen = (bool, Vec<Vec<u8>>);

/// Runs an attempt. `picky`: nothing changes unless the first sector that it looks at has an odd tag.
pub(crate) fn attempt(changes: &[Change], picky: bool, view: &mut View<'_>) -> Result<Outcome<Seen>, Missing> {
    let mut seen = Vec::new();
    for change in changes {
        match change {
            Change::Look { object, sector } => {
                let block = view.block(ObjectId(*object), BlockNumber::new(sector / BLOCK_SECTORS))?;
                let at = (sector % BLOCK_SECTORS) as usize * 512;
                seen.push(block[at..at + 512].to_vec());
            }
            Change::Write { object, start, length, tag, pattern } => {
                view.write(ObjectId(*object), start * 512, content(*start, *length, *tag, *pattern))?;
            }
            Change::Edit { object, start, length, tag } => {
                let at = (start % BLOCK_SECTORS) as usize * 512;
                let block = BlockNumber::new(start / BLOCK_SECTORS);
                let bytes = view.edit(ObjectId(*object), block, at..at + *length as usize * 512)?;
                bytes.copy_from_slice(&content(*start, *length, *tag, Pattern::Data));
            }
            Change::Zero { object, start, length } => {
                view.zero(ObjectId(*object), ByteRange::new(start * 512, length * 512))?;
            }
            Change::Clone { source, from, destination, to, blocks } => {
                let (from, to) = (BlockNumber::new(*from), BlockNumber::new(*to));
                view.clone_blocks((ObjectId(*source), from), (ObjectId(*destination), to), *blocks)?;
            }
            Change::Allot { object, first, blocks } => {
                view.allot(ObjectId(*object), BlockRange::new(BlockNumber::new(*first), *blocks))?;
            }
            Change::Release { object, first, blocks } => {
                view.release(ObjectId(*object), BlockRange::new(BlockNumber::new(*first), *blocks))?;
            }
        }
    }
    let refused = picky && seen.first().is_some_and(|sector| !is_odd(sector));
    Ok(if refused { Outcome::Nothing((false, seen)) } else { Outcome::Commit((true, seen)) })
}

fn content(start: u64, length: u64, tag: u32, pattern: Pattern) -> Bytes {
    Bytes::from(bytes_of((0..length as usize).map(|i| value(tag, pattern, start + i as u64))))
}

/// Whether the content of a sector has an odd tag.
fn is_odd(sector: &[u8]) -> bool {
    sector.get(4).is_some_and(|byte| byte % 2 == 1)
}

impl Model {
    /// Whether each change is inside of objects that can change.
    pub(crate) fn takes(&self, changes: &[Change]) -> bool {
        let inside = |id: &u64, start: u64, length: u64| {
            self.objects.get(id).is_some_and(|object| start + length <= object.sectors)
        };
        let writable = |id: &u64| self.objects.get(id).is_some_and(Object::takes_writes);
        changes.iter().all(|change| match change {
            Change::Look { object, sector } => inside(object, *sector, 1),
            Change::Write { object, start, length, .. }
            | Change::Edit { object, start, length, .. }
            | Change::Zero { object, start, length } => writable(object) && inside(object, *start, *length),
            Change::Clone { source, from, destination, to, blocks } => {
                writable(destination)
                    && inside(source, from * BLOCK_SECTORS, blocks * BLOCK_SECTORS)
                    && inside(destination, to * BLOCK_SECTORS, blocks * BLOCK_SECTORS)
            }
            Change::Allot { object, first, blocks } | Change::Release { object, first, blocks } => {
                writable(object) && inside(object, first * BLOCK_SECTORS, blocks * BLOCK_SECTORS)
            }
        })
    }

    /// Whether a request concerns an object with a ceiling.
    pub(crate) fn has_ceiling(&self, request: &Request) -> bool {
        let limited = |id: &u64| self.objects.get(id).is_some_and(|object| object.ceiling.is_some());
        match request {
            Request::Transaction { changes, .. } => changes.iter().any(|change| match change {
                Change::Look { .. } => false,
                Change::Clone { source, destination, .. } => limited(source) || limited(destination),
                Change::Write { object, .. }
                | Change::Edit { object, .. }
                | Change::Zero { object, .. }
                | Change::Allot { object, .. }
                | Change::Release { object, .. } => limited(object),
            }),
            Request::Catalog(changes) => changes.iter().any(|change| match change {
                Catalog::Clone { source, .. } => limited(source),
                Catalog::Rollback { id, .. } => limited(id),
                _ => false,
            }),
            _ => false,
        }
    }

    /// Whether all changes are writes of content into blocks that are allotted, and looks.
    pub(crate) fn has_promised(&self, changes: &[Change]) -> bool {
        let writes = |change: &&Change| matches!(change, Change::Write { .. } | Change::Edit { .. });
        let promised = |change: &Change| match change {
            Change::Write { object, start, length, .. } | Change::Edit { object, start, length, .. } => {
                self.objects.get(object).is_some_and(|object| object.is_allotted(*start, *length))
            }
            Change::Look { .. } => true,
            _ => false,
        };
        changes.iter().any(|change| writes(&change)) && changes.iter().all(promised)
    }

    /// Applies a transaction that has returned `seen`; compares what it saw and decided.
    pub(crate) fn apply_transaction(
        &mut self,
        changes: &[Change],
        picky: bool,
        (committed, seen): &Seen,
        undo: &mut Vec<Undo>,
    ) -> Result<(), String> {
        let mut looks = seen.iter();
        let mut first = None;
        for change in changes {
            let Change::Look { object, sector } = change else {
                self.apply_change(change, undo);
                continue;
            };
            let expected = bytes_of(self.values(*object, *sector, 1).into_iter());
            if looks.next() != Some(&expected) {
                return Err(format!("a transaction saw something else in sector {sector} of object {object}"));
            }
            first.get_or_insert(expected);
        }
        let refused = picky && first.is_some_and(|sector| !is_odd(&sector));
        if *committed == refused {
            return Err("a transaction decided otherwise".into());
        }
        if refused {
            self.undo(std::mem::take(undo));
        }
        Ok(())
    }
}

impl Change {
    /// Object whose content it changes.
    pub(crate) fn changed(&self) -> Option<u64> {
        match self {
            Self::Look { .. } | Self::Allot { .. } | Self::Release { .. } => None,
            Self::Write { object, .. } | Self::Edit { object, .. } | Self::Zero { object, .. } => Some(*object),
            Self::Clone { destination, .. } => Some(*destination),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Look { object, sector } => write!(f, "look at object {object} sector {sector}"),
            Self::Write { object, start, length, tag, pattern } => {
                write!(f, "write object {object} sectors {start}+{length} {pattern:?} {tag}")
            }
            Self::Edit { object, start, length, tag } => {
                write!(f, "edit object {object} sectors {start}+{length} content {tag}")
            }
            Self::Zero { object, start, length } => write!(f, "zero object {object} sectors {start}+{length}"),
            Self::Clone { source, from, destination, to, blocks } => {
                write!(f, "clone object {source} blocks {from}+{blocks} to object {destination} block {to}")
            }
            Self::Allot { object, first, blocks } => write!(f, "allot object {object} blocks {first}+{blocks}"),
            Self::Release { object, first, blocks } => write!(f, "release object {object} blocks {first}+{blocks}"),
        }
    }
}
