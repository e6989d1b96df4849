//! State of NFSv4 clients, as protocols without an open meet it: the denials of opens (RFC 8881 §9.7), and opens that
//! may be reclaimed after a restart (RFC 8881 §8.4.2).

use std::rc::Rc;
use vfs::FileId;

/// Access of a call to the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads content.
    Read,
    /// Changes content or size.
    Write,
}

/// Files that are open.
pub trait Opens {
    /// Whether an open of the file, in the share with that object, denies the access to others.
    fn denies(&self, object: u64, file: FileId, access: Access) -> bool;

    /// Whether a name of the regular file, in the share with that object, may be removed or replaced. Not while an open
    /// denies writing, nor in the grace period: a file without holds would be deleted before its owner reclaims it.
    fn permits_removal(&self, object: u64, file: FileId) -> bool;
}

impl<O: Opens> Opens for Rc<O> {
    fn denies(&self, object: u64, file: FileId, access: Access) -> bool {
        O::denies(self, object, file, access)
    }

    fn permits_removal(&self, object: u64, file: FileId) -> bool {
        O::permits_removal(self, object, file)
    }
}

/// Server without a protocol that opens files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOpens;

impl Opens for NoOpens {
    fn denies(&self, _: u64, _: FileId, _: Access) -> bool {
        false
    }

    fn permits_removal(&self, _: u64, _: FileId) -> bool {
        true
    }
}
