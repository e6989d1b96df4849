//! The ROD tokens of the copy manager (SPC-4 §5.16.6).
//!
//! A token represents data as it was when POPULATE TOKEN was executed: its ranges are captured in a
//! device of their own, by sharing blocks.
//!
//! * A token cannot be forged: it carries an HMAC-SHA-256 over its other bytes, with a key that is
//!   new for every run of the array, and is also looked up. Tokens therefore end with the run that
//!   created them.
//! * It belongs to the initiator (iSCSI name) that created it; other initiators cannot use it. A
//!   nexus would be too narrow: with multipath the commands of a host arrive through several I_T
//!   nexuses.
//! * The initiator still has to see the source when it uses the token, and the source has to exist.
//! * It expires when no command has used it for its inactivity timeout, and at the end of its
//!   lifetime.
//! * All tokens together hold no more than the pool has free: the oldest are cancelled.

use crate::limits::TokenLimits;
use crate::sense::{Fault, TokenFault};
use block::{BlockDevice, Extent, VolumeId};
use hmac::{Hmac, Mac};
use scsi::rod_token::{RodToken, RodType, TOKEN_BYTES, TOKEN_LENGTH};
use sha2::Sha256;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// Ended tokens whose reason is remembered; older ones are unknown.
const REMEMBERED: usize = 1024;
const NS_PER_S: u64 = 1_000_000_000;

/// Captured device, discarded when its last user drops it.
struct Captured<D> {
    device: D,
    discard: fn(&D),
}

impl<D> Drop for Captured<D> {
    fn drop(&mut self) {
        (self.discard)(&self.device);
    }
}

/// Token with the data that it represents.
pub(crate) struct Token<D> {
    serial: u32,
    bytes: [u8; TOKEN_BYTES],
    initiator: Arc<str>,
    pub source: VolumeId,
    /// Ranges of the ROD, in order.
    ranges: Vec<Extent>,
    pub blocks: u64,
    captured: Captured<D>,
    timeout_ns: u64,
    ends_ns: u64,
    used_ns: Cell<u64>,
    /// Commands that are using the token.
    users: Cell<usize>,
}

/// Token in use by a command; the token is not inactive meanwhile.
pub(crate) struct InUse<D>(Rc<Token<D>>);

impl<D> InUse<D> {
    fn new(token: Rc<Token<D>>) -> Self {
        token.users.set(token.users.get() + 1);
        Self(token)
    }
}

impl<D> Deref for InUse<D> {
    type Target = Token<D>;

    fn deref(&self) -> &Token<D> {
        &self.0
    }
}

impl<D> Drop for InUse<D> {
    fn drop(&mut self) {
        self.0.users.set(self.0.users.get().saturating_sub(1));
    }
}

impl<D> Token<D> {
    /// Token in the form that the initiator receives.
    pub fn bytes(&self) -> &[u8; TOKEN_BYTES] {
        &self.bytes
    }

    /// Device that holds the data, at the same addresses as in the source.
    pub fn device(&self) -> &D {
        &self.captured.device
    }

    /// Longest run of the ROD from `offset` on, at most `count` blocks, as addresses in the device;
    /// `None` beyond the end.
    pub fn run(&self, offset: u64, count: u64) -> Option<Extent> {
        let mut start = 0;
        for range in &self.ranges {
            if offset < start + range.count {
                let skipped = offset - start;
                return Some(Extent::new(range.lba.0 + skipped, (range.count - skipped).min(count)));
            }
            start += range.count;
        }
        None
    }

    fn is_expired(&self, now_ns: u64) -> bool {
        let inactive = self.users.get() == 0 && now_ns.saturating_sub(self.used_ns.get()) >= self.timeout_ns;
        inactive || now_ns >= self.ends_ns
    }
}

/// Arguments of [`Tokens::make`].
pub(crate) struct NewToken<D> {
    pub initiator: Arc<str>,
    pub source: VolumeId,
    pub naa: [u8; 16],
    pub ranges: Vec<Extent>,
    pub device: D,
    pub timeout_s: u32,
}

/// Tokens of one run of the array.
pub(crate) struct Tokens<D> {
    key: [u8; 32],
    run: u32,
    next: Cell<u32>,
    live: RefCell<BTreeMap<u32, Rc<Token<D>>>>,
    ended: RefCell<VecDeque<(u32, Arc<str>, TokenFault)>>,
}

impl<D> Tokens<D> {
    /// `key`: random, and new for every run.
    pub fn new(key: [u8; 32]) -> Self {
        let mut tokens = Self { key, run: 0, next: Cell::new(1), live: RefCell::default(), ended: RefCell::default() };
        let run = tokens.mac(b"run").finalize().into_bytes();
        tokens.run = run.iter().take(4).fold(0, |run, byte| run << 8 | u32::from(*byte));
        tokens
    }

    fn mac(&self, bytes: &[u8]) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("any length is fine");
        mac.update(bytes);
        mac
    }

    /// Checks whether the initiator may have another token.
    pub fn check_room(&self, initiator: &str, limits: &TokenLimits) -> Result<(), Fault> {
        let live = self.live.borrow();
        let own = live.values().filter(|token| &*token.initiator == initiator).count();
        if live.len() >= limits.total || own >= limits.of_initiator { Err(Fault::NoResourcesForToken) } else { Ok(()) }
    }

    /// Finds the token in a parameter list that an initiator sent, and records its use.
    pub fn find(&self, bytes: &[u8; TOKEN_BYTES], initiator: &str, now_ns: u64) -> Result<InUse<D>, TokenFault> {
        let token = RodToken::decode(bytes);
        if token.rod_type.get() != RodType::POINT_IN_TIME.0 {
            return Err(TokenFault::UnsupportedType);
        }
        if token.length.get() != TOKEN_LENGTH {
            return Err(TokenFault::InvalidLength);
        }
        if token.run.get() != self.run {
            return Err(TokenFault::Unknown);
        }
        // Comparison in constant time.
        self.mac(token.authenticated()).verify_slice(&token.authenticator).map_err(|_| TokenFault::Corrupt)?;
        let serial = token.serial.get();
        let found = self.live.borrow().get(&serial).cloned();
        let Some(found) = found else {
            let ended = self.ended.borrow();
            let end = ended.iter().find(|(ended, owner, _)| *ended == serial && &**owner == initiator);
            return Err(end.map_or(TokenFault::Unknown, |(_, _, why)| *why));
        };
        if &*found.initiator != initiator {
            return Err(TokenFault::Unknown);
        }
        if found.is_expired(now_ns) {
            self.end(serial, TokenFault::Expired);
            return Err(TokenFault::Expired);
        }
        found.used_ns.set(now_ns);
        Ok(InUse::new(found))
    }

    /// Records the use of a token.
    pub fn touch(&self, token: &Token<D>, now_ns: u64) {
        token.used_ns.set(now_ns);
    }

    /// Ends a token. Commands that are using it continue.
    pub fn delete(&self, token: &Token<D>) {
        self.end(token.serial, TokenFault::Deleted);
    }

    /// Ends a token that was not returned to the initiator yet.
    pub fn cancel(&self, token: &Token<D>) {
        self.end(token.serial, TokenFault::Cancelled);
    }

    fn end(&self, serial: u32, why: TokenFault) {
        let ended = self.live.borrow_mut().remove(&serial);
        if let Some(token) = ended {
            let mut remembered = self.ended.borrow_mut();
            remembered.push_back((serial, Arc::clone(&token.initiator), why));
            if remembered.len() > REMEMBERED {
                remembered.pop_front();
            }
        }
    }

    fn end_where(&self, why: TokenFault, wanted: impl Fn(&Token<D>) -> bool) {
        let serials: Vec<u32> =
            self.live.borrow().values().filter(|token| wanted(token)).map(|token| token.serial).collect();
        for serial in serials {
            self.end(serial, why);
        }
    }

    /// Cancels the tokens of a deleted or sanitized source.
    pub fn cancel_of(&self, source: VolumeId) {
        self.end_where(TokenFault::Cancelled, |token| token.source == source);
    }

    /// Ends the tokens that have expired.
    pub fn expire(&self, now_ns: u64) {
        self.end_where(TokenFault::Expired, |token| token.is_expired(now_ns));
    }

    /// Tokens of an initiator, oldest first.
    pub fn of_initiator(&self, initiator: &str) -> Vec<Rc<Token<D>>> {
        self.live.borrow().values().filter(|token| &*token.initiator == initiator).cloned().collect()
    }

    /// Number of live tokens.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.live.borrow().len()
    }
}

impl<D: BlockDevice> Tokens<D> {
    /// Creates a token for captured ranges. `Fault::NoResourcesForRod` when all tokens together
    /// would hold more than the pool has free.
    pub fn make(&self, new: NewToken<D>, limits: &TokenLimits, now_ns: u64) -> Result<Rc<Token<D>>, Fault> {
        let captured = Captured { device: new.device, discard: D::discard };
        self.check_room(&new.initiator, limits)?;
        let resources = captured.device.mapping_resources();
        if self.held_bytes().saturating_add(resources.used_bytes) > resources.available_bytes {
            return Err(Fault::NoResourcesForRod);
        }
        let serial = self.next.get();
        // Serial numbers are not reused: after 2³² tokens of one run there are no more.
        self.next.set(serial.checked_add(1).ok_or(Fault::NoResourcesForToken)?);
        let blocks: u64 = new.ranges.iter().map(|range| range.count).sum();
        let mut token =
            RodToken::point_in_time(self.run, serial, &new.naa, blocks * u64::from(block::LOGICAL_BLOCK_BYTES));
        token.authenticator = self.mac(token.authenticated()).finalize().into_bytes().into();
        let token = Rc::new(Token {
            serial,
            bytes: token.encode(),
            initiator: new.initiator,
            source: new.source,
            ranges: new.ranges,
            blocks,
            captured,
            timeout_ns: u64::from(new.timeout_s) * NS_PER_S,
            ends_ns: now_ns.saturating_add(u64::from(limits.lifetime_s) * NS_PER_S),
            used_ns: Cell::new(now_ns),
            users: Cell::new(0),
        });
        self.live.borrow_mut().insert(serial, Rc::clone(&token));
        Ok(token)
    }

    /// Upper bound of the bytes that the tokens keep from being freed.
    fn held_bytes(&self) -> u64 {
        self.live.borrow().values().map(|token| token.device().mapping_resources().used_bytes).sum()
    }

    /// Cancels the oldest tokens while they hold more than the pool has free.
    pub fn cancel_oldest_above_free_space(&self) {
        let mut held = self.held_bytes();
        loop {
            let oldest = self.live.borrow().values().next().cloned();
            let Some(oldest) = oldest else { return };
            let resources = oldest.device().mapping_resources();
            if held <= resources.available_bytes {
                return;
            }
            held = held.saturating_sub(resources.used_bytes);
            self.end(oldest.serial, TokenFault::Cancelled);
        }
    }
}
