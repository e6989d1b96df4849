//! What holds between the indexes and counts of the part, for tests.

use std::collections::BTreeMap;

use super::{Files, Holdings, Kind, ShareCounts};

impl Files {
    /// Sets the version of a stateid.
    pub(crate) fn set_seqid(&mut self, stateid: &nfs::v4::Stateid, seqid: u32) {
        let key = crate::ids::stateid_key(self.boot, stateid).expect("a stateid of this run");
        self.entries.get_mut(key).expect("an entry").seqid = seqid;
    }

    /// Panics unless every count and index agrees with the entries, and no two grants conflict.
    pub(crate) fn check(&self) {
        let mut held: BTreeMap<u32, Holdings> = BTreeMap::new();
        let mut total = Holdings::default();
        for (key, entry) in self.entries.iter() {
            *held.entry(entry.client.index).or_default().of(&entry.kind) += 1;
            *total.of(&entry.kind) += 1;
            assert!(self.by_client.contains(&(entry.client, key)), "{key:?} is not found by its client");
            match entry.kind {
                Kind::Open(open) => assert_eq!(self.open_of.get(&(open.file, open.owner)), Some(&key)),
                Kind::Lock(lock) => {
                    assert_eq!(self.lock_of.get(&(lock.open, lock.owner)), Some(&key));
                    assert_eq!(self.open(lock.open).map(|open| open.file), Some(lock.file));
                }
                _ => {}
            }
        }
        assert_eq!(total, self.total);
        for (index, counted) in (0..).zip(&self.held) {
            assert_eq!(held.get(&index).copied().unwrap_or_default(), *counted, "client {index}");
        }
        assert_eq!(self.by_client.len() as u32, self.entries.len());
        assert_eq!((self.open_of.len() as u32, self.lock_of.len() as u32), (total.opens, total.lock_stateids));
        self.check_files();
        self.owners.check(total.opens + total.lock_stateids + self.reserved);
        assert_eq!(self.reserved_for.values().sum::<u32>(), self.reserved);
        assert!(total.opens <= self.limits.opens && self.ranges <= self.limits.ranges);
    }

    fn check_files(&self) {
        let (mut opens, mut ranges) = (0, 0);
        let mut ranges_of = BTreeMap::new();
        for (key, file) in self.files.iter() {
            assert!(self.by_file.get(&file.key) == Some(&key) && !file.opens.is_empty());
            opens += file.opens.len();
            ranges += file.ranges.len();
            for range in file.ranges.iter() {
                *ranges_of.entry(self.entries.get(range.state).expect("a stateid").client).or_insert(0) += 1;
            }
            let mut shares = ShareCounts::default();
            for (at, open) in file.opens.iter().enumerate() {
                let share = self.open(*open).expect("an open of the file").opened.share();
                for other in file.opens.iter().skip(at + 1) {
                    let other = self.open(*other).expect("an open of the file").opened.share();
                    assert!(!share.conflicts_with(other), "two opens conflict: {share:?} and {other:?}");
                }
                shares.add(share);
            }
            assert_eq!(shares, file.shares);
            file.ranges.check();
            for (at, one) in file.ranges.iter().enumerate() {
                assert!(one.extent.first <= one.extent.last && self.lock(one.state).is_some());
                for other in file.ranges.iter().skip(at + 1) {
                    assert!(one.extent.first <= other.extent.first, "ranges are not in order");
                    let apart = one.extent.last < other.extent.first;
                    let shared = one.owner != other.owner && !one.exclusive && !other.exclusive;
                    assert!(apart || shared, "two locks conflict: {one:?} and {other:?}");
                }
            }
        }
        assert_eq!(ranges_of, self.ranges_of);
        assert_eq!(
            (opens as u32, ranges, self.by_file.len() as u32),
            (self.total.opens, self.ranges, self.files.len())
        );
    }
}
