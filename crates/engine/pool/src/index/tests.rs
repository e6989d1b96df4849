#![expect(clippy::unwrap_used, reason = "tests")]
//! Random changes against an ordered map, with pages that are missing at first; damage; sizes.

use super::page::{CAPACITY, Entry, MAX_KEY_BYTES, Target, decode_value, fits_inline, pages_of_value};
use super::*;
use crate::checksum::Crc32c;
use bytes::Bytes;
use media::BLOCK_BYTES;
use random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

impl Node {
    /// Position of the child that covers `key`.
    fn position_of(&self, key: &[u8]) -> usize {
        self.entries.partition_point(|entry| entry.key.as_ref() <= key).saturating_sub(1)
    }

    /// The value of a key.
    fn value(&self, key: &[u8]) -> Option<&Value> {
        let at = self.entries.binary_search_by(|entry| entry.key.as_ref().cmp(key)).ok()?;
        match &self.entries.get(at)?.target {
            Target::Value(value) => Some(value),
            Target::Child(_) => None,
        }
    }
}

/// Largest number of pages that one change writes and frees in a tree whose top node is at `level`:
/// on each level a node split in three, or a node and the neighbours that it joins; and the pages
/// of a long value before and after.
const fn pages_of_change(level: u8, before_bytes: usize, after_bytes: usize) -> u64 {
    let nodes = 4 * (level as usize + 2);
    (nodes + pages_of_value(before_bytes) + pages_of_value(after_bytes)) as u64
}

/// Returns the value of a key. The outer `None`: a page has to be read first.
fn find(source: &mut Stream, root: IndexRoot, key: &[u8]) -> Option<Option<Value>> {
    if root.page == 0 {
        return Some(None);
    }
    let (mut number, mut level) = (root.page, root.level);
    loop {
        let node = source.node(number, level)?;
        if level == 0 {
            return Some(node.value(key).cloned());
        }
        number = node.child(node.position_of(key))?;
        level -= 1;
    }
}

/// Returns the bytes of a value.
fn bytes_of(source: &mut Stream, value: &Value) -> Option<Bytes> {
    match value {
        Value::Inline(value) => Some(value.clone()),
        Value::Long { length, pages } => {
            let mut out = Vec::with_capacity(*length as usize);
            let mut complete = true;
            for (position, number) in pages.iter().enumerate() {
                match source.long_value(*number, position as u32) {
                    Some(content) => out.extend_from_slice(&content),
                    None => complete = false,
                }
            }
            if complete && out.len() != *length as usize {
                source.broken(format!("index: a value of {length} bytes has {} in its pages", out.len()));
                return None;
            }
            complete.then(|| out.into())
        }
    }
}

/// Entries in the order of their keys, one leaf at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Range {
    /// Entries of one leaf.
    entries: Vec<(Bytes, Value)>,
    /// Start of the next leaf; `None` after the last one.
    next: Option<Bytes>,
}

/// Returns the entries of the leaf that covers `from`, starting with that key. The key for the next
/// call may have been removed by then.
fn range(source: &mut Stream, root: IndexRoot, from: &[u8]) -> Option<Range> {
    if root.page == 0 {
        return Some(Range::default());
    }
    let (mut number, mut level) = (root.page, root.level);
    let mut next: Option<Bytes> = None;
    loop {
        let node = source.node(number, level)?;
        if level == 0 {
            let first = node.entries.partition_point(|entry| entry.key.as_ref() < from);
            let entries = node.entries.iter().skip(first).filter_map(|entry| match &entry.target {
                Target::Value(value) => Some((entry.key.clone(), value.clone())),
                Target::Child(_) => None,
            });
            return Some(Range { entries: entries.collect(), next });
        }
        let at = node.position_of(from);
        if let Some(Entry { key, .. }) = node.entries.get(at + 1) {
            next = Some(key.clone());
        }
        number = node.child(at)?;
        level -= 1;
    }
}

/// Stream in memory: its pages with their checksums, and the set of those that have been read.
#[derive(Default)]
struct Stream {
    pages: BTreeMap<PageNumber, (Vec<u8>, Crc32c)>,
    present: BTreeSet<PageNumber>,
    wanted: BTreeSet<PageNumber>,
    damaged: Option<String>,
    root: IndexRoot,
}

impl Stream {
    fn page(&mut self, number: PageNumber) -> Option<Vec<u8>> {
        if !self.present.contains(&number) {
            self.wanted.insert(number);
            return None;
        }
        let Some((block, crc)) = self.pages.get(&number) else {
            self.broken(format!("page {number} is not mapped"));
            return None;
        };
        if Crc32c::of(block) != *crc {
            self.damaged = Some(format!("page {number} fails its checksum"));
            return None;
        }
        Some(block.clone())
    }

    fn keep<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|reason| self.damaged = Some(reason)).ok()
    }

    /// Calls `f` until nothing is missing. Returns its result.
    fn until<T>(&mut self, mut f: impl FnMut(&mut Self) -> Option<T>) -> Result<T, String> {
        for _ in 0..100_000 {
            if let Some(done) = f(self) {
                return Ok(done);
            }
            if let Some(reason) = self.damaged.take() {
                return Err(reason);
            }
            assert!(!self.wanted.is_empty(), "nothing is missing, and it does not end");
            self.present.append(&mut self.wanted);
        }
        panic!("it never ends");
    }

    fn apply(&mut self, changes: &Changes) -> Result<Batch, String> {
        let root = self.root;
        let batch = self.until(|stream| apply(stream, root, changes, 1))?.map_err(|error| format!("{error:?}"))?;
        for (number, block) in &batch.writes {
            self.pages.insert(*number, (block.to_vec(), Crc32c::of(&block[..])));
            self.present.insert(*number);
        }
        for number in &batch.freed {
            assert!(self.pages.remove(number).is_some(), "page {number} was not in use");
        }
        self.root = batch.root;
        Ok(batch)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Bytes>, String> {
        let root = self.root;
        match self.until(|stream| find(stream, root, key))? {
            Some(value) => self.until(|stream| bytes_of(stream, &value)).map(Some),
            None => Ok(None),
        }
    }

    fn all(&mut self) -> Result<BTreeMap<Bytes, Bytes>, String> {
        let root = self.root;
        let mut found = BTreeMap::new();
        let mut from = Some(Bytes::new());
        while let Some(key) = from {
            let Range { entries, next } = self.until(|stream| range(stream, root, &key))?;
            for (key, value) in entries {
                let value = self.until(|stream| bytes_of(stream, &value))?;
                assert!(found.last_key_value().is_none_or(|(last, _)| *last < key), "the keys ascend");
                found.insert(key, value);
            }
            from = next;
        }
        Ok(found)
    }

    fn check(&mut self) -> Vec<String> {
        let mut checked = Checked::default();
        let root = self.root;
        let mut stack = Vec::new();
        if root.page != 0 {
            checked.named.insert(root.page);
            stack.push(Expected { number: root.page, level: root.level, from: Bytes::new(), to: None });
        }
        while let Some(expected) = stack.pop() {
            match self.until(|stream| stream.node(expected.number, expected.level)) {
                Ok(node) => {
                    let (below, long) = check_node(&mut checked, &expected, &node);
                    stack.extend(below);
                    for (number, position) in long {
                        if let Err(reason) = self.until(|stream| stream.long_value(number, position)) {
                            checked.findings.push(reason);
                        }
                    }
                }
                Err(reason) => checked.findings.push(reason),
            }
        }
        if checked.entries != root.entries {
            checked.findings.push(format!("{} entries, the root says {}", checked.entries, root.entries));
        }
        if checked.findings.is_empty() && !self.pages.keys().all(|page| checked.named.contains(*page)) {
            checked.findings.push("pages are mapped that the tree does not name".to_owned());
        }
        checked.findings
    }
}

impl Stream {
    /// Content of a page of a long value.
    fn long_value(&mut self, number: PageNumber, position: u32) -> Option<Bytes> {
        let block = self.page(number)?;
        self.keep(decode_value(&block, number, position).map(Bytes::copy_from_slice))
    }
}

impl Source for Stream {
    fn node(&mut self, number: PageNumber, level: u8) -> Option<Rc<Node>> {
        let block = self.page(number)?;
        let node = self.keep(Node::decode(&block, number))?;
        if node.level != level {
            self.damaged = Some(format!("page {number} is at another level"));
            return None;
        }
        Some(Rc::new(node))
    }

    fn hole(&mut self, from: PageNumber) -> Option<Result<PageNumber, Full>> {
        (from..).find(|number| !self.pages.contains_key(number)).map(Ok)
    }

    fn broken(&mut self, reason: String) {
        self.damaged = Some(reason);
    }
}

fn random_value(random: &Random) -> Bytes {
    let longest = match random.below(20) {
        0 => 70_000,
        1..4 => 3000,
        _ => 300,
    };
    let length = random.below(longest) as usize;
    vec![random.byte(); length].into()
}

fn random_key(random: &Random, keys: u64) -> Bytes {
    let number = random.below(keys);
    let padding = "k".repeat((number % 7 * 9) as usize);
    format!("volume/{padding}{number}").into()
}

#[test]
fn it_agrees_with_an_ordered_map() {
    for seed in 0..12 {
        let random = Random::new(seed);
        let (mut stream, mut model) = (Stream::default(), BTreeMap::new());
        let keys = [40, 400, 2500][seed as usize % 3];
        for round in 0..120 {
            // Rounds that mostly add, and rounds that mostly remove.
            let removes = if round / 20 % 2 == 0 { 1 } else { 8 };
            let mut changes = Changes::new();
            let size = 1 << random.below(9);
            for _ in 0..=random.below(size) {
                let value = (random.below(10) >= removes).then(|| random_value(&random));
                changes.insert(random_key(&random, keys), value);
            }
            for (key, value) in &changes {
                match value {
                    Some(value) => model.insert(key.clone(), value.clone()),
                    None => model.remove(key),
                };
            }
            if random.below(2) == 0 {
                stream.present.clear();
            }
            stream.apply(&changes).unwrap();
            assert_eq!(stream.root.entries, model.len() as u64);
            assert_eq!(stream.check(), Vec::<String>::new(), "seed {seed}, round {round}");
            let key = random_key(&random, keys);
            assert_eq!(stream.get(&key).unwrap(), model.get(&key).cloned());
        }
        assert_eq!(stream.all().unwrap(), model);
        let everything = model.keys().map(|key| (key.clone(), None)).collect();
        stream.apply(&everything).unwrap();
        assert_eq!((stream.root, stream.pages.len()), (IndexRoot::default(), 0));
    }
}

#[test]
fn a_range_begins_at_any_key() {
    let mut stream = Stream::default();
    let keys: Vec<Bytes> = (0..2000u32).map(|n| format!("{:05}", n * 2).into()).collect();
    stream.apply(&keys.iter().map(|key| (key.clone(), Some(key.clone()))).collect()).unwrap();
    assert!(stream.root.level > 0);
    for n in 0..4001u32 {
        let (from, root) = (Bytes::from(format!("{n:05}")), stream.root);
        let first = keys.iter().find(|key| **key >= from);
        let mut at = Some(from);
        let mut found = None;
        while let (None, Some(key)) = (&found, &at) {
            let Range { entries, next } = stream.until(|stream| range(stream, root, key)).unwrap();
            found = entries.into_iter().next().map(|(key, _)| key);
            at = next;
        }
        assert_eq!(found.as_ref(), first, "from {n}");
    }
}

#[test]
fn a_change_writes_its_leaf_and_nothing_else() {
    let mut stream = Stream::default();
    let value = Bytes::from(vec![b'v'; 250]);
    let key = |n: u32| Bytes::from(format!("volume/{n}"));
    stream.apply(&(0..100_000).map(|n| (key(n), Some(value.clone()))).collect()).unwrap();
    assert!(stream.root.level >= 2, "{:?}", stream.root);
    let batch = stream.apply(&[(key(77), Some(vec![b'w'; 250].into()))].into()).unwrap();
    assert_eq!((batch.writes.len(), batch.freed.len()), (1, 0));
    // A bulk load fills the leaves: the tree is little larger than its content.
    let content: usize = (0..100_000).map(|n| key(n).len() + 256).sum();
    assert!(stream.pages.len() * BLOCK_BYTES < content * 11 / 10, "{} pages for {content} bytes", stream.pages.len());
}

#[test]
fn pages_come_back_when_most_of_a_tree_is_removed() {
    let mut stream = Stream::default();
    let key = |n: u32| Bytes::from(format!("volume/{n}"));
    stream.apply(&(0..20_000).map(|n| (key(n), Some(vec![1; 100].into()))).collect()).unwrap();
    let full = stream.pages.len();
    // One entry in twenty stays; the others are removed in small batches in random order.
    let random = Random::new(7);
    let mut gone: Vec<u32> = (0..20_000).filter(|n| n % 20 != 0).collect();
    while !gone.is_empty() {
        let batch =
            (0..50.min(gone.len())).map(|_| (key(gone.swap_remove(random.below(gone.len() as u64) as usize)), None));
        let batch = batch.collect();
        stream.apply(&batch).unwrap();
    }
    assert_eq!(stream.root.entries, 1000);
    assert!(stream.pages.len() * 6 < full, "{} of {full} pages are left", stream.pages.len());
    assert_eq!(stream.check(), Vec::<String>::new());
}

#[test]
fn a_change_touches_no_more_pages_than_it_says() {
    let random = Random::new(3);
    let mut stream = Stream::default();
    for _ in 0..6000 {
        let (key, value) = (random_key(&random, 3000), (random.below(3) > 0).then(|| random_value(&random)));
        let before = stream.get(&key).unwrap().map_or(0, |value| value.len());
        let after = value.as_ref().map_or(0, Bytes::len);
        let level = stream.root.level;
        let most = pages_of_change(level, before, after);
        let batch = stream.apply(&[(key.clone(), value)].into()).unwrap();
        let touched = (batch.writes.len() + batch.freed.len()) as u64;
        assert!(touched <= most, "{touched} pages, at most {most} were expected");
        let written = batch.writes.len() as u64;
        let most = written_nodes(level) + long_pages(&key, after);
        assert!(written <= most, "{written} pages written, at most {most} were expected");
    }
}

/// Verifies the number of pages that a checkpoint keeps free for its writes.
#[test]
fn many_changes_write_no_more_pages_than_they_say() {
    let random = Random::new(5);
    for round in 0..300 {
        let mut stream = Stream::default();
        // Entries of similar size fill pages worst.
        let size = 1 + random.below(2100) as usize;
        for batch in 0..3 {
            let level = stream.root.level;
            let changes: Changes = (0..1 + random.below(300))
                .map(|_| {
                    let length = (size + random.below(9) as usize).saturating_sub(random.below(2000) as usize / 10);
                    (random_key(&random, 4000), (random.below(8) > 0).then(|| vec![1; length].into()))
                })
                .collect();
            let pages = |(key, value): (&Bytes, &Option<Bytes>)| long_pages(key, value.as_ref().map_or(0, Bytes::len));
            let single: u64 = changes.iter().map(|change| written_nodes(level) + pages(change)).sum();
            let entry = |(key, value): (&Bytes, &Option<Bytes>)| {
                let value = value.as_ref().map_or(0, Bytes::len);
                let rest = if fits_inline(key, value) { value } else { 4 * pages_of_value(value) };
                (6 + key.len() + rest) as u64
            };
            let stored = || changes.iter().filter(|(_, value)| value.is_some());
            let bulk = bulk_nodes(stored().map(entry).sum()) + stored().map(pages).sum::<u64>();
            let written = stream.apply(&changes).unwrap().writes.len() as u64;
            let most = if batch == 0 { bulk } else { single };
            assert!(written <= most, "round {round}: {written} pages written, at most {most} were expected");
        }
    }
}

#[test]
fn every_flipped_byte_is_noticed() {
    let mut stream = Stream::default();
    let changes: Changes = (0..300u32)
        .map(|n| (Bytes::from(format!("{n}")), Some(vec![(n % 200) as u8 + 1; if n == 7 { 9000 } else { 90 }].into())))
        .collect();
    stream.apply(&changes).unwrap();
    assert!(stream.root.level == 1 && stream.pages.len() > 8);
    for number in stream.pages.keys().copied().collect::<Vec<_>>() {
        for at in 0..BLOCK_BYTES {
            stream.pages.get_mut(&number).unwrap().0[at] ^= 1 << (at % 8);
            assert!(!stream.check().is_empty(), "byte {at} of page {number}");
            stream.pages.get_mut(&number).unwrap().0[at] ^= 1 << (at % 8);
        }
    }
    assert_eq!(stream.check(), Vec::<String>::new());
}

#[test]
fn pages_with_a_good_checksum_and_bad_content_are_refused_or_found() {
    let mut stream = Stream::default();
    let changes: Changes = (0..300u32)
        .map(|n| (Bytes::from(format!("{n}")), Some(vec![(n % 200) as u8 + 1; if n == 7 { 9000 } else { 90 }].into())))
        .collect();
    stream.apply(&changes).unwrap();
    let numbers: Vec<PageNumber> = stream.pages.keys().copied().collect();
    let random = Random::new(11);
    for _ in 0..20_000 {
        let number = numbers[random.below(numbers.len() as u64) as usize];
        let (good, crc) = stream.pages[&number].clone();
        let mut bad = good.clone();
        for _ in 0..=random.below(3) {
            let within = if random.below(2) == 0 { 64 } else { 4096 };
            bad[random.below(within) as usize] = random.below(256) as u8;
        }
        let bad_crc = Crc32c::of(&bad);
        stream.pages.insert(number, (bad, bad_crc));
        // Any answer is accepted, but no panic and no endless walk.
        let root = stream.root;
        let _ = stream.check();
        let _ = stream.get(b"7");
        let removed = changes.keys().step_by(3).map(|key| (key.clone(), None)).collect();
        let _ = stream.until(|stream| apply(stream, root, &removed, 1));
        stream.pages.insert(number, (good, crc));
    }
    assert_eq!(stream.check(), Vec::<String>::new());
    // Pages that changed places.
    for pair in numbers.windows(2) {
        let (a, b) = (stream.pages[&pair[0]].clone(), stream.pages[&pair[1]].clone());
        stream.pages.insert(pair[0], b.clone());
        stream.pages.insert(pair[1], a.clone());
        assert!(!stream.check().is_empty());
        stream.pages.insert(pair[0], a);
        stream.pages.insert(pair[1], b);
    }
}

#[test]
fn the_longest_keys_and_values_fit() {
    let mut stream = Stream::default();
    let key = |n: u8| Bytes::from(vec![n; MAX_KEY_BYTES]);
    let lengths = [0, 1, 1521, 1522, 1523, CAPACITY, CAPACITY + 1, 64 << 10];
    for (n, length) in lengths.into_iter().enumerate() {
        stream.apply(&[(key(n as u8 + 1), Some(vec![9; length].into()))].into()).unwrap();
    }
    for (n, length) in lengths.into_iter().enumerate() {
        assert_eq!(stream.get(&key(n as u8 + 1)).unwrap().unwrap().len(), length);
    }
    assert_eq!(pages_of_value(64 << 10), 17);
    assert_eq!(stream.check(), Vec::<String>::new());
}

#[test]
fn a_batch_asks_for_everything_that_it_needs_at_once() {
    let mut stream = Stream::default();
    let key = |n: u32| Bytes::from(format!("volume/{n}"));
    stream.apply(&(0..100_000).map(|n| (key(n), Some(vec![1; 250].into()))).collect()).unwrap();
    stream.present.clear();
    let changes: Changes = (0..1000).map(|n| (key(n * 97), Some(vec![2; 250].into()))).collect();
    let (root, mut rounds) = (stream.root, 0);
    while apply(&mut stream, root, &changes, 1).is_none() {
        rounds += 1;
        let mut wanted = std::mem::take(&mut stream.wanted);
        stream.present.append(&mut wanted);
    }
    assert_eq!(rounds, u32::from(root.level) + 1);
}

#[test]
fn a_stream_without_room_changes_nothing() {
    struct Tight(Stream);
    impl Source for Tight {
        fn node(&mut self, number: PageNumber, level: u8) -> Option<Rc<Node>> {
            self.0.node(number, level)
        }
        fn hole(&mut self, from: PageNumber) -> Option<Result<PageNumber, Full>> {
            Some(if from > 3 { Err(Full) } else { Ok(from) })
        }
        fn broken(&mut self, reason: String) {
            self.0.broken(reason);
        }
    }
    let mut tight = Tight(Stream::default());
    let changes = (0..200u32).map(|n| (Bytes::from(format!("{n}")), Some(vec![1; 200].into()))).collect();
    assert!(matches!(apply(&mut tight, IndexRoot::default(), &changes, 1), Some(Err(ApplyError::Full))));
    let few = changes.into_iter().take(20).collect();
    assert!(matches!(apply(&mut tight, IndexRoot::default(), &few, 1), Some(Ok(_))));
}
