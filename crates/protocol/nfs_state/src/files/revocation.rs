//! How state goes: given back, forgotten with its client, or revoked, which leaves its stateid until it is freed.

use std::collections::BTreeSet;

use super::{Entry, FileKey, Files, Kind, Lock, Open, Revocation};
use crate::mutations::{Mutation, leaves_out};
use crate::table::Key;

impl Files {
    /// Takes an entry out of its file and of all indexes but that by client.
    fn detach(&mut self, key: Key, becomes: Kind) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let client = entry.client;
        let kind = std::mem::replace(&mut entry.kind, becomes);
        self.count(client, &kind, -1);
        match kind {
            Kind::Open(open) => self.detach_open(key, open),
            Kind::Lock(lock) => self.detach_lock(client, key, lock),
            Kind::Copy | Kind::Revoked(_) => {}
        }
    }

    fn detach_open(&mut self, key: Key, open: Open) {
        self.open_of.remove(&(open.file, open.owner));
        self.owners.release(open.owner);
        let Some(file) = self.files.get_mut(open.file) else { return };
        file.shares.remove(open.opened.share());
        file.opens.remove(&key);
        if file.opens.is_empty()
            && let Some(file) = self.files.remove(open.file)
        {
            // Locks go before opens, so that no ranges are left.
            self.by_file.remove(&file.key);
            if !leaves_out(Mutation::Release) {
                self.released.insert(file.key);
            }
        }
    }

    fn detach_lock(&mut self, client: Key, key: Key, lock: Lock) {
        self.change_ranges(client, lock.file, |ranges| ranges.remove(key));
        self.lock_of.remove(&(lock.open, lock.owner));
        self.owners.release(lock.owner);
    }

    /// Removes an entry. Locks of an open go before it.
    pub(super) fn remove(&mut self, key: Key) {
        // The kind is counted again below only if it stays.
        self.detach(key, Kind::Copy);
        if let Some(Entry { client, .. }) = self.entries.remove(key) {
            self.by_client.remove(&(client, key));
        }
    }

    /// Revokes an entry, unless it is revoked.
    fn revoke(&mut self, key: Key, revocation: Revocation) {
        let Some(Entry { client, kind, .. }) = self.entries.get(key) else { return };
        let client = *client;
        if !matches!(kind, Kind::Revoked(_)) {
            self.detach(key, Kind::Revoked(revocation));
            self.count(client, &Kind::Revoked(revocation), 1);
        }
    }

    /// Entries of a client, locks before opens.
    fn entries_of(&self, client: Key) -> Vec<Key> {
        let of_client = self.by_client.range((client, Key::MIN)..=(client, Key::MAX));
        let (opens, others): (Vec<Key>, Vec<Key>) =
            of_client.map(|(_, key)| *key).partition(|key| self.open(*key).is_some());
        others.into_iter().chain(opens).collect()
    }

    /// Revokes all that a client has.
    pub(crate) fn revoke_client(&mut self, client: Key, revocation: Revocation) {
        for key in self.entries_of(client) {
            self.revoke(key, revocation);
        }
    }

    /// Removes all that a client has or had.
    pub(crate) fn forget_client(&mut self, client: Key) {
        for key in self.entries_of(client) {
            self.remove(key);
        }
    }

    /// Revokes all opens and locks of the files of a share; returns their clients.
    pub(crate) fn revoke_share(&mut self, share: u64) -> BTreeSet<Key> {
        let of_share = FileKey { share, file: 0 }..=FileKey { share, file: u64::MAX };
        let files: Vec<Key> = self.by_file.range(of_share).map(|(_, key)| *key).collect();
        let mut clients = BTreeSet::new();
        for file in files {
            let opens = self.files.get(file).map(|file| file.opens.clone()).unwrap_or_default();
            for open in opens {
                clients.extend(self.entries.get(open).map(|entry| entry.client));
                for lock in self.locks_of_open(open) {
                    self.revoke(lock, Revocation::Administrative);
                }
                self.revoke(open, Revocation::Administrative);
            }
        }
        clients
    }
}
