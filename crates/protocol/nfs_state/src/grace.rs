//! The grace period after a restart (RFC 8881 §8.4.2): who may reclaim, and until when.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;

use crate::mutations::{Mutation, leaves_out};
use crate::records::Record;

/// What a reclaim adds to a grace period that would end earlier.
const EXTENSION: Duration = Duration::from_secs(1);

/// Grace period of this run. Over from the start if there is no record.
#[derive(Debug)]
pub(crate) struct Grace {
    /// Recorded clients, and whether each cannot reclaim any more.
    recorded: BTreeMap<Bytes, bool>,
    /// Recorded clients that had opens which deny others access.
    denying: BTreeSet<Bytes>,
    /// Recorded clients that have not completed. They may reclaim until the period is over, and keep their records
    /// until new state is granted after it.
    pending: BTreeSet<Bytes>,
    ends: Duration,
    /// No reclaim draws it out beyond.
    latest: Duration,
    over: bool,
}

impl Grace {
    /// Starts at `now`; `lease` is the larger one of this run and the one before.
    pub(crate) fn new(records: Vec<Record>, lease: Duration, now: Duration) -> Self {
        let denying = records.iter().filter(|record| record.denies).map(|record| record.owner.clone()).collect();
        let recorded: BTreeMap<Bytes, bool> = records.into_iter().map(|record| (record.owner, false)).collect();
        let pending = recorded.keys().cloned().collect();
        let over = recorded.is_empty();
        Self { recorded, denying, pending, ends: now + lease, latest: now + 2 * lease, over }
    }

    /// Whether the grace period lasts.
    pub(crate) const fn is_active(&self) -> bool {
        !self.over
    }

    /// Whether a client had a record when the run began.
    pub(crate) fn was_recorded(&self, owner: &Bytes) -> bool {
        self.recorded.contains_key(owner)
    }

    /// Whether a client may reclaim.
    pub(crate) fn may_reclaim(&self, owner: &Bytes) -> bool {
        !self.over && self.pending.contains(owner)
    }

    /// Whether an open that can be reclaimed may deny others access.
    pub(crate) fn may_deny(&self) -> bool {
        !self.over && !self.denying.is_disjoint(&self.pending)
    }

    /// Whether a client may not reclaim because it has lost, within this grace period, what it had.
    pub(crate) fn is_used_up(&self, owner: &Bytes) -> bool {
        !self.over && self.recorded.get(owner).is_some_and(|used_up| *used_up)
    }

    /// Notes a granted reclaim: others of the client will follow.
    pub(crate) fn reclaimed(&mut self, now: Duration) {
        self.ends = self.ends.max(now + EXTENSION).min(self.latest);
    }

    /// Notes that a client has reclaimed all.
    pub(crate) fn completed(&mut self, owner: &Bytes) {
        self.pending.remove(owner);
    }

    /// Notes that a client has nothing left to reclaim, because it restarted or is gone.
    pub(crate) fn lost(&mut self, owner: &Bytes) {
        self.pending.remove(owner);
        if let Some(used_up) = self.recorded.get_mut(owner) {
            *used_up = true;
        }
    }

    /// Ends the period when it is due.
    pub(crate) fn end_if_due(&mut self, now: Duration) {
        self.over |= self.pending.is_empty() || (now >= self.ends && !leaves_out(Mutation::GraceEnd));
    }

    /// Whether a client has a record of an earlier run.
    pub(crate) fn keeps_record(&self, owner: &Bytes) -> bool {
        self.pending.contains(owner)
    }

    /// New state is granted: it may conflict with what clients that have not completed believe to have. Returns, once,
    /// those that lose their records (RFC 8881 §8.4.3, second edge condition).
    pub(crate) fn new_state_granted(&mut self) -> BTreeSet<Bytes> {
        if self.over { std::mem::take(&mut self.pending) } else { BTreeSet::new() }
    }

    /// When it ends at the earliest, unless all clients complete before; `None` when it is over.
    pub(crate) fn ends(&self) -> Option<Duration> {
        (!self.over).then_some(self.ends)
    }

    /// Number of clients that may still reclaim.
    pub(crate) fn pending(&self) -> usize {
        if self.over { 0 } else { self.pending.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    fn owner(name: &str) -> Bytes {
        Bytes::copy_from_slice(name.as_bytes())
    }

    fn grace(names: &[&str]) -> Grace {
        Grace::new(
            names.iter().map(|name| Record { owner: owner(name), boot: 1, denies: false }).collect(),
            LEASE,
            Duration::ZERO,
        )
    }

    #[test]
    fn no_record_no_grace() {
        let mut grace = grace(&[]);
        assert!(!grace.is_active());
        grace.end_if_due(LEASE);
        assert_eq!((grace.ends(), grace.new_state_granted()), (None, BTreeSet::new()));
    }

    #[test]
    fn it_ends_when_the_last_client_has_completed() {
        let mut grace = grace(&["a", "b"]);
        grace.completed(&owner("a"));
        grace.end_if_due(LEASE - EXTENSION);
        assert!(
            grace.is_active()
                && !grace.may_reclaim(&owner("a"))
                && grace.may_reclaim(&owner("b"))
                && !grace.may_reclaim(&owner("c"))
        );
        grace.lost(&owner("b"));
        assert!(grace.is_used_up(&owner("b")) && !grace.is_used_up(&owner("a")));
        grace.end_if_due(Duration::ZERO);
        assert!(!grace.is_active() && grace.new_state_granted().is_empty() && grace.was_recorded(&owner("b")));
    }

    #[test]
    fn reclaims_draw_it_out_second_by_second_but_no_longer_than_a_lease() {
        let mut grace = grace(&["a"]);
        grace.reclaimed(Duration::from_secs(3));
        assert_eq!(grace.ends(), Some(LEASE));
        let mut now = LEASE - Duration::from_millis(500);
        grace.reclaimed(now);
        assert_eq!(grace.ends(), Some(now + EXTENSION));
        while grace.is_active() {
            grace.reclaimed(now);
            now += Duration::from_millis(900);
            grace.end_if_due(now);
        }
        assert!(now >= 2 * LEASE && now < 2 * LEASE + EXTENSION, "{now:?}");
        assert!(!grace.may_reclaim(&owner("a")));
    }

    #[test]
    fn clients_that_did_not_complete_are_named_once() {
        let mut grace = grace(&["a", "b", "c"]);
        grace.completed(&owner("b"));
        assert_eq!(grace.new_state_granted(), BTreeSet::new());
        grace.end_if_due(LEASE);
        assert!(!grace.may_reclaim(&owner("a")) && grace.keeps_record(&owner("a")) && grace.pending() == 0);
        grace.completed(&owner("c"));
        assert_eq!(grace.new_state_granted(), BTreeSet::from([owner("a")]));
        assert_eq!((grace.new_state_granted(), grace.keeps_record(&owner("a"))), (BTreeSet::new(), false));
    }
}
