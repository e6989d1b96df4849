//! Snapshots and clones that are created while the load writes, and must exist with the same
//! content after every power cut.

use super::remote::Remote;
use anyhow::{Context, Result, bail, ensure};
use conformance::url::Url;

/// Copies kept; the oldest is deleted for a new one.
const KEPT: usize = 2;

/// Snapshot of the volume, and a clone of it.
struct Copy {
    /// Name of the snapshot, without its volume.
    snapshot: String,
    /// Name of the clone.
    clone: String,
    url: Url,
    /// Content of both, once it has been read.
    stamps: Option<Vec<u64>>,
}

/// Copies of one volume.
pub(super) struct Copies {
    volume: String,
    /// Blocks of the volume that the load writes.
    blocks: u32,
    copies: Vec<Copy>,
    made: u32,
    rounds: usize,
    compared: u32,
}

impl Copies {
    /// Creates a list without copies.
    pub(super) fn new(volume: &str, blocks: u32) -> Self {
        Self { volume: volume.to_owned(), blocks, copies: Vec::new(), made: 0, rounds: 0, compared: 0 }
    }

    /// Numbers of snapshots created, and of comparisons.
    pub(super) fn counts(&self) -> (u32, u32) {
        (self.made, self.compared)
    }

    /// Creates a snapshot and a clone of it, reads the clone at once if `read`, and removes the
    /// oldest copy when there are too many.
    pub(super) fn make(&mut self, remote: &Remote, read: bool) -> Result<()> {
        self.made += 1;
        let snapshot = format!("s{}", self.made);
        let clone = format!("{}-clone-{}", self.volume, self.made);
        remote.command(&["snapshot", "create", &self.volume, &snapshot])?;
        remote.command(&["volume", "clone", &format!("{}@{snapshot}", self.volume), &clone])?;
        let url = remote.publish(&clone)?;
        let stamps = if read { Some(remote.stamps(&url, self.blocks)?) } else { None };
        self.copies.push(Copy { snapshot, clone, url, stamps });
        while self.copies.len() > KEPT {
            let oldest = self.copies.remove(0);
            remove(remote, &oldest.clone)?;
            remote.command(&["snapshot", "delete", &format!("{}@{}", self.volume, oldest.snapshot), "--yes"])?;
        }
        Ok(())
    }

    /// Expected volumes and snapshots, including `others`, in order.
    fn names(&self, others: &[&str]) -> Vec<String> {
        let mut names: Vec<_> = others.iter().map(ToString::to_string).collect();
        for copy in &self.copies {
            names.push(format!("{}@{}", self.volume, copy.snapshot));
            names.push(copy.clone.clone());
        }
        names.sort_unstable();
        names
    }

    /// Compares names, the content of every clone, and in rotation that of one snapshot, through a
    /// new clone of it.
    pub(super) fn verify(&mut self, remote: &Remote, others: &[&str]) -> Result<()> {
        let (found, expected) = (remote.names()?, self.names(others));
        ensure!(found == expected, "volumes and snapshots are {found:?}, and not {expected:?}");
        self.rounds += 1;
        let turn = self.rounds % self.copies.len().max(1);
        for (index, copy) in self.copies.iter_mut().enumerate() {
            let stamps = remote.stamps(&copy.url, self.blocks)?;
            let known = copy.stamps.get_or_insert_with(|| stamps.clone());
            compare(known, &stamps).with_context(|| format!("the clone {}", copy.clone))?;
            self.compared += 1;
            if index != turn {
                continue;
            }
            let shown = format!("{}-shown", copy.clone);
            remote.command(&["volume", "clone", &format!("{}@{}", self.volume, copy.snapshot), &shown])?;
            let stamps = remote.stamps(&remote.publish(&shown)?, self.blocks)?;
            compare(known, &stamps).with_context(|| format!("the snapshot {}@{}", self.volume, copy.snapshot))?;
            remove(remote, &shown)?;
        }
        Ok(())
    }
}

/// Deletes a volume that [`Remote::publish`] published.
fn remove(remote: &Remote, volume: &str) -> Result<()> {
    remote.command(&["access", "revoke", volume, "--any", "--yes"])?;
    remote.command(&["volume", "delete", volume, "--now", "--yes"]).map(drop)
}

fn compare(known: &[u64], found: &[u64]) -> Result<()> {
    match known.iter().zip(found).position(|(known, found)| known != found) {
        Some(at) => bail!(
            "changed at block {at}: stamp {} was there, and now it is {}",
            known.get(at).copied().unwrap_or_default(),
            found.get(at).copied().unwrap_or_default()
        ),
        None => Ok(()),
    }
}
