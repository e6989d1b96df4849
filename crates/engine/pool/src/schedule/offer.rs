//! Space that the pool's owner offers to free when operations of hosts find none.

/// Offer of the owner, and whether an operation waits for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offer {
    is_made: bool,
    is_wanted: bool,
}

impl Offer {
    /// Makes or withdraws the offer.
    pub fn set(&mut self, is_made: bool) {
        self.is_made = is_made;
    }

    /// True if the owner can free space.
    pub fn is_made(self) -> bool {
        self.is_made
    }

    /// Notes that an operation would fail without the offer.
    pub fn note_wanted(&mut self) {
        self.is_wanted = true;
    }

    /// True if an operation has waited for the offer since the last call.
    pub fn take_wanted(&mut self) -> bool {
        std::mem::take(&mut self.is_wanted)
    }
}
