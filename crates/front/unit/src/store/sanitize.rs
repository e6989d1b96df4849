//! Stored form of a sanitize operation.

use block::LOGICAL_BLOCK_BYTES;

/// Method of making content unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SanitizeMethod {
    /// Deallocates all blocks.
    BlockErase,
    /// Writes a pattern over all blocks.
    Overwrite {
        /// Write passes, 1 to 31.
        count: u8,
        /// Inverts the pattern from pass to pass.
        invert: bool,
        /// Pattern, repeated in each logical block; at most as long as one.
        pattern: Vec<u8>,
    },
}

/// Stored form of a sanitize operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedSanitize {
    /// Method.
    pub method: SanitizeMethod,
    /// Whether a client may end a failure (AUSE, EXIT FAILURE MODE). Otherwise only a later
    /// operation that succeeds ends it.
    pub unrestricted_exit: bool,
    /// Reason of the failure; `None`: the operation has to be run from the start.
    pub failed: Option<String>,
    /// Name of the client that begins the operation now; absent later and after a restart. For the
    /// report of the begin, not to be stored.
    pub client: Option<String>,
}

impl SanitizeMethod {
    /// Content of `bytes` bytes, a multiple of a logical block, in pass number `pass` (from 0). The
    /// last pass is never inverted. Zeros for a block erase.
    pub(crate) fn content(&self, pass: u8, bytes: usize) -> Vec<u8> {
        let Self::Overwrite { count, invert, pattern } = self else { return vec![0; bytes] };
        let inverted = *invert && count.saturating_sub(1).saturating_sub(pass) % 2 == 1;
        let mask = if inverted { 0xff } else { 0 };
        let block_bytes = LOGICAL_BLOCK_BYTES as usize;
        let block: Vec<u8> = pattern.iter().cycle().take(block_bytes).map(|byte| byte ^ mask).collect();
        block.iter().copied().cycle().take(bytes).collect()
    }
}
