//! Identity of a caller, time of its call, and its right to content.

use crate::Timestamp;
use smallvec::SmallVec;

/// Identity of a caller, after its identifiers were mapped by [`Squash`]. User 0 passes every check of
/// mode bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    user: u32,
    group: u32,
    groups: SmallVec<[u32; 16]>,
}

/// Identifiers that become the anonymous ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Squash {
    /// None: user 0 of the client is user 0 here.
    None,
    /// User 0 and group 0.
    #[default]
    Root,
    /// All.
    All,
}

/// User and group of squashed and unauthenticated callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anonymous {
    /// User.
    pub user: u32,
    /// Group.
    pub group: u32,
}

impl Caller {
    /// Most supplementary groups that are kept; further ones are ignored.
    pub const MOST_GROUPS: usize = 16;

    /// User 0, for calls of the array's own administration.
    pub fn root() -> Self {
        Self { user: 0, group: 0, groups: SmallVec::new() }
    }

    /// Caller with the identifiers that the client has sent, as `squash` maps them.
    pub fn new(user: u32, group: u32, groups: &[u32], squash: Squash, anonymous: Anonymous) -> Self {
        let groups = groups.iter().copied().take(Self::MOST_GROUPS);
        match squash {
            Squash::None => Self { user, group, groups: groups.collect() },
            Squash::All => Self::anonymous(anonymous),
            Squash::Root => {
                let of_group = |group| if group == 0 { anonymous.group } else { group };
                Self {
                    user: if user == 0 { anonymous.user } else { user },
                    group: of_group(group),
                    groups: groups.map(of_group).collect(),
                }
            }
        }
    }

    /// Unauthenticated caller.
    pub fn anonymous(anonymous: Anonymous) -> Self {
        Self { user: anonymous.user, group: anonymous.group, groups: SmallVec::new() }
    }

    /// User: owner of what the caller creates.
    pub const fn user(&self) -> u32 {
        self.user
    }

    /// Primary group: group of what the caller creates.
    pub const fn group(&self) -> u32 {
        self.group
    }

    /// True for user 0.
    pub const fn is_root(&self) -> bool {
        self.user == 0
    }

    /// Whether the caller belongs to the group, by its primary or a supplementary one.
    pub fn is_in(&self, group: u32) -> bool {
        self.group == group || self.groups.contains(&group)
    }
}

/// Right by which a call reads or changes the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Mode bits, checked now. The owner of a file may read and write it whatever they are: protocols
    /// without an open look like this to a program whose descriptor outlives a change of mode.
    Mode,
    /// The caller has opened the file for this access, and the bits were checked then.
    Opened,
}

/// Context of a call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Identity.
    pub caller: &'a Caller,
    /// Time of the call, from the caller's clock: a file system has none.
    pub now: Timestamp,
    /// Right to content; of interest to calls about the content of a file alone.
    pub right: Right,
    /// Whether [`crate::Attributes::used_bytes`] is wanted in the attributes that the call returns. If not, it may be
    /// 0: to count the blocks of a file takes time.
    pub counts_used: bool,
}

impl<'a> Call<'a> {
    /// Call by mode bits, which returns all attributes.
    pub const fn new(caller: &'a Caller, now: Timestamp) -> Self {
        Self { caller, now, right: Right::Mode, counts_used: true }
    }

    /// This call, with attributes that need not state the bytes in use.
    #[must_use]
    pub const fn without_used(self) -> Self {
        Self { counts_used: false, ..self }
    }

    /// This call with the right to content of an open file.
    #[must_use]
    pub const fn opened(self) -> Self {
        Self { right: Right::Opened, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANONYMOUS: Anonymous = Anonymous { user: 65534, group: 65533 };

    fn caller(user: u32, squash: Squash) -> Caller {
        Caller::new(user, 0, &[0, 7], squash, ANONYMOUS)
    }

    #[test]
    fn squash_of_root_maps_identifiers_0_alone() {
        let root = caller(0, Squash::Root);
        assert_eq!((root.user(), root.group(), root.is_root()), (65534, 65533, false));
        assert!(root.is_in(65533) && root.is_in(7) && !root.is_in(0));
        let other = caller(5, Squash::Root);
        assert_eq!((other.user(), other.group()), (5, 65533));
    }

    #[test]
    fn squash_of_all_maps_every_identifier() {
        for user in [0, 5] {
            let caller = caller(user, Squash::All);
            assert_eq!((caller.user(), caller.group()), (65534, 65533));
            assert!(!caller.is_in(7) && !caller.is_in(0));
        }
    }

    #[test]
    fn without_squash_root_is_root() {
        assert!(caller(0, Squash::None).is_root() && caller(0, Squash::None).is_in(0));
        assert!(Caller::root().is_root());
    }

    #[test]
    fn the_seventeenth_group_is_ignored() {
        let groups: Vec<u32> = (100..120).collect();
        let caller = Caller::new(5, 5, &groups, Squash::None, ANONYMOUS);
        assert!(caller.is_in(115) && !caller.is_in(116));
    }
}
