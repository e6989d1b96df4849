//! Entries of a directory: a B+-tree of nodes in the directory's region (`layout::nodes`), ordered by a keyed hash of
//! the names. Keys are the cookies of a listing: an entry keeps its key for its life.

mod insert;
mod nodes;
mod read;
mod remove;

pub(crate) use read::Found;

use crate::layout::address::Region;
use crate::layout::nodes::{Head, Header};
use crate::share::Share;
use siphasher::sip::SipHasher24;
use vfs::{FileId, FsError};

/// Names of one hash value in a directory.
pub(crate) const COLLISIONS: u64 = 256;

/// First key of a name: its hash, with a number of 0 among equal ones.
pub(crate) fn first_key(hash_key: &[u8; 16], name: &[u8]) -> u64 {
    let hash = SipHasher24::new_with_key(hash_key).hash(name) >> 9;
    hash.max(1) << 8
}

/// Tree of one directory in an attempt.
pub(crate) struct Tree<'s, 'v> {
    share: &'s mut Share<'v>,
    directory: FileId,
    /// Region of the nodes; `None` before the first entry.
    region: Option<Region>,
    /// What the header says, when it was read: `None` inside for a tree of one leaf, or none.
    head: Option<Option<Head>>,
    /// Header, when it was read to be changed.
    header: Option<Header>,
}

impl<'s, 'v> Tree<'s, 'v> {
    pub(crate) const fn new(share: &'s mut Share<'v>, directory: FileId, region: Option<Region>) -> Self {
        Self { share, directory, region, head: None, header: None }
    }

    /// Region after changes.
    pub(crate) const fn region(&self) -> Option<Region> {
        self.region
    }

    fn damage(&self) -> FsError {
        crate::halt::damaged(self.directory)
    }
}

#[cfg(test)]
mod tests;
