//! How objects come to rest and into use again: which are considered, when, and how many in a turn.

use super::Objects;
use crate::catalog::is_user_object;
use crate::catalog::object::Object;
use crate::interface::ObjectId;
use crate::mutations::{Mutation, leaves_out};

/// Largest number of objects that a turn considers for rest.
const CANDIDATES: usize = 256;

impl Objects {
    /// Brings an object at rest into use.
    #[cold]
    #[inline(never)]
    pub(super) fn wake(&mut self, id: ObjectId) -> Option<&mut Object> {
        let object = self.at_rest.take(id)?;
        self.candidates.push_back(id);
        Some(self.in_use.entry(id).or_insert(object))
    }

    /// Puts all objects to rest that can be, if more than `most` are in use, a few in each turn.
    #[inline]
    pub fn rest(&mut self, most: usize) {
        if self.in_use.len() > most.max(self.rest_from) || self.considering > 0 {
            self.rest_some(most);
        } else if self.candidates.len() > 2 * self.in_use.len() + CANDIDATES {
            self.forget_deleted();
        }
    }

    fn rest_some(&mut self, most: usize) {
        if self.considering == 0 {
            self.considering = self.candidates.len();
        }
        let Self { in_use, at_rest, changes, .. } = self;
        // The checksum of a changed object's root page is not known before its epoch is sealed.
        let complete = |object: &Object| changes.are_stored(object) || leaves_out(Mutation::Rest);
        for _ in 0..CANDIDATES.min(self.considering) {
            self.considering -= 1;
            let Some(id) = self.candidates.pop_front() else { break };
            let Some(object) = in_use.get(&id) else { continue };
            match is_user_object(id) && complete(object) && at_rest.insert(object) {
                true => drop(in_use.remove(&id)),
                false => self.candidates.push_back(id),
            }
        }
        if self.considering > 0 {
            return;
        }
        // The next attempt pays only after a freeze, or with many more objects in use.
        self.rest_from = 2 * in_use.len();
        if in_use.capacity() > 16 * in_use.len().max(most) {
            in_use.shrink_to(2 * most);
        }
    }

    #[cold]
    fn forget_deleted(&mut self) {
        for _ in 0..CANDIDATES {
            let Some(id) = self.candidates.pop_front() else { return };
            if self.in_use.contains_key(&id) {
                self.candidates.push_back(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::catalog::objects::tests::{freeze, freeze_with, frozen, volume};
    use crate::checksum::Crc32c;
    use crate::geometry::Pointer;
    use crate::interface::Reservation;
    use crate::interface::range::BlockNumber;
    use media::BlockAddress;
    use std::collections::BTreeSet;

    #[test]
    fn only_objects_that_a_freeze_has_stored_rest() {
        let mut objects = frozen(16..26);
        objects.change_mapped(ObjectId(20), 1).unwrap();
        objects.rest(10);
        assert_eq!((objects.in_use.len(), objects.at_rest.len()), (2, 9), "the table and the changed object");
        objects.set_root(ObjectId(20), BlockAddress::new(500)).unwrap();
        freeze_with(&mut objects, |root| match root.address.get() {
            500 => Pointer { crc: Crc32c::new(99), ..root },
            _ => root,
        });
        objects.rest(1);
        assert_eq!((objects.in_use.len(), objects.at_rest.len()), (1, 10));
        let expected = Pointer { address: BlockAddress::new(500), level: 0, crc: Crc32c::new(99) };
        assert_eq!(objects.root(ObjectId(20)), Some(expected));
    }

    #[test]
    fn few_objects_in_use_do_not_rest() {
        let mut objects = frozen(16..26);
        objects.rest(11);
        assert_eq!(objects.in_use.len(), 11);
    }

    /// Otherwise every turn of the pool would look at all objects, as long as none may rest.
    #[test]
    fn an_attempt_is_repeated_after_a_freeze_or_with_more_objects_only() {
        let mut objects = frozen(16..16);
        (16..26).for_each(|id| objects.insert(volume(ObjectId(id))));
        objects.rest(1);
        assert_eq!((objects.at_rest.len(), objects.rest_from), (0, 22));
        freeze(&mut objects);
        objects.rest(1);
        assert_eq!((objects.at_rest.len(), objects.rest_from), (10, 2));
    }

    /// One turn put all of them to rest, which took some milliseconds after a freeze.
    #[test]
    fn a_turn_puts_a_bounded_number_of_objects_to_rest() {
        let mut objects = frozen(16..1016);
        let mut before = 0;
        while objects.in_use.len() > 10 {
            objects.rest(10);
            assert!((1..=CANDIDATES).contains(&(objects.at_rest.len() - before)));
            before = objects.at_rest.len();
        }
        assert_eq!(objects.candidates, [crate::catalog::OBJECT_TABLE]);
    }

    #[test]
    fn deleted_objects_are_forgotten() {
        let mut objects = frozen(16..16);
        for id in 16..10_016 {
            objects.insert(volume(ObjectId(id)));
            objects.remove(ObjectId(id)).unwrap();
            objects.rest(1000);
        }
        assert!(objects.candidates.len() <= 2 * CANDIDATES);
    }

    #[test]
    fn objects_with_a_promise_stay_in_use() {
        let mut objects = frozen(16..26);
        let reservation = Some(Reservation { overwrite_percent: 100 });
        objects.adjust(ObjectId(18), |object| (object.reservation, object.tracked) = (reservation, true)).unwrap();
        freeze(&mut objects);
        objects.rest(0);
        assert_eq!(objects.in_use.keys().copied().collect::<BTreeSet<_>>(), BTreeSet::from([1, 18].map(ObjectId)));
        let stored = objects.stored_block(BlockNumber::FIRST);
        let mut loaded = Objects::new();
        loaded.load_block(BlockNumber::FIRST, &stored).unwrap();
        assert_eq!(loaded.in_use.keys().collect::<Vec<_>>(), [&ObjectId(18)]);
        assert_eq!((loaded.promises.promised, loaded.promises.objects), (256, 1));
        assert_eq!((loaded.stored_block(BlockNumber::FIRST), loaded.next_id()), (stored, ObjectId(26)));
    }
}
