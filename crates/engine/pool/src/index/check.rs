//! Verification of a tree: order and bounds of the keys, levels, uniqueness of page references, and
//! the number of entries.

use super::IndexRoot;
use super::page::{Node, PAGES, PageNumber, Target, Value};
use bytes::Bytes;

/// Results of a walk over a tree so far.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// Number of entries in leaves.
    pub entries: u64,
    /// Pages that nodes name, including those of long values.
    pub named: Numbers,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
}

impl Checked {
    /// Findings after a walk over a whole tree, in a stream of `blocks` blocks of which `mapped` are
    /// mapped.
    pub fn finish(self, root: IndexRoot, blocks: u64, mapped: u64) -> Vec<String> {
        let Self { entries, named, mut findings } = self;
        let (last, count) = (named.last().map_or(0, u64::from), named.count());
        if !findings.is_empty() {
            return findings;
        }
        if entries != root.entries {
            findings.push(format!("the index holds {entries} entries, the root says {}", root.entries));
        } else if count != mapped {
            findings.push(format!("{count} pages belong to the index, {mapped} are stored"));
        }
        if last >= blocks && count > 0 {
            findings.push(format!("page {last} belongs to the index, the root gives it {blocks} blocks"));
        }
        findings
    }
}

/// Set of pages, a bit each.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    words: Vec<u64>,
    count: u64,
}

impl Numbers {
    /// Adds a page; true if it is new.
    pub fn insert(&mut self, number: PageNumber) -> bool {
        let (word, bit) = (number as usize / 64, 1u64 << (number % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let Some(word) = self.words.get_mut(word) else { return false };
        let new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(new);
        new
    }

    /// True if the set has the page.
    #[cfg(test)]
    pub fn contains(&self, number: PageNumber) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// Highest page.
    fn last(&self) -> Option<PageNumber> {
        let (at, word) = self.words.iter().enumerate().rfind(|(_, word)| **word != 0)?;
        Some(64 * at as PageNumber + word.ilog2())
    }

    /// Number of pages.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// Node to visit: its page, its level, and the bounds of its keys.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub number: PageNumber,
    pub level: u8,
    pub from: Bytes,
    pub to: Option<Bytes>,
}

/// Verifies one node; returns the nodes below it, and the pages of long values.
pub(crate) fn check_node(
    checked: &mut Checked,
    expected: &Expected,
    node: &Node,
) -> (Vec<Expected>, Vec<(PageNumber, u32)>) {
    let number = expected.number;
    let (mut below, mut long) = (Vec::new(), Vec::new());
    if node.level != expected.level {
        checked.findings.push(format!("index page {number}: it is at level {}, not {}", node.level, expected.level));
        return (below, long);
    }
    for (at, entry) in node.entries.iter().enumerate() {
        let inner = node.level > 0 && at == 0;
        let inside = inner || (entry.key >= expected.from && expected.to.as_ref().is_none_or(|to| entry.key < *to));
        if !inside {
            checked.findings.push(format!("index page {number}: a key does not belong there"));
        }
        let mut name = |page: PageNumber| {
            if page == 0 || page >= PAGES || !checked.named.insert(page) {
                checked
                    .findings
                    .push(format!("index page {number}: it names page {page}, which is none or named twice"));
                return false;
            }
            true
        };
        match &entry.target {
            Target::Child(child) => {
                if name(*child) {
                    let from = if inner { expected.from.clone() } else { entry.key.clone() };
                    let to = node.entries.get(at + 1).map(|next| next.key.clone()).or_else(|| expected.to.clone());
                    below.push(Expected { number: *child, level: node.level - 1, from, to });
                }
            }
            Target::Value(value) => {
                checked.entries += 1;
                if let Value::Long { pages, .. } = value {
                    for (position, page) in pages.iter().enumerate() {
                        if name(*page) {
                            long.push((*page, position as u32));
                        }
                    }
                }
            }
        }
    }
    (below, long)
}
