//! Content of one block, shared by all that refer to it: the cache, a write of it to its place, and
//! the replies to reads, which lend it instead of copying it.

use bytes::Bytes;
use media::BLOCK_BYTES;
use std::ops::Deref;
use std::sync::Arc;

/// Shared content of one block.
#[derive(Clone, Debug)]
pub struct Data(Arc<[u8; BLOCK_BYTES]>);

impl Data {
    /// Content in memory of its own.
    pub fn copy_of(content: &[u8; BLOCK_BYTES]) -> Self {
        Self(Arc::new(*content))
    }

    /// The content for a change, if nothing else refers to it.
    pub fn get_mut(&mut self) -> Option<&mut [u8; BLOCK_BYTES]> {
        Arc::get_mut(&mut self.0)
    }

    /// The content for a change; copied first if something else refers to it.
    pub fn make_mut(&mut self) -> &mut [u8; BLOCK_BYTES] {
        Arc::make_mut(&mut self.0)
    }

    /// True if nothing else refers to the content.
    pub fn is_unshared(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// The content as bytes, without a copy.
    pub fn lend(self) -> Bytes {
        Bytes::from_owner(Lent(self))
    }
}

impl Deref for Data {
    type Target = [u8; BLOCK_BYTES];

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

struct Lent(Data);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.0[..]
    }
}
