//! Share reservations of one open, and of all opens of a file (RFC 8881 §9.7).

/// Access and denied access: bits of `nfs::v4::open::share_access` and `share_deny`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// 0 to 3.
    pub access: u32,
    /// 0 to 3.
    pub deny: u32,
}

impl Share {
    /// Whether one of two opens denies what the other wants or has.
    pub(crate) const fn conflicts_with(self, other: Self) -> bool {
        self.access & other.deny != 0 || self.deny & other.access != 0
    }

    /// What this has and `other` has not.
    pub(super) const fn without(self, other: Self) -> Self {
        Self { access: self.access & !other.access, deny: self.deny & !other.deny }
    }

    const fn union(self, other: Self) -> Self {
        Self { access: self.access | other.access, deny: self.deny | other.deny }
    }

    const fn is_part_of(self, other: Self) -> bool {
        self.access & !other.access == 0 && self.deny & !other.deny == 0
    }
}

/// Share of an open, and those of the OPENs that it is the union of: an OPEN_DOWNGRADE leaves some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    share: Share,
    /// Bit 4 × access + deny for each kind of OPEN.
    kinds: u16,
}

impl Opened {
    pub(super) const fn new(share: Share) -> Self {
        Self { share, kinds: 1 << (4 * (share.access & 3) + (share.deny & 3)) }
    }

    pub(super) const fn share(self) -> Share {
        self.share
    }

    pub(super) const fn with(self, share: Share) -> Self {
        Self { share: self.share.union(share), kinds: self.kinds | Self::new(share).kinds }
    }

    /// What an OPEN_DOWNGRADE leaves; `None` if `left` is not the union of some of the OPENs (RFC 8881 §18.18.3).
    pub(super) fn downgraded(self, left: Share) -> Option<Self> {
        let kept = (0..16u32)
            .filter(|bit| self.kinds & 1 << bit != 0)
            .map(|bit| Share { access: bit / 4, deny: bit % 4 })
            .filter(|kind| kind.is_part_of(left))
            .map(Self::new)
            .reduce(|one, other| one.with(other.share).with_kinds(other.kinds))?;
        (kept.share == left).then_some(kept)
    }

    const fn with_kinds(self, kinds: u16) -> Self {
        Self { share: self.share, kinds: self.kinds | kinds }
    }
}

/// Number of opens of a file for each bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShareCounts {
    access: [u32; 2],
    deny: [u32; 2],
}

impl ShareCounts {
    pub(super) fn add(&mut self, share: Share) {
        self.each(share, |count| *count += 1);
    }

    pub(super) fn remove(&mut self, share: Share) {
        self.each(share, |count| *count -= 1);
    }

    fn each(&mut self, share: Share, change: impl Fn(&mut u32)) {
        let bits = [share.access & 1, share.access & 2, share.deny & 1, share.deny & 2];
        let counts = self.access.iter_mut().chain(&mut self.deny);
        counts.zip(bits).filter(|(_, bit)| *bit != 0).for_each(|(count, _)| change(count));
    }

    /// All that the opens have together.
    pub(super) fn union(&self) -> Share {
        let bits = |counts: [u32; 2]| u32::from(counts[0] > 0) | u32::from(counts[1] > 0) << 1;
        Share { access: bits(self.access), deny: bits(self.deny) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn share(access: u32, deny: u32) -> Share {
        Share { access, deny }
    }

    #[test]
    fn counts_say_what_is_held() {
        let mut counts = ShareCounts::default();
        counts.add(share(1, 2));
        counts.add(share(3, 0));
        assert_eq!(counts.union(), share(3, 2));
        counts.remove(share(3, 0));
        assert_eq!(counts.union(), share(1, 2));
        assert!(counts.union().conflicts_with(share(2, 0)) && counts.union().conflicts_with(share(2, 1)));
        assert!(!counts.union().conflicts_with(share(1, 2)));
        counts.remove(share(1, 2));
        assert_eq!(counts, ShareCounts::default());
    }

    #[test]
    fn a_downgrade_leaves_a_union_of_opens() {
        let opened = Opened::new(share(1, 0)).with(share(2, 1));
        assert_eq!(opened.share(), share(3, 1));
        assert_eq!(opened.downgraded(share(1, 0)), Some(Opened::new(share(1, 0))));
        assert_eq!(opened.downgraded(share(2, 1)), Some(Opened::new(share(2, 1))));
        assert_eq!(opened.downgraded(share(3, 1)), Some(opened));
        for never_opened in [share(2, 0), share(1, 1), share(3, 0), share(3, 3), share(0, 0)] {
            assert_eq!(opened.downgraded(never_opened), None, "{never_opened:?}");
        }
        assert_eq!(Opened::new(share(3, 0)).downgraded(share(1, 0)), None);
        let both = Opened::new(share(1, 0)).with(share(3, 0));
        assert_eq!(both.downgraded(share(1, 0)).and_then(|left| left.downgraded(share(3, 0))), None);
    }
}
