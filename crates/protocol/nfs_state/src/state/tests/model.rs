//! Random opens, locks and lapses against a model without indexes: maps of what each owner has, and one cell for each
//! byte.

use std::collections::{BTreeMap, BTreeSet};

use nfs::v4::locks::{LockFailure, LockType};
use nfs::v4::{Stateid, Status};
use random::Random;

use super::kit::{Client, Kit, LEASE, SECOND, USER, existing_locker, new_locker};
use crate::state::{Io, IoAccess};
use crate::{FileKey, Limits};

/// Steps of a seed.
const STEPS: u32 = 8000;
const SEEDS: u64 = 4;
const CLIENTS: usize = 3;
const OWNERS: usize = 3;
const FILES: usize = 3;
/// Bytes that are locked; the last cell stands for all behind it.
const CELLS: u64 = 24;

/// Client, owner and file.
type OpenName = (usize, usize, usize);
/// Client and lock owner.
type LockOwner = (usize, usize);

#[derive(Debug)]
struct ModelOpen {
    stateid: Stateid,
    /// Share of each OPEN that is in force.
    shares: BTreeSet<(u32, u32)>,
    /// Stateid of each lock owner.
    locks: BTreeMap<usize, Stateid>,
}

impl ModelOpen {
    fn share(&self) -> (u32, u32) {
        self.shares.iter().fold((0, 0), |(access, deny), share| (access | share.0, deny | share.1))
    }
}

#[derive(Default)]
struct Model {
    opens: BTreeMap<OpenName, ModelOpen>,
    /// For each file and cell the owners that have it locked, through which open, and whether for themselves.
    cells: BTreeMap<(usize, u64), BTreeMap<LockOwner, (OpenName, bool)>>,
    /// Stateids that were revoked.
    revoked: BTreeMap<usize, Vec<Stateid>>,
}

/// What is in the way: nothing, clients that are silent, or one that is not.
type Verdict = Result<BTreeSet<usize>, ()>;

fn verdict(in_the_way: impl Iterator<Item = usize>, silent: &[bool]) -> Verdict {
    in_the_way.map(|client| if silent[client] { Ok(client) } else { Err(()) }).collect()
}

impl Model {
    fn share_verdict(
        &self,
        own: Option<OpenName>,
        file: usize,
        (access, deny): (u32, u32),
        silent: &[bool],
    ) -> Verdict {
        let others = self.opens.iter().filter(|(name, _)| name.2 == file && Some(**name) != own);
        let in_the_way = others.filter(|(_, open)| access & open.share().1 != 0 || deny & open.share().0 != 0);
        verdict(in_the_way.map(|(name, _)| name.0), silent)
    }

    fn lock_verdict(
        &self,
        owner: LockOwner,
        file: usize,
        (first, last): (u64, u64),
        exclusive: bool,
        silent: &[bool],
    ) -> Verdict {
        let cells = (first..=last).filter_map(|cell| self.cells.get(&(file, cell)));
        let in_the_way = cells.flatten().filter(|(other, (_, own))| **other != owner && (exclusive || *own));
        verdict(in_the_way.map(|(other, _)| other.0), silent)
    }

    /// Takes what an open has locked.
    fn unlock_open(&mut self, open: OpenName, owner: Option<usize>) {
        for cell in self.cells.values_mut() {
            cell.retain(|other, (through, _)| *through != open || owner.is_some_and(|owner| owner != other.1));
        }
    }

    fn close(&mut self, name: OpenName) -> Option<ModelOpen> {
        self.unlock_open(name, None);
        self.opens.remove(&name)
    }

    /// Revokes what the clients have of some files.
    fn revoke(&mut self, is_hit: impl Fn(&OpenName) -> bool) {
        let hit: Vec<OpenName> = self.opens.keys().copied().filter(is_hit).collect();
        for name in hit {
            let open = self.close(name).expect("an open");
            let revoked = self.revoked.entry(name.0).or_default();
            revoked.push(open.stateid);
            revoked.extend(open.locks.into_values());
        }
    }

    fn expire(&mut self, clients: &BTreeSet<usize>) {
        self.revoke(|name| clients.contains(&name.0));
    }
}

struct Run {
    random: Random,
    kit: Kit,
    model: Model,
    clients: Vec<Client>,
    sequences: Vec<u32>,
    silent: Vec<bool>,
    granted: u32,
    refused: u32,
}

fn file(number: usize) -> FileKey {
    FileKey { share: number as u64 % 2, file: number as u64 }
}

fn name(owner: usize) -> String {
    format!("owner {owner}")
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut kit = Kit::with(Limits::default());
        let clients = (0..CLIENTS).map(|number| kit.client(&format!("client {number}"), number as u64)).collect();
        let (sequences, silent) = (vec![0; CLIENTS], vec![false; CLIENTS]);
        let random = Random::new(seed);
        Self { random, kit, model: Model::default(), clients, sequences, silent, granted: 0, refused: 0 }
    }

    fn renew(&mut self, client: usize) -> u32 {
        self.sequences[client] += 1;
        self.silent[client] = false;
        self.kit.renew(&self.clients[client].clone(), self.sequences[client]).status_flags
    }

    fn open_name(&self) -> OpenName {
        (self.random.index(CLIENTS), self.random.index(OWNERS), self.random.index(FILES))
    }

    /// An open that there is.
    fn some_open(&self) -> Option<OpenName> {
        let names: Vec<&OpenName> = self.model.opens.keys().collect();
        names.get(self.random.index(names.len())).map(|name| **name)
    }

    fn extent(&self) -> ((u64, u64), (u64, u64)) {
        let first = self.random.below(CELLS);
        if self.random.chance(15) {
            return ((first, CELLS - 1), (first, u64::MAX));
        }
        let first = first.min(CELLS - 2);
        let last = first + self.random.below(CELLS - 1 - first);
        ((first, last), (first, last - first + 1))
    }

    fn count(&mut self, is_granted: bool) {
        if is_granted { self.granted += 1 } else { self.refused += 1 }
    }

    fn open(&mut self) {
        let name_of_open @ (client, owner, number) = self.open_name();
        self.renew(client);
        let wanted =
            (self.random.below(3) as u32 + 1, if self.random.chance(60) { 0 } else { self.random.below(4) as u32 });
        let own = self.model.opens.get(&name_of_open).map(ModelOpen::share);
        let added = own.map_or(wanted, |own| (wanted.0 & !own.0, wanted.1 & !own.1));
        let against_itself = own.is_some_and(|own| added.0 & own.1 != 0 || added.1 & own.0 != 0);
        let verdict = self.model.share_verdict(Some(name_of_open), number, added, &self.silent);
        let opened = self.kit.open(&self.clients[client].clone(), &name(owner), &file(number), wanted.0, wanted.1);
        let Ok(expired) = verdict.and_then(|expired| if against_itself { Err(()) } else { Ok(expired) }) else {
            assert_eq!(opened.err(), Some(Status::SHARE_DENIED));
            return self.count(false);
        };
        let stateid = opened.expect("nothing is in the way").stateid;
        self.model.expire(&expired);
        let new = || ModelOpen { stateid, shares: BTreeSet::new(), locks: BTreeMap::new() };
        let open = self.model.opens.entry(name_of_open).or_insert_with(new);
        let version = if own.is_some() { open.stateid.seqid + 1 } else { 1 };
        assert_eq!(stateid.seqid, version);
        open.stateid = stateid;
        open.shares.insert(wanted);
        self.count(true);
    }

    fn downgrade(&mut self) {
        let Some(name) = self.some_open() else { return };
        self.renew(name.0);
        let left = (self.random.below(3) as u32 + 1, self.random.below(4) as u32);
        let open = self.model.opens.get_mut(&name).expect("an open");
        let kept: BTreeSet<(u32, u32)> =
            open.shares.iter().copied().filter(|share| share.0 & !left.0 == 0 && share.1 & !left.1 == 0).collect();
        let union = kept.iter().fold((0, 0), |sum, share| (sum.0 | share.0, sum.1 | share.1));
        let client = self.clients[name.0].clone();
        let result = self.kit.downgrade(&client, &file(name.2), open.stateid, left.0, left.1);
        if union == left {
            open.stateid = result.expect("a union of opens");
            open.shares = kept;
        } else {
            assert_eq!(result, Err(Status::INVAL));
        }
        self.count(union == left);
    }

    fn close(&mut self) {
        let Some(name) = self.some_open() else { return };
        self.renew(name.0);
        let open = self.model.close(name).expect("an open");
        let client = self.clients[name.0].clone();
        assert_eq!(self.kit.close(&client, &file(name.2), open.stateid), Ok(Stateid::INVALID));
        assert_eq!(self.kit.close(&client, &file(name.2), open.stateid), Err(Status::BAD_STATEID));
    }

    fn lock(&mut self) {
        let Some(open_name) = self.some_open() else { return };
        let (client, _, number) = open_name;
        self.renew(client);
        // Lock owners are shared by the opens of a client.
        let owner = self.random.index(2);
        let exclusive = self.random.chance(50);
        let (cells, range) = self.extent();
        let open = &self.model.opens[&open_name];
        let known = open.locks.get(&owner).copied();
        let locker = match known {
            Some(stateid) if self.random.chance(70) => existing_locker(stateid),
            _ => new_locker(open.stateid, &name(owner)),
        };
        let kind = if exclusive { LockType::Write } else { LockType::Read };
        let allowed = open.share().0 & if exclusive { 2 } else { 1 } != 0;
        let verdict = self.model.lock_verdict((client, owner), number, cells, exclusive, &self.silent);
        let result = self.kit.lock_by(&self.clients[client].clone(), &file(number), kind, range, locker);
        if !allowed {
            assert_eq!(result, Err(LockFailure::Other(Status::OPENMODE)));
            return self.count(false);
        }
        let Ok(expired) = verdict else {
            let Err(LockFailure::Denied(denied)) = result else { panic!("granted against another lock: {result:?}") };
            let last = denied.offset_bytes.saturating_add(denied.length_bytes - 1);
            assert!(denied.offset_bytes <= cells.1 && last >= cells.0, "{denied:?} is not in the way of {cells:?}");
            assert!(exclusive || denied.kind == LockType::Write);
            return self.count(false);
        };
        self.model.expire(&expired);
        let stateid = result.expect("nothing is in the way");
        assert_eq!(stateid.seqid, known.map_or(1, |known| known.seqid + 1));
        self.model.opens.get_mut(&open_name).expect("an open").locks.insert(owner, stateid);
        for cell in cells.0..=cells.1 {
            let locks = self.model.cells.entry((number, cell)).or_default();
            locks.insert((client, owner), (open_name, exclusive));
        }
        self.count(true);
    }

    fn unlock(&mut self) {
        let Some(open_name) = self.some_open() else { return };
        let (client, _, number) = open_name;
        self.renew(client);
        let (cells, (offset_bytes, length_bytes)) = self.extent();
        let open = self.model.opens.get_mut(&open_name).expect("an open");
        let Some((owner, stateid)) = open.locks.iter_mut().next() else { return };
        let arguments = nfs::v4::locks::UnlockArguments {
            kind: LockType::Read,
            seqid: 0,
            stateid: *stateid,
            offset_bytes,
            length_bytes,
        };
        let reference = self.clients[client].reference;
        *stateid = self.kit.state.unlock(reference, &file(number), &arguments).expect("a lock stateid");
        for cell in cells.0..=cells.1 {
            if let Some(locks) = self.model.cells.get_mut(&(number, cell)) {
                locks.remove(&(client, *owner));
            }
        }
    }

    fn free_lock(&mut self) {
        let Some(open_name) = self.some_open() else { return };
        self.renew(open_name.0);
        let open = &self.model.opens[&open_name];
        let Some((owner, stateid)) = open.locks.iter().next().map(|(owner, stateid)| (*owner, *stateid)) else {
            return;
        };
        let has_ranges = self
            .model
            .cells
            .values()
            .any(|locks| locks.get(&(open_name.0, owner)).is_some_and(|(through, _)| *through == open_name));
        let result = self.kit.state.free_stateid(self.clients[open_name.0].reference, &stateid);
        assert_eq!(result, if has_ranges { Err(Status::LOCKS_HELD) } else { Ok(()) });
        if !has_ranges {
            self.model.opens.get_mut(&open_name).expect("an open").locks.remove(&owner);
        }
    }

    fn io(&mut self) {
        let number = self.random.index(FILES);
        let access = if self.random.chance(50) { IoAccess::Read } else { IoAccess::Write };
        let bits = if access == IoAccess::Read { 1 } else { 2 };
        if self.random.chance(50) {
            let verdict = self.model.share_verdict(None, number, (bits, 0), &self.silent);
            let result = self.kit.state.check_anonymous_io(&file(number), access, self.kit.now);
            assert_eq!(result.is_ok(), verdict.is_ok(), "{result:?} {verdict:?}");
            self.model.expire(&verdict.unwrap_or_default());
        } else if let Some(name) = self.some_open() {
            self.renew(name.0);
            let open = &self.model.opens[&name];
            let has = open.share().0 & bits != 0;
            let (stateid, reference) = (open.stateid, self.clients[name.0].reference);
            let result = self.kit.state.check_io(reference, USER, &file(name.2), &stateid, access, self.kit.now);
            if has {
                assert_eq!(result, Ok(Io::Open));
            } else if bits == 2 {
                assert_eq!(result, Err(Status::OPENMODE));
            } else {
                let verdict = self.model.share_verdict(Some(name), name.2, (bits, 0), &self.silent);
                assert_eq!(result.is_ok(), verdict.is_ok());
                self.model.expire(&verdict.unwrap_or_default());
            }
        }
    }

    fn remove(&mut self) {
        let number = self.random.index(FILES);
        let verdict = self.model.share_verdict(None, number, (2, 0), &self.silent);
        let result = self.kit.state.check_remove(&file(number), self.kit.now);
        assert_eq!(result, verdict.clone().map(drop).map_err(|()| Status::FILE_OPEN));
        self.model.expire(&verdict.unwrap_or_default());
    }

    /// Some clients renew their lease, and those of the others expire.
    fn lapse(&mut self) {
        self.kit.now += LEASE + SECOND;
        for client in 0..CLIENTS {
            self.silent[client] = true;
            if self.random.chance(50) {
                self.renew(client);
            }
        }
    }

    /// A client learns of its loss, and frees what it has lost.
    fn recover(&mut self) {
        let client = self.random.index(CLIENTS);
        let lost = self.model.revoked.remove(&client).unwrap_or_default();
        assert_eq!(self.renew(client) != 0, !lost.is_empty());
        let reference = self.clients[client].reference;
        for stateid in lost {
            let status = self.kit.state.test_stateid(reference, &[stateid])[0];
            assert!(matches!(status, Err(Status::EXPIRED | Status::ADMIN_REVOKED)), "{status:?}");
            assert_eq!(self.kit.state.free_stateid(reference, &stateid), Ok(()));
        }
        assert_eq!(self.renew(client), 0);
    }

    fn revoke(&mut self) {
        if self.random.chance(50) {
            let client = self.random.index(CLIENTS);
            self.kit.state.revoke_client(self.clients[client].id, self.kit.now).expect("a client");
            self.model.expire(&BTreeSet::from([client]));
        } else {
            let share = self.random.below(2);
            self.kit.state.revoke_share(share);
            self.model.revoke(|name| file(name.2).share == share);
        }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..30 => self.open(),
            30..37 => self.downgrade(),
            37..46 => self.close(),
            46..70 => self.lock(),
            70..78 => self.unlock(),
            78..81 => self.free_lock(),
            81..89 => self.io(),
            89..92 => self.remove(),
            92..95 => self.lapse(),
            95..99 => self.recover(),
            _ => self.revoke(),
        }
        self.compare();
    }

    /// The model and the state have the same opens and the same locks in every cell.
    fn compare(&mut self) {
        self.kit.state.files.check();
        let ids: Vec<u64> = self.clients.iter().map(|client| client.id).collect();
        let client_of = |id| ids.iter().position(|other| *other == id).expect("a client");
        let number = |text: &[u8]| usize::from(text[text.len() - 1] - b'0');
        let opens: BTreeMap<OpenName, (Stateid, (u32, u32))> = self
            .kit
            .state
            .list_opens(0, 1000)
            .elements
            .iter()
            .map(|open| {
                let name = (client_of(open.client), number(&open.owner), open.file.file as usize);
                (name, (open.stateid, (open.access, open.deny)))
            })
            .collect();
        let expected: BTreeMap<_, _> =
            self.model.opens.iter().map(|(name, open)| (*name, (open.stateid, open.share()))).collect();
        assert_eq!(opens, expected);

        let mut cells: BTreeSet<(usize, u64, LockOwner, bool)> = BTreeSet::new();
        for lock in self.kit.state.list_locks(None, 0, 10_000).elements {
            let last = lock.offset_bytes.saturating_add(lock.length_bytes - 1).min(CELLS - 1);
            let owner = (client_of(lock.client), number(&lock.owner));
            for cell in lock.offset_bytes..=last {
                assert!(cells.insert((lock.file.file as usize, cell, owner, lock.exclusive)), "locked twice");
            }
        }
        let expected: BTreeSet<_> = self
            .model
            .cells
            .iter()
            .flat_map(|((file, cell), locks)| locks.iter().map(|(owner, (_, own))| (*file, *cell, *owner, *own)))
            .collect();
        assert_eq!(cells, expected);
        let holdings = self.kit.state.totals(self.kit.now).holdings;
        let revoked: usize = self.model.revoked.values().map(Vec::len).sum();
        assert_eq!((holdings.expired + holdings.revoked) as usize, revoked);
    }
}

#[test]
fn opens_and_locks_are_those_of_the_model() {
    for seed in 0..SEEDS {
        let mut run = Run::new(seed);
        for _ in 0..STEPS {
            run.step();
        }
        assert!(run.granted > 1000 && run.refused > 500, "{} granted, {} refused", run.granted, run.refused);
        for client in run.clients.clone() {
            run.kit.state.remove_client(run.kit.state.clients.find(client.id).expect("a client"), run.kit.now);
        }
        run.kit.state.files.check();
        let totals = run.kit.state.totals(run.kit.now);
        assert_eq!((totals.holdings, totals.ranges, totals.owner_bytes), (Default::default(), 0, 0));
        assert_eq!((totals.clients, totals.sessions, totals.slots, totals.replies_bytes), (0, 0, 0, 0));
    }
}
