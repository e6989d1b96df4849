//! Memory of kept replies: one budget, of which a client gets at most a quarter.

use nfs::v4::Status;

use crate::table::Key;

/// Part of the budget that one client may use: one in so many.
const SHARE: u64 = 4;

/// What keeps a reply from being kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// The part of its client is used up.
    OfClient,
    /// The budget is used up.
    OfAll,
}

#[derive(Debug)]
pub(super) struct Replies {
    limit_bytes: u64,
    used_bytes: u64,
    /// By index of the client.
    of_client: Vec<u64>,
}

impl Replies {
    pub(super) const fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, used_bytes: 0, of_client: Vec::new() }
    }

    pub(super) const fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Whether clients should use fewer slots.
    pub(super) const fn is_short(&self) -> bool {
        self.used_bytes > self.limit_bytes / 2
    }

    fn of(&mut self, client: Key) -> &mut u64 {
        let index = client.index as usize;
        if self.of_client.len() <= index {
            self.of_client.resize(index + 1, 0);
        }
        &mut self.of_client[index]
    }

    /// Why bytes cannot be taken for others that are freed. What does not grow is always granted.
    pub(super) fn shortage(&self, client: Key, freed: u64, taken: u64) -> Option<Shortage> {
        let own = self.of_client.get(client.index as usize).copied().unwrap_or(0);
        if taken <= freed {
            None
        } else if own - freed + taken > self.limit_bytes / SHARE {
            Some(Shortage::OfClient)
        } else if self.used_bytes - freed + taken > self.limit_bytes {
            Some(Shortage::OfAll)
        } else {
            None
        }
    }

    /// Frees some bytes and takes others; `DELAY` if there are too few.
    pub(super) fn exchange(&mut self, client: Key, freed: u64, taken: u64) -> Result<(), Status> {
        if self.shortage(client, freed, taken).is_some() {
            return Err(Status::DELAY);
        }
        self.settle(client, freed, taken);
        Ok(())
    }

    /// Replaces reserved bytes by those that are kept.
    pub(super) fn settle(&mut self, client: Key, reserved: u64, kept: u64) {
        self.used_bytes = self.used_bytes - reserved + kept;
        let own = self.of(client);
        *own = *own - reserved + kept;
    }

    pub(super) fn free(&mut self, client: Key, bytes: u64) {
        self.settle(client, bytes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Key = Key { index: 0, generation: 1 };
    const TWO: Key = Key { index: 5, generation: 1 };

    #[test]
    fn a_client_gets_a_quarter_and_all_get_the_budget() {
        let mut replies = Replies::new(400);
        assert_eq!(replies.exchange(ONE, 0, 100), Ok(()));
        assert_eq!(replies.exchange(ONE, 0, 1), Err(Status::DELAY));
        assert_eq!(replies.shortage(ONE, 0, 1), Some(Shortage::OfClient));
        assert_eq!(replies.exchange(ONE, 100, 100), Ok(()));
        assert_eq!((replies.exchange(TWO, 0, 100), replies.is_short()), (Ok(()), false));
        for index in 6..8 {
            assert_eq!(replies.exchange(Key { index, generation: 1 }, 0, 100), Ok(()));
        }
        assert!(replies.is_short());
        assert_eq!(replies.exchange(Key { index: 9, generation: 1 }, 0, 1), Err(Status::DELAY));
        assert_eq!(replies.shortage(Key { index: 9, generation: 1 }, 0, 1), Some(Shortage::OfAll));
        replies.settle(TWO, 100, 30);
        assert_eq!((replies.used_bytes(), replies.exchange(Key { index: 9, generation: 1 }, 0, 70)), (330, Ok(())));
    }
}
