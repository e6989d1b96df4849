//! Share reservations, as protocols without an open meet them: the denials of NFSv4 opens (RFC 8881 §9.7).

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
}

impl<O: Opens> Opens for Rc<O> {
    fn denies(&self, object: u64, file: FileId, access: Access) -> bool {
        O::denies(self, object, file, access)
    }
}

/// Server without a protocol that opens files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOpens;

impl Opens for NoOpens {
    fn denies(&self, _: u64, _: FileId, _: Access) -> bool {
        false
    }
}
