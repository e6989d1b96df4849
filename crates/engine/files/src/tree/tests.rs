//! Trees by themselves: keys of equal hash, and nodes beyond those of the header's bitmap.

use super::{Tree, first_key};
use crate::engine::{Durability, Engine, Outcome};
use crate::halt::Step;
use crate::layout::address::{Class, Region};
use crate::layout::interior::FAN_OUT;
use crate::layout::leaf::Entry;
use crate::layout::nodes::{HEAD, HEADER_NODES};
use crate::memory::Memory;
use crate::share::Share;
use crate::testing::MemoryEngine;
use crate::tests::{ROOT_ATTRIBUTES, end};
use vfs::{FileId, Kind};

const DIRECTORY: FileId = FileId(20);

/// A tree in an engine; each call is one transaction.
struct Rig {
    engine: MemoryEngine,
    memory: Memory,
    region: Option<Region>,
}

impl Rig {
    fn new(region: Option<Region>) -> Self {
        let engine = MemoryEngine::new(1, true);
        let memory = Memory::new(engine.create(), ROOT_ATTRIBUTES, false);
        Self { engine, memory, region }
    }

    fn run<T>(&mut self, mut change: impl FnMut(&mut Tree<'_, '_>) -> Step<T>) -> T {
        let (memory, region) = (&self.memory, self.region);
        let attempt = |view: &mut dyn crate::View| {
            let mut share = Share::new(view, memory, true);
            let mut tree = Tree::new(&mut share, DIRECTORY, region);
            match change(&mut tree) {
                Ok(value) => Ok(Outcome::Commit((value, tree.region()))),
                Err(crate::halt::Halt::Wait) => Err(crate::Missing::Wait),
                Err(halt) => panic!("{halt:?}"),
            }
        };
        match end(self.engine.run(Durability::Durable, attempt, |_, value| value)) {
            Ok((value, region)) => {
                self.region = region;
                value
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn insert(&mut self, key: u64, name: &str) {
        let entry = Entry { key, file: FileId(key >> 8 | 16), kind: Kind::File, name: name.as_bytes() };
        self.run(|tree| tree.insert(&entry));
    }

    fn keys(&mut self) -> Vec<u64> {
        self.run(|tree| {
            let mut keys = Vec::new();
            tree.scan(0, |entry| {
                keys.push(entry.key);
                true
            })?;
            Ok(keys)
        })
    }
}

#[test]
fn a_name_gets_the_smallest_free_number_of_its_hash() {
    let mut rig = Rig::new(None);
    let first = first_key(&[0; 16], b"name");
    assert!((256..1 << 63).contains(&first) && first.is_multiple_of(256));
    assert_eq!(rig.run(|tree| tree.find(b"name")), (None, Some(first)));
    for number in 0..256 {
        rig.insert(first + number, &format!("other {number}"));
    }
    assert_eq!(rig.run(|tree| tree.find(b"name")), (None, None));
    rig.run(|tree| tree.remove(first + 7));
    rig.run(|tree| tree.remove(first + 9));
    assert_eq!(rig.run(|tree| tree.find(b"name")), (None, Some(first + 7)));
    rig.insert(first + 9, "name");
    let found = rig.run(|tree| tree.find(b"name")).0;
    assert_eq!(found.map(|found| found.key), Some(first + 9));
}

#[test]
fn the_hash_is_keyed() {
    assert_ne!(first_key(&[0; 16], b"name"), first_key(&[1; 16], b"name"));
    // SipHash-2-4 of the bytes 0 to 14 under the key 0 to 15, as its authors give it.
    let (key, text): ([u8; 16], Vec<u8>) = (std::array::from_fn(|at| at as u8), (0..15).collect());
    assert_eq!(first_key(&key, &text), 0xa129_ca61_49be_45e5 >> 9 << 8);
}

#[test]
fn nodes_behind_the_headers_bitmap_have_bitmap_nodes() {
    let region = Region { class: Class::L, number: 0 };
    let mut rig = Rig::new(Some(region));
    let name = "n".repeat(255);
    let keys: Vec<u64> = (1..=400).map(|number| number << 8).collect();
    let (some, others) = keys.split_at(40);
    for key in some {
        rig.insert(*key, &name);
    }
    // As if all nodes of the header were in use.
    let hint = HEADER_NODES.to_le_bytes();
    rig.engine
        .corrupt(rig.memory.object(), region.first(), |header| header[HEAD + 8..HEAD + 12].copy_from_slice(&hint));
    for key in others {
        rig.insert(*key, &name);
    }
    assert_eq!(rig.keys(), keys);
    let behind =
        rig.engine.mapped(rig.memory.object()).into_iter().filter(|at| *at > region.first() + u64::from(HEADER_NODES));
    assert!(behind.count() > 20);
    for (index, key) in keys.iter().enumerate() {
        rig.run(|tree| tree.remove(*key));
        if index % 50 == 0 {
            assert_eq!(rig.keys(), keys[index + 1..]);
        }
    }
    assert_eq!(rig.engine.mapped(rig.memory.object()), [] as [u64; 0], "a bitmap node without bits is not stored");
}

/// An interior node with one child beside a full one could not be merged, so that its leaf became empty.
#[test]
fn no_leaf_becomes_empty_beside_a_full_neighbour() {
    let mut rig = Rig::new(Some(Region { class: Class::M, number: 0 }));
    let name = "n".repeat(255);
    // Children of the root, and of the interior node on its right, if there are levels above it.
    let shape = |tree: &mut Tree<'_, '_>| {
        let (root, level) = tree.root()?;
        if level < 2 {
            return Ok((0, 0));
        }
        let root = tree.interior(root, level)?;
        let (count, last) = (root.count(), root.child(root.count() - 1));
        Ok((count, tree.interior(last, level - 1)?.count()))
    };
    let mut last = 0;
    while rig.run(shape) != (2, FAN_OUT) {
        last += 1;
        rig.insert(last << 8, &name);
    }
    let mut next = 1;
    while rig.run(|tree| Ok(tree.root()?.1)) == 2 && next < last {
        rig.run(|tree| tree.remove(next << 8));
        next += 1;
        assert_eq!(rig.run(empty_leaves), 0, "after {next} removals");
    }
    let first = rig.run(|tree| {
        let mut first = 0;
        tree.scan(0, |entry| {
            first = entry.key >> 8;
            false
        })?;
        Ok(first)
    });
    assert_eq!((first, next > 1000), (next, true));
}

/// Number of leaves without an entry below the left edge of the tree.
fn empty_leaves(tree: &mut Tree<'_, '_>) -> Step<usize> {
    let (mut node, level) = tree.root()?;
    for level in (2..=level).rev() {
        node = tree.interior(node, level)?.child(0);
    }
    let mut empty = 0;
    if level > 0 {
        let parent = tree.own_interior(node, 1)?;
        // Neighbours beyond the first ones are not touched by a removal on the edge.
        for index in 0..parent.count().min(3) {
            empty += usize::from(tree.leaf(parent.child(index))?.count() == 0);
        }
    }
    Ok(empty)
}
