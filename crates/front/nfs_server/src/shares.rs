//! The shares that the server exports. Their owner publishes changes; operations look them up.

use crate::access::Rules;
use crate::statistics::Counted;
use std::collections::BTreeMap;
use std::rc::Rc;
use vfs::{Name, Timestamp};

/// Versions of the protocol that serve a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocols {
    /// NFSv3 with MOUNT.
    pub v3: bool,
    /// NFSv4.1 and 4.2.
    pub v4: bool,
}

/// How COPY into a share is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyPolicy {
    /// Copies share storage with their source, as far as offsets allow it.
    #[default]
    Share,
    /// Copies have storage of their own.
    Physical,
}

/// Share, or a snapshot of one that is exported like a share.
#[derive(Clone, Debug)]
pub struct Share<F> {
    /// Name in the pseudo root, and behind the slash of an NFSv3 path.
    pub name: Name,
    /// Object of the pool that holds the files; in handles. Never reused.
    pub object: u64,
    /// Epoch of the handles: handles of another one are stale.
    pub epoch: u32,
    /// Identity of the file system for clients, never (0, 0), which is the pseudo root.
    pub fsid: nfs::v4::FileSystemId,
    /// The files.
    pub file_system: Rc<F>,
    /// Hosts that may use it.
    pub rules: Rules,
    /// Versions that serve it.
    pub protocols: Protocols,
    /// How COPY into it is done.
    pub copy: CopyPolicy,
    /// Where its operations are counted; `None`: nowhere.
    pub counted: Option<Counted>,
}

impl<F> Share<F> {
    /// Whether all facts are those of another one.
    fn has_facts_of(&self, other: &Self) -> bool {
        let Self { name, object, epoch, fsid, file_system, rules, protocols, copy, counted } = other;
        let facts = (&self.name, self.object, self.epoch, &self.fsid, &self.rules, self.protocols, self.copy);
        facts == (name, *object, *epoch, fsid, rules, *protocols, *copy)
            && Rc::ptr_eq(&self.file_system, file_system)
            && self.counted == *counted
    }
}

/// Reason why a share was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Another object has the name.
    #[error("object {object} has the name already")]
    NameTaken {
        /// That object.
        object: u64,
    },
    /// Another object has the fsid, or it is that of the pseudo root.
    #[error("the fsid is in use")]
    FsidTaken,
}

/// All published shares.
#[derive(Debug)]
pub struct Shares<F> {
    by_object: BTreeMap<u64, Rc<Share<F>>>,
    objects: BTreeMap<Name, u64>,
    /// Objects by both halves of their fsid.
    fsids: BTreeMap<(u64, u64), u64>,
    changed: Timestamp,
}

impl<F> Shares<F> {
    /// No shares, as of `now`.
    pub const fn new(now: Timestamp) -> Self {
        Self { by_object: BTreeMap::new(), objects: BTreeMap::new(), fsids: BTreeMap::new(), changed: now }
    }

    /// Publishes a share, or the new facts of one that is published. Operations in progress keep the
    /// facts that they have begun with. Facts that are published already are no change.
    pub fn publish(&mut self, mut share: Share<F>, now: Timestamp) -> Result<(), PublishError> {
        if self.by_object(share.object).is_some_and(|published| published.has_facts_of(&share)) {
            return Ok(());
        }
        share.name = share.name.detached();
        if let Some(&object) = self.objects.get(&share.name).filter(|object| **object != share.object) {
            return Err(PublishError::NameTaken { object });
        }
        let fsid = (share.fsid.major, share.fsid.minor);
        if fsid == (0, 0) || self.fsids.get(&fsid).is_some_and(|object| *object != share.object) {
            return Err(PublishError::FsidTaken);
        }
        self.remove(share.object);
        self.fsids.insert(fsid, share.object);
        self.objects.insert(share.name.clone(), share.object);
        self.by_object.insert(share.object, Rc::new(share));
        self.changed = self.changed.next().max(now);
        Ok(())
    }

    /// Withdraws a share: its handles are stale from now on. Returns false if it is not published.
    pub fn withdraw(&mut self, object: u64, now: Timestamp) -> bool {
        let found = self.remove(object);
        if found {
            self.changed = self.changed.next().max(now);
        }
        found
    }

    fn remove(&mut self, object: u64) -> bool {
        let Some(old) = self.by_object.remove(&object) else { return false };
        self.fsids.remove(&(old.fsid.major, old.fsid.minor));
        self.objects.remove(&old.name).is_some()
    }

    /// Share with that object.
    pub fn by_object(&self, object: u64) -> Option<&Rc<Share<F>>> {
        self.by_object.get(&object)
    }

    /// Share with that name.
    pub fn by_name(&self, name: &Name) -> Option<&Rc<Share<F>>> {
        self.by_object.get(self.objects.get(name)?)
    }

    /// All shares, by object.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<Share<F>>> {
        self.by_object.values()
    }

    /// Time of the last change, later with each.
    pub const fn changed(&self) -> Timestamp {
        self.changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Hosts, Rule};
    use nfs::v4::FileSystemId;

    fn share(name: &str, object: u64, fsid: u64) -> Share<()> {
        Share {
            name: Name::try_from(name).unwrap_or_else(|error| panic!("{name}: {error}")),
            object,
            epoch: 0,
            fsid: FileSystemId { major: fsid, minor: 0 },
            file_system: Rc::new(()),
            rules: Rules::default(),
            protocols: Protocols { v3: true, v4: true },
            copy: CopyPolicy::default(),
            counted: None,
        }
    }

    fn names(shares: &Shares<()>) -> Vec<String> {
        shares.iter().filter_map(|share| share.name.as_text().map(str::to_owned)).collect()
    }

    #[test]
    fn a_share_is_found_by_name_and_object_until_it_is_withdrawn() {
        let mut shares = Shares::new(Timestamp::default());
        assert_eq!(shares.publish(share("vms", 7, 1), Timestamp::default()), Ok(()));
        let name = share("vms", 0, 0).name;
        assert_eq!(shares.by_name(&name).map(|share| share.object), Some(7));
        assert!(shares.withdraw(7, Timestamp::default()) && !shares.withdraw(7, Timestamp::default()));
        assert!(shares.by_name(&name).is_none() && shares.by_object(7).is_none());
    }

    #[test]
    fn new_facts_replace_the_old_ones() {
        let mut shares = Shares::new(Timestamp::default());
        for name in ["old", "new"] {
            assert_eq!(shares.publish(share(name, 7, 1), Timestamp::default()), Ok(()));
        }
        assert_eq!(names(&shares), ["new"]);
        assert!(shares.by_name(&share("old", 0, 0).name).is_none());
    }

    #[test]
    fn names_and_fsids_belong_to_one_object() {
        let mut shares = Shares::new(Timestamp::default());
        let mut publish = |share| shares.publish(share, Timestamp::default());
        assert_eq!(publish(share("vms", 7, 1)), Ok(()));
        assert_eq!(publish(share("vms", 8, 2)), Err(PublishError::NameTaken { object: 7 }));
        assert_eq!(publish(share("other", 8, 1)), Err(PublishError::FsidTaken));
        assert_eq!(publish(share("other", 8, 0)), Err(PublishError::FsidTaken));
        assert_eq!(names(&shares), ["vms"]);
    }

    /// Each change of a share published all its snapshots again, and clients read the pseudo root again.
    #[test]
    fn facts_that_are_published_already_are_no_change() {
        let mut shares = Shares::new(Timestamp::default());
        let files = Rc::new(());
        let facts = || Share { file_system: Rc::clone(&files), ..share("vms", 7, 1) };
        assert_eq!(shares.publish(facts(), Timestamp::default()), Ok(()));
        let changed = shares.changed();
        assert_eq!(shares.publish(facts(), Timestamp::default()), Ok(()));
        assert_eq!(shares.changed(), changed);
        let others = [
            Share { epoch: 1, ..facts() },
            Share { fsid: FileSystemId { major: 1, minor: 1 }, ..facts() },
            Share { protocols: Protocols { v3: false, v4: true }, ..facts() },
            Share { rules: Rules(vec![Rule::new(Hosts::Any)]), ..facts() },
            Share { name: share("other", 0, 0).name, ..facts() },
        ];
        for other in others {
            let before = shares.changed();
            assert_eq!(shares.publish(other.clone(), Timestamp::default()), Ok(()), "{other:?}");
            assert!(shares.changed() > before, "{other:?}");
        }
    }

    #[test]
    fn each_change_is_later_than_the_last() {
        let mut shares = Shares::new(Timestamp::default());
        let mut last = shares.changed();
        for object in 1..4 {
            assert_eq!(shares.publish(share(&object.to_string(), object, object), Timestamp::default()), Ok(()));
            assert!(shares.changed() > last);
            last = shares.changed();
        }
        shares.withdraw(1, Timestamp::default());
        assert!(shares.changed() > last);
    }
}
