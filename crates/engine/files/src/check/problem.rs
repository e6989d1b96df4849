//! Problems that a check reports.

use std::fmt;
use thiserror::Error;
use vfs::{FileId, Kind};

/// Something that is wrong in a share.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Problem {
    /// The super block cannot be read; nothing else was checked.
    #[error("the super block is damaged")]
    SuperBlock,
    /// A block cannot be read, or its content makes no sense.
    #[error("{what} cannot be read")]
    Unreadable {
        /// Part of the file.
        what: &'static str,
    },
    /// A field of an inode has a value that it cannot have.
    #[error("the inode has a wrong {field}")]
    Field {
        /// The field.
        field: &'static str,
    },
    /// Two files have one region.
    #[error("file {} has the same region", other.0)]
    RegionShared {
        /// The other file.
        other: FileId,
    },
    /// A region is used, and its bitmap does not say so.
    #[error("its region is not marked as used")]
    RegionUnmarked,
    /// A bitmap marks a region that no file uses.
    #[error("region {number} of class {class} is marked as used by no file")]
    RegionLeaked {
        /// Class.
        class: u8,
        /// Number in the class.
        number: u64,
    },
    /// A block is mapped that belongs to nothing.
    #[error("block {block:#x} is mapped and belongs to nothing")]
    Stray {
        /// The block.
        block: u64,
    },
    /// Content behind the end of the file.
    #[error("there is content behind the end")]
    BehindTheEnd,
    /// An allocation behind the end of the file.
    #[error("there are allocations behind the end")]
    AllocationBehindTheEnd,
    /// The extended attributes make no sense.
    #[error("the extended attributes are damaged")]
    Xattrs,
    /// A node of a directory is not what its parent says.
    #[error("node {node} of the directory is damaged")]
    Node {
        /// The node.
        node: u32,
    },
    /// The header of a directory counts other nodes than there are.
    #[error("the directory's nodes are not those that its header says")]
    Nodes,
    /// An entry has a key that does not belong to its name.
    #[error("the entry {name:?} has a wrong key")]
    EntryKey {
        /// Its name.
        name: String,
    },
    /// Two entries have one name.
    #[error("the entry {name:?} exists twice")]
    EntryTwice {
        /// Their name.
        name: String,
    },
    /// An entry leads to no file of its kind.
    #[error("the entry {name:?} leads to no file of its kind (number {})", file.0)]
    EntryOfNothing {
        /// Its name.
        name: String,
        /// The number that it has.
        file: FileId,
    },
    /// The inode of a directory counts other entries than there are.
    #[error("the directory has {found} entries and counts {stored}")]
    Entries {
        /// As stored.
        stored: u64,
        /// As found.
        found: u64,
    },
    /// An inode counts other links than there are.
    #[error("the file has {found} links and counts {stored}")]
    Links {
        /// As stored.
        stored: u32,
        /// As found.
        found: u32,
    },
    /// A directory has another parent than it says.
    #[error("the directory has another parent than it says")]
    Parent,
    /// No name leads to a file.
    #[error("no name leads to {0}")]
    Unreachable(Kind),
}

/// A problem, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path of the file from the root, or what is known of it; `/` for the share as a whole.
    pub path: String,
    /// The problem.
    pub problem: Problem,
}

impl fmt::Display for Finding {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.path, self.problem)
    }
}
