//! Owners of opens and of locks: each name is kept once, as long as something refers to it.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::table::{Key, Table};

/// What an owner owns. The same name as owner of opens and of locks means two owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owns {
    Opens,
    Locks,
}

#[derive(Debug)]
struct Owner {
    client: Key,
    owns: Owns,
    name: Bytes,
    references: u32,
}

#[derive(Debug)]
pub(super) struct Owners {
    bytes: u64,
    /// Bytes of the names of each client that has any.
    bytes_of: BTreeMap<Key, u64>,
    table: Table<Owner>,
    by_name: BTreeMap<(Key, Owns, Bytes), Key>,
}

impl Owners {
    pub(super) const fn new() -> Self {
        Self { bytes: 0, bytes_of: BTreeMap::new(), table: Table::new(), by_name: BTreeMap::new() }
    }

    /// Bytes of all names.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Bytes of the names of a client.
    pub(super) fn bytes_of(&self, client: Key) -> u64 {
        self.bytes_of.get(&client).copied().unwrap_or(0)
    }

    pub(super) fn find(&self, client: Key, owns: Owns, name: &Bytes) -> Option<Key> {
        self.by_name.get(&(client, owns, name.clone())).copied()
    }

    pub(super) fn name(&self, owner: Key) -> Bytes {
        self.table.get(owner).map(|owner| owner.name.clone()).unwrap_or_default()
    }

    /// Adds a reference to an owner. The caller has checked the room for a new name.
    pub(super) fn refer(&mut self, client: Key, owns: Owns, name: &Bytes) -> Key {
        if let Some(key) = self.find(client, owns, name) {
            if let Some(owner) = self.table.get_mut(key) {
                owner.references += 1;
            }
            return key;
        }
        self.bytes += name.len() as u64;
        *self.bytes_of.entry(client).or_default() += name.len() as u64;
        // A slice of a message would keep all of it.
        let name = Bytes::copy_from_slice(name);
        let key = self.table.insert(|_| Owner { client, owns, name: name.clone(), references: 1 });
        self.by_name.insert((client, owns, name), key);
        key
    }

    /// Takes a reference away; the last one takes the owner with it.
    pub(super) fn release(&mut self, key: Key) {
        let Some(owner) = self.table.get_mut(key) else { return };
        owner.references -= 1;
        if owner.references == 0
            && let Some(owner) = self.table.remove(key)
        {
            let length_bytes = owner.name.len() as u64;
            self.bytes -= length_bytes;
            if let Some(own) = self.bytes_of.get_mut(&owner.client) {
                *own -= length_bytes;
                if *own == 0 {
                    self.bytes_of.remove(&owner.client);
                }
            }
            self.by_name.remove(&(owner.client, owner.owns, owner.name));
        }
    }
}

#[cfg(test)]
impl Owners {
    /// Panics unless all names are found, and `references` refer to them.
    pub(super) fn check(&self, references: u32) {
        assert_eq!(self.table.iter().map(|(_, owner)| owner.references).sum::<u32>(), references);
        assert_eq!(self.table.iter().map(|(_, owner)| owner.name.len() as u64).sum::<u64>(), self.bytes);
        assert_eq!(self.by_name.len() as u32, self.table.len());
        assert_eq!(self.bytes_of.values().sum::<u64>(), self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_as_long_as_something_refers_to_it() {
        let (one, two) = (Key { index: 1, generation: 1 }, Key { index: 2, generation: 1 });
        let mut owners = Owners::new();
        let name = Bytes::from_static(b"abcde");
        let open = owners.refer(one, Owns::Opens, &name);
        assert_eq!(owners.refer(one, Owns::Opens, &name), open);
        let lock = owners.refer(one, Owns::Locks, &name);
        let other = owners.refer(two, Owns::Opens, &name);
        assert_eq!((owners.bytes_of(one), owners.bytes_of(two), owners.bytes()), (10, 5, 15));
        owners.release(lock);
        owners.release(other);
        assert_eq!((owners.bytes_of(one), owners.bytes_of(two)), (5, 0));
        assert_eq!((owners.find(one, Owns::Locks, &name), owners.bytes()), (None, 5));
        owners.release(open);
        assert_eq!((owners.find(one, Owns::Opens, &name), owners.name(open)), (Some(open), name.clone()));
        owners.release(open);
        assert_eq!((owners.find(one, Owns::Opens, &name), owners.bytes()), (None, 0));
    }
}
