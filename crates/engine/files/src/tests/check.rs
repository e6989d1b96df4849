//! The check finds each kind of damage, and names it by its path.

use super::share::{create, write};
use super::{end, new_share};
use crate::layout::address::{Class, Region, inode_at};
use crate::layout::inode::Inode;
use crate::layout::leaf::Leaf;
use crate::layout::nodes::{Place, set_bit};
use crate::testing::MemoryEngine;
use crate::testing::world::{good, name};
use crate::{Files, Finding, Problem};
use bytes::Bytes;
use vfs::{Call, Caller, FileId, FileSystem, Kind, SetXattr, Timestamp, XattrName};

/// A share with `/n1/n2`, a file in a region of 1 MiB with an extended attribute, and `/n1/n3`, a small one.
struct Rig {
    engine: MemoryEngine,
    share: Files<MemoryEngine>,
    directory: FileId,
    large: FileId,
    small: FileId,
}

impl Rig {
    fn new() -> Self {
        let engine = MemoryEngine::new(1, true);
        let share = new_share(&engine);
        let directory = create(&share, share.root(), 1, Kind::Directory);
        let large = create(&share, directory, 2, Kind::File);
        let small = create(&share, directory, 3, Kind::File);
        write(&share, large, 0, &[7; 100_000]);
        write(&share, small, 0, b"small");
        let (caller, x) = (Caller::root(), good(XattrName::try_from("x").map_err(vfs::FsError::from)));
        let call = Call::new(&caller, Timestamp::default());
        good(end(share.set_xattr(call, large, &x, Bytes::from_static(b"value"), SetXattr::Either)));
        Self { engine, share, directory, large, small }
    }

    fn inode(&self, file: FileId) -> Inode {
        good(end(self.share.look(|share| share.any_inode(file))))
    }

    fn region(&self, file: FileId) -> Region {
        self.inode(file).region.unwrap_or(Region { class: Class::T, number: 0 })
    }

    /// Changes an inode, with its checksum.
    fn change(&self, file: FileId, change: impl FnOnce(&mut Inode)) {
        let (mut inode, (block, bytes)) = (self.inode(file), inode_at(file));
        change(&mut inode);
        self.corrupt(block, |block| block[bytes].copy_from_slice(&inode.encode(file)));
    }

    fn corrupt(&self, block: u64, change: impl FnOnce(&mut [u8])) {
        self.engine.corrupt(self.share.object(), block, change);
    }

    /// Changes the only leaf of the directory.
    fn change_leaf(&self, change: impl FnOnce(&mut Leaf<crate::Block>, Place)) {
        let place = Place { directory: self.directory, node: 0 };
        self.corrupt(self.region(self.directory).first(), |bytes| {
            let block: crate::Block = bytes.try_into().unwrap_or([0; 4096]);
            let mut leaf = Leaf::decode(block, place).unwrap_or_else(|()| Leaf::new(place));
            change(&mut leaf, place);
            bytes.copy_from_slice(leaf.bytes());
        });
    }

    /// Index of the entry of a file.
    fn finds(&self, expected: &[(&str, Problem)]) {
        let expected: Vec<Finding> = expected
            .iter()
            .map(|(path, problem)| Finding { path: (*path).to_owned(), problem: problem.clone() })
            .collect();
        assert_eq!(good(end(self.share.check())), expected);
    }
}

fn index_of(leaf: &Leaf<crate::Block>, file: FileId) -> usize {
    leaf.entries().position(|entry| entry.file == file).unwrap_or(usize::MAX)
}

#[test]
fn a_sound_share_has_no_findings() {
    Rig::new().finds(&[]);
}

#[test]
fn a_damaged_super_block_is_all_that_is_found() {
    let rig = Rig::new();
    rig.corrupt(0, |block| block[20] ^= 1);
    rig.finds(&[("/", Problem::SuperBlock)]);
}

#[test]
fn a_damaged_inode_is_found_with_what_it_leaves() {
    let rig = Rig::new();
    let (block, bytes) = inode_at(rig.small);
    rig.corrupt(block, |block| block[bytes.start + 5] ^= 1);
    let region = Region::of_file(Class::T, crate::layout::address::Part::Content, rig.small);
    rig.finds(&[
        (&format!("#{}", rig.small.0), Problem::Unreadable { what: "the inode" }),
        ("/n1", Problem::EntryOfNothing { name: "n3".to_owned(), file: rig.small }),
        ("/", Problem::Stray { block: region.first() }),
    ]);
}

#[test]
fn wrong_fields_and_counts_are_found() {
    let rig = Rig::new();
    rig.change(rig.small, |inode| inode.links = 5);
    rig.finds(&[("/n1/n3", Problem::Links { stored: 5, found: 1 })]);
    rig.change(rig.small, |inode| (inode.links, inode.change) = (1, 1 << 40));
    rig.finds(&[("/n1/n3", Problem::Field { field: "change value" })]);
    rig.change(rig.small, |inode| (inode.change, inode.size_bytes) = (1, 3));
    rig.finds(&[("/n1/n3", Problem::BehindTheEnd)]);
    rig.change(rig.small, |inode| inode.size_bytes = 5000);
    rig.finds(&[("/n1/n3", Problem::Field { field: "region" })]);
    rig.change(rig.small, |inode| inode.size_bytes = 5);
    rig.change(rig.directory, |inode| (inode.entries, inode.links) = (7, 3));
    rig.finds(&[("/n1", Problem::Entries { stored: 7, found: 2 }), ("/n1", Problem::Links { stored: 3, found: 2 })]);
    rig.change(rig.directory, |inode| (inode.entries, inode.links, inode.parent) = (2, 2, FileId(3)));
    let path = format!("#{}", rig.directory.0);
    rig.finds(&[(&path, Problem::Parent)]);
}

#[test]
fn regions_that_overlap_or_leak_are_found() {
    let rig = Rig::new();
    let region = rig.region(rig.large);
    let (block, bit) = region.bit();
    rig.corrupt(block, |bitmap| set_bit(bitmap, bit as u32, false));
    rig.finds(&[("/n1/n2", Problem::RegionUnmarked)]);
    rig.corrupt(block, |bitmap| {
        set_bit(bitmap, bit as u32, true);
        set_bit(bitmap, 999, true);
    });
    rig.finds(&[("/", Problem::RegionLeaked { class: 3, number: 999 })]);
    rig.corrupt(block, |bitmap| set_bit(bitmap, 999, false));
    rig.change(rig.small, |inode| (inode.region, inode.size_bytes) = (Some(region), 100_000));
    let stray = Region::of_file(Class::T, crate::layout::address::Part::Content, rig.small).first();
    rig.finds(&[("/n1/n3", Problem::RegionShared { other: rig.large }), ("/", Problem::Stray { block: stray })]);
}

#[test]
fn wrong_entries_are_found() {
    let rig = Rig::new();
    rig.change_leaf(|leaf, _| leaf.set(index_of(leaf, rig.small), FileId(900), Kind::File));
    rig.finds(&[
        ("/n1", Problem::EntryOfNothing { name: "n3".to_owned(), file: FileId(900) }),
        (&format!("#{}", rig.small.0), Problem::Unreachable(Kind::File)),
    ]);
    rig.change_leaf(|leaf, _| leaf.set(index_of(leaf, FileId(900)), rig.small, Kind::Fifo));
    rig.finds(&[
        ("/n1", Problem::EntryOfNothing { name: "n3".to_owned(), file: rig.small }),
        ("/n1/n3", Problem::Unreachable(Kind::File)),
    ]);
    rig.change_leaf(|leaf, place| {
        leaf.remove(index_of(leaf, rig.small));
        let name = name(3);
        let entry = crate::layout::leaf::Entry { key: 300, file: rig.small, kind: Kind::File, name: name.as_bytes() };
        assert!(leaf.insert(place, &entry).is_some());
    });
    rig.finds(&[("/n1", Problem::EntryKey { name: "n3".to_owned() })]);
}

#[test]
fn other_damage_is_found() {
    let rig = Rig::new();
    rig.corrupt(rig.region(rig.directory).first(), |node| node[8] = 9);
    let found = good(end(rig.share.check()));
    assert!(found.contains(&Finding { path: "/n1".to_owned(), problem: Problem::Node { node: 0 } }), "{found:?}");
    let rig = Rig::new();
    let xattrs = Region::of_file(Class::T, crate::layout::address::Part::Xattrs, rig.large);
    rig.corrupt(xattrs.first(), |bytes| bytes[0] = 200);
    rig.corrupt(1 << 43, |bytes| bytes[0] = 1);
    rig.finds(&[("/n1/n2", Problem::Xattrs), ("/", Problem::Stray { block: 1 << 43 })]);
    assert_eq!(rig.engine.pending(), 0);
}
