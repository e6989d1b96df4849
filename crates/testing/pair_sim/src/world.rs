//! Two arrays, their hosts, administrators and the link between them, in virtual time.

use crate::Report;
use crate::side::{Side, end};
use crate::store::{LOST, Store, View, Volumes};
use random::{Random, mix};
use replication::group::{Next, Verdict};
use replication::source::{Confirmation, Plan, PlanMember, Source};
use replication::store::Replica;
use replication::target::ConnectionId;
use replication::wire::{GroupRole, Hello, Protocols, Start};
use replication::{ArrayId, Code, GroupId, MemberId, Name, Point, PointId, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use uuid::Uuid;

/// Most blocks of a volume.
const MAX_BLOCKS: u64 = 150;
/// Most members of the group.
const MAX_MEMBERS: usize = 5;
/// Steps without a fault after which both arrays must be equal.
const PATIENCE: u64 = 20_000;

/// A run.
pub(crate) struct World {
    random: Random,
    /// Faults and changes by administrators are few.
    is_calm: bool,
    now: Duration,
    sides: [Side; 2],
    /// What each point has, whoever took it.
    truth: BTreeMap<PointId, Volumes>,
    /// Blocks that the source could not read.
    rotten: BTreeSet<u64>,
    /// Members that were cloned from others.
    parents: BTreeMap<MemberId, MemberId>,
    /// Members of the group, in the order of their creation.
    order: Vec<MemberId>,
    next_number: u64,
    next_member: u128,
    next_connection: u64,
    pub report: Report,
    pub story: Option<Vec<String>>,
}

fn volume(random: &Random, next: &mut u64) -> Vec<u64> {
    let mut number = || {
        *next += 1;
        if random.chance(40) { 0 } else { *next }
    };
    (0..8 + random.below(80)).map(|_| number()).collect()
}

fn hello(array: u128) -> Hello {
    let name = |text: &str| Name::try_from(text).unwrap_or_else(|error| panic!("{error}"));
    Hello {
        protocols: Protocols::OURS,
        array: ArrayId(Uuid::from_u128(array)),
        name: name(["site-a", "site-b"][usize::from(array == 2)]),
        release: name("0.3.0"),
        features: BTreeSet::new(),
    }
}

impl World {
    pub fn new(seed: u64, story: bool) -> Self {
        let random = Random::new(seed);
        let id = GroupId(Uuid::from_u128(7));
        let (mut next_number, mut volumes, mut order) = (0, Volumes::new(), Vec::new());
        let members = 1 + random.below(3);
        for member in 1..=u128::from(members) {
            let member = MemberId(Uuid::from_u128(member));
            volumes.insert(member, volume(&random, &mut next_number));
            order.push(member);
        }
        let a = Store::new(Record::new(GroupRole::Owner), volumes);
        let b = Store::new(Record::new(GroupRole::Replica), Volumes::new());
        Self {
            is_calm: random.chance(50),
            random,
            now: Duration::from_secs(1),
            sides: [Side::new("a", id, a), Side::new("b", id, b)],
            truth: BTreeMap::new(),
            rotten: BTreeSet::new(),
            parents: BTreeMap::new(),
            order,
            next_number,
            next_member: u128::from(members),
            next_connection: 0,
            report: Report::default(),
            story: story.then(Vec::new),
        }
    }

    fn tell(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.story.is_some() {
            let line = format!("{:8.3} {}", self.now.as_secs_f64(), line(self));
            self.story.iter_mut().for_each(|story| story.push(line.clone()));
        }
    }

    /// Runs the steps, and then without faults until both arrays are equal.
    pub fn run(&mut self, steps: u64) -> Result<(), String> {
        for _ in 0..steps {
            self.step()?;
        }
        self.heal()
    }

    fn step(&mut self) -> Result<(), String> {
        let at = self.random.index(2);
        let action = self.random.below(1000);
        if self.is_calm && (900..).contains(&action) && self.random.chance(80) {
            return Ok(());
        }
        match action {
            0..400 => {
                for _ in 0..=self.random.below(8) {
                    self.work(at)?;
                    self.settle(at)?;
                }
            }
            400..730 => {
                for _ in 0..=self.random.below(3) {
                    self.deliver(at);
                }
            }
            730..800 => self.host(at),
            800..845 => self.pass(self.random.below(800)),
            845..850 => self.sides[at].slow = !self.sides[at].slow,
            850..890 => self.cycle(at),
            890..900 => self.connect(),
            900..906 => self.cut(),
            906..912 => self.crash(at)?,
            912..932 => self.retire(at),
            932..938 => self.rot(at),
            938..944 => {
                let is_full = self.random.chance(40);
                self.sides[at].store.set_full(is_full);
            }
            944..956 => self.fail_over(at),
            956..970 => self.yield_to_peer(at),
            970..976 => self.hand_over(at),
            976..986 => self.change_members(at),
            _ => {}
        }
        self.settle(at)?;
        self.settle(1 - at)
    }

    fn pass(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }

    fn settle(&mut self, at: usize) -> Result<(), String> {
        let shipped = self.sides[at].shipped();
        if let Some(point) = self.sides[at].settle(self.now) {
            self.report.cycles += 1;
            self.tell(|world| format!("{}: the peer has {point}", world.sides[at].name));
            if let Some((sent, changed)) = shipped.filter(|(sent, changed)| sent > changed) {
                return Err(format!("{sent} blocks were sent, and {changed} have changed"));
            }
        }
        self.carry(at);
        let side = &self.sides[at];
        match (&side.verdict, side.store.broken()) {
            (_, Some(complaint)) => Err(format!("{}: {complaint}", side.name)),
            (Some(Verdict::Stop(refusal)), _) if refusal.code == Code::MustSeed => {
                Err(format!("{}: no common point is left", side.name))
            }
            _ => Ok(()),
        }
    }

    /// Takes the output of all ends of an array to those of the other.
    fn carry(&mut self, at: usize) {
        let [a, b] = &mut self.sides;
        let (from, to) = if at == 0 { (a, b) } else { (b, a) };
        for (id, end) in &mut from.ends {
            while let Some(bytes) = end.link.poll_output() {
                if let Some(peer) = to.ends.get_mut(id) {
                    peer.incoming.extend(bytes);
                }
            }
        }
    }

    fn work(&mut self, at: usize) -> Result<(), String> {
        let side = &mut self.sides[at];
        if side.has_changes() && side.group.record().role != GroupRole::Replica {
            return Err(format!("{}: a cycle changes the volumes of an owner", side.name));
        }
        match side.work(self.now, &self.random) {
            true => self.check(at),
            false => Ok(()),
        }
    }

    fn deliver(&mut self, at: usize) {
        let ids: Vec<_> = self.sides[at].ends.keys().copied().collect();
        if let Some(id) = ids.get(self.random.index(ids.len())) {
            let bytes = if self.random.chance(50) { usize::MAX } else { self.random.index(20_000) };
            self.sides[at].receive(self.now, *id, bytes);
        }
    }

    fn connect(&mut self) {
        // Seldom beside one that works.
        let works = self.sides.iter().all(|side| side.newest().is_some());
        if self.sides[0].ends.len() > 3 || works && self.random.chance(85) {
            return;
        }
        self.next_connection += 1;
        let id = ConnectionId(self.next_connection);
        self.sides[0].connect(self.now, id, hello(1));
        self.sides[1].connect(self.now, id, hello(2));
        self.tell(|_| format!("connection {}", id.0));
    }

    /// Cuts a connection: what is on its way arrives in part, perhaps within a frame.
    fn cut(&mut self) {
        let ids: Vec<_> = self.sides[0].ends.keys().chain(self.sides[1].ends.keys()).copied().collect();
        let Some(id) = ids.get(self.random.index(ids.len())).copied() else { return };
        self.report.cuts += 1;
        self.tell(|_| format!("connection {} is cut", id.0));
        for side in &mut self.sides {
            let waiting = side.ends.get(&id).map_or(0, |end| end.incoming.len());
            side.receive(self.now, id, self.random.index(waiting + 1));
            if let Some(mut end) = side.ends.remove(&id) {
                end.link.handle_end();
            }
            side.lose(id);
        }
    }

    fn crash(&mut self, at: usize) -> Result<(), String> {
        self.report.crashes += 1;
        self.tell(|world| format!("{} crashes", world.sides[at].name));
        self.sides[at].crash(&self.random);
        // Its peer notices some time later.
        if self.random.chance(50) {
            let ids: Vec<_> = self.sides[1 - at].ends.keys().copied().collect();
            self.sides[1 - at].ends.clear();
            ids.into_iter().for_each(|id| self.sides[1 - at].lose(id));
        }
        self.check(at)
    }

    /// Each point of an array is what the group was at its instant, now and after a crash.
    fn check(&self, at: usize) -> Result<(), String> {
        let side = &self.sides[at];
        side.store.look(|image| self.check_image(side.name, image))?;
        side.store.look_durable(|image| self.check_image(side.name, image))
    }

    fn check_image(&self, name: &str, image: &crate::store::Image) -> Result<(), String> {
        for point in &image.record.points {
            let found =
                image.snapshots.get(&point.id).ok_or_else(|| format!("{name}: {} has no snapshots", point.id))?;
            let truth = self.truth.get(&point.id).ok_or_else(|| format!("{name}: nobody has taken {}", point.id))?;
            self.compare(found, truth).map_err(|what| format!("{name}: point {}: {what}", point.id))?;
        }
        Ok(())
    }

    fn compare(&self, found: &Volumes, truth: &Volumes) -> Result<(), String> {
        if !found.keys().eq(truth.keys()) {
            return Err(format!("it has the members {:?}, and not {:?}", found.keys(), truth.keys()));
        }
        for ((id, found), truth) in found.iter().zip(truth.values()) {
            if found.len() != truth.len() {
                return Err(format!("member {} has {} blocks, and not {}", id.0, found.len(), truth.len()));
            }
            for (block, (found, truth)) in found.iter().zip(truth).enumerate() {
                // A replica that took over has lost blocks that the former owner could read once.
                let is_lost = *found == LOST && self.rotten.contains(truth);
                let was_lost = *truth == LOST && self.rotten.contains(found);
                if found != truth && !is_lost && !was_lost {
                    return Err(format!("block {block} of member {} has {found}, and not {truth}", id.0.as_u128()));
                }
            }
        }
        Ok(())
    }

    /// Hosts write, unmap and copy where the group lets them.
    fn host(&mut self, at: usize) {
        let members: Vec<_> = self.sides[at].store.look(|image| image.volumes.keys().copied().collect());
        if !self.sides[at].group.hosts_may_write() || members.is_empty() {
            return;
        }
        let (to, from) = (members[self.random.index(members.len())], members[self.random.index(members.len())]);
        let sizes = self.sides[at].store.look(|image| [to, from].map(|id| image.volumes.get(&id).map_or(0, Vec::len)));
        let (start, source) = (self.random.index(sizes[0] + 1), self.random.index(sizes[1] + 1));
        let aligned = self.random.chance(50);
        let [start, source] = [start, source].map(|block| if aligned { block / 8 * 8 } else { block });
        let count = self.random.index(if aligned { 70 } else { 9 }) + 1;
        let count = count.min(sizes[0] - start).min(sizes[1] - source);
        let first = self.next_number + 1;
        match self.random.below(4) {
            0 => self.sides[at].store.host(|volumes| put(volumes, to, start, &vec![0; count])),
            1 => self.sides[at].store.host(|volumes| {
                let copied = volumes.get(&from).and_then(|from| from.get(source..source + count)).map(<[u64]>::to_vec);
                put(volumes, to, start, &copied.unwrap_or_default());
            }),
            _ => {
                let numbers: Vec<u64> = (first..first + count as u64).collect();
                self.next_number += count as u64;
                self.sides[at].store.host(|volumes| put(volumes, to, start, &numbers));
            }
        }
    }

    /// Members are added, cloned, resized and removed.
    fn change_members(&mut self, at: usize) {
        if self.sides[at].group.record().role != GroupRole::Owner {
            return;
        }
        let members: Vec<_> = self.sides[at].store.look(|image| image.volumes.keys().copied().collect());
        let some = members.get(self.random.index(members.len())).copied();
        let store = &self.sides[at].store;
        match (self.random.below(4), some) {
            (0, Some(id)) => {
                let blocks = usize::try_from(self.random.below(MAX_BLOCKS)).unwrap_or(0);
                store.host(|volumes| volumes.entry(id).or_default().resize(blocks, 0));
            }
            (1, Some(id)) if members.len() > 1 => store.host(|volumes| drop(volumes.remove(&id))),
            (_, parent) if members.len() < MAX_MEMBERS => {
                self.next_member += 1;
                let id = MemberId(Uuid::from_u128(self.next_member));
                self.order.push(id);
                match parent.filter(|_| self.random.chance(60)) {
                    Some(parent) => {
                        self.parents.insert(id, parent);
                        store.host(|volumes| {
                            let content = volumes.get(&parent).cloned().unwrap_or_default();
                            volumes.insert(id, content);
                        });
                    }
                    None => {
                        let content = volume(&self.random, &mut self.next_number);
                        store.host(|volumes| drop(volumes.insert(id, content.clone())));
                    }
                }
            }
            _ => {}
        }
    }

    /// A block of the owner goes bad, for good.
    fn rot(&mut self, at: usize) {
        let side = &self.sides[at];
        let numbers: Vec<u64> = side.store.look(|image| image.volumes.values().flatten().copied().collect());
        if let Some(number) = numbers.get(self.random.index(numbers.len())).copied().filter(|number| *number != 0) {
            side.store.rot(number);
            self.rotten.insert(number);
        }
    }

    /// Retention takes a point that the group lets it take.
    fn retire(&mut self, at: usize) {
        let side = &mut self.sides[at];
        let points = &side.group.record().points;
        let Some(point) = points.get(self.random.index(points.len())).map(|point| point.id) else { return };
        if side.is_storing() {
            return;
        }
        if let Ok(transition) = side.group.delete(point) {
            side.transact(transition.record, |image| drop(image.snapshots.remove(&point)));
            self.tell(|world| format!("{}: {point} is deleted", world.sides[at].name));
        }
    }

    /// The next cycle of an owner.
    fn cycle(&mut self, at: usize) {
        let side = &mut self.sides[at];
        if let Some(Verdict::Yield) = &side.verdict {
            return self.yield_to_peer(at);
        }
        let Some(Verdict::Send { base }) = side.verdict.clone() else { return };
        if side.sending.is_some() {
            return;
        }
        match side.group.next(base) {
            Next::Confirm(point) => {
                let record = side.group.confirmed(Confirmation::Point(point));
                side.transact(record, |_| ());
            }
            Next::Resume(point) => {
                if let Ok(transition) = side.group.offer(base) {
                    side.transact(transition.record, |_| ());
                    self.send(at, point, base);
                }
            }
            Next::Take => {
                let name = self.name();
                let (taken, mark) = (self.next_number, self.random.next());
                if let Ok((point, transition)) = self.sides[at].group.take_point(name, taken, mark, base) {
                    self.take(at, &point, transition.record);
                    self.send(at, point, base);
                }
            }
        }
    }

    fn name(&self) -> Name {
        Name::try_from(format!("t{}", self.now.as_millis())).unwrap_or_else(|error| panic!("{error}"))
    }

    fn take(&mut self, at: usize, point: &Point, record: Record) {
        let id = point.id;
        self.sides[at].transact(record, |image| drop(image.snapshots.insert(id, image.volumes.clone())));
        let volumes = self.sides[at].store.look(|image| image.volumes.clone());
        // A replica may have lost blocks, which it hands on when it is the owner.
        self.truth.insert(id, volumes);
        self.rotten.insert(LOST);
        self.tell(|world| format!("{}: takes {id}", world.sides[at].name));
    }

    fn send(&mut self, at: usize, point: Point, base: Option<PointId>) {
        let side = &self.sides[at];
        let snapshots = |id: PointId| side.store.look(|image| image.snapshots.get(&id).cloned());
        let Some(new) = snapshots(point.id) else { return };
        let start = base.map(snapshots);
        let Ok(start) = start.map_or(Ok(Volumes::new()), |found| found.ok_or(())) else { return };
        let order: Vec<MemberId> = self.order.iter().copied().filter(|id| new.contains_key(id)).collect();
        let (mut members, mut contents) = (Vec::new(), Vec::new());
        for (index, id) in order.iter().enumerate() {
            let content = new.get(id).cloned().unwrap_or_default();
            let parent = self.parents.get(id).and_then(|parent| order[..index].iter().position(|own| own == parent));
            let (starts, start) = match (start.get(id), parent) {
                (Some(start), _) => (Start::Base, start.clone()),
                (None, Some(parent)) => {
                    let content = new.get(&order[parent]).cloned().unwrap_or_default();
                    (Start::Parent(u16::try_from(parent).unwrap_or(0)), content)
                }
                (None, None) => (Start::Nothing, Vec::new()),
            };
            let name = Name::try_from("volume").unwrap_or_else(|error| panic!("{error}"));
            let (start_blocks, blocks) = (start.len() as u64, content.len() as u64);
            members.push(PlanMember { id: *id, name, start: starts, start_blocks, blocks });
            contents.push((start, content));
        }
        let points = [Some(point.id), base].into_iter().flatten().collect();
        let view = View::new(contents, points, &side.store);
        let plan = Plan { group: side.group.id(), point, base, members };
        let mut source = Source::new(plan);
        source.set_limit(self.random.chance(20).then_some(200_000));
        self.sides[at].send_cycle(source, view);
    }

    fn fail_over(&mut self, at: usize) {
        let side = &mut self.sides[at];
        let points = &side.group.record().points;
        let point = points.get(self.random.index(points.len())).map(|point| point.id);
        let point = point.filter(|_| self.random.chance(30));
        let force = self.random.chance(50);
        if side.group.fail_over(point, force).is_err() {
            return;
        }
        // It waits for the steps that were begun.
        while !side.quieten() {
            side.work(self.now, &self.random);
            side.settle(self.now);
        }
        let Ok(transition) = side.group.fail_over(point, force) else { return };
        self.report.failovers += 1;
        let back_to = transition.back_to;
        side.store.fail_over(&transition);
        side.group.apply(transition.record);
        let flushed = end(side.store.flush());
        side.tell(self.now);
        self.tell(|world| format!("{} takes over at {back_to:?} {flushed:?}", world.sides[at].name));
    }

    fn yield_to_peer(&mut self, at: usize) {
        let side = &mut self.sides[at];
        if let Ok(transition) = side.group.yield_to_peer() {
            side.sending = None;
            side.transact(transition.record, |_| ());
            side.verdict = None;
            side.tell(self.now);
            self.report.yields += 1;
            self.tell(|world| format!("{} gives way", world.sides[at].name));
        }
    }

    fn hand_over(&mut self, at: usize) {
        let Some(Verdict::Send { base }) = self.sides[at].verdict else { return };
        let (name, mark) = (self.name(), self.random.next());
        if let Ok((point, transition)) = self.sides[at].group.hand_over(name, 0, mark, base) {
            self.take(at, &point, transition.record);
            self.sides[at].tell(self.now);
        }
    }

    /// Without faults, both arrays come to the same state.
    fn heal(&mut self) -> Result<(), String> {
        self.tell(|_| "no more faults".to_owned());
        for side in &mut self.sides {
            side.store.set_full(false);
            side.slow = false;
        }
        for step in 0..PATIENCE {
            if step % 2000 == 0 {
                self.cut_all();
                self.connect();
                self.resolve();
            }
            let at = self.random.index(2);
            match self.random.below(10) {
                0..4 => self.work(at)?,
                4..8 => self.deliver(at),
                8 => self.pass(100),
                _ => self.cycle(at),
            }
            self.settle(at)?;
            self.settle(1 - at)?;
            if step > 100 && step % 10 == 0 && self.is_equal() {
                return self.check(0).and_then(|()| self.check(1));
            }
        }
        let roles = [0, 1].map(|at| (self.sides[at].group.record().clone(), self.sides[at].verdict.clone()));
        Err(format!("the arrays do not come to the same state: {roles:?}"))
    }

    fn cut_all(&mut self) {
        for side in &mut self.sides {
            let ids: Vec<_> = side.ends.keys().copied().collect();
            side.ends.clear();
            ids.into_iter().for_each(|id| side.lose(id));
        }
    }

    /// Administrators end what stops the group.
    fn resolve(&mut self) {
        for _ in 0..400 {
            for at in [0, 1] {
                self.deliver(at);
                let _broken_rules_are_found_later = self.settle(at);
            }
        }
        let roles = [0, 1].map(|at| self.sides[at].group.record().role);
        if roles.iter().all(|role| *role == GroupRole::Replica) {
            let newest = [0, 1].map(|at| self.sides[at].group.record().newest().map(|point| point.id));
            let at = usize::from(newest[1] > newest[0]);
            self.fail_over(at);
        }
        (0..2).for_each(|at| self.yield_to_peer(at));
        for at in [0, 1] {
            if let Ok(transition) = self.sides[at].group.keep() {
                self.sides[at].transact(transition.record, |_| ());
                self.sides[at].tell(self.now);
            }
        }
    }

    /// Whether one array owns the group, and the other has all of it.
    fn is_equal(&self) -> bool {
        let [a, b] = &self.sides;
        let (owner, replica) = match (a.group.record().role, b.group.record().role) {
            (GroupRole::Owner, GroupRole::Replica) => (a, b),
            (GroupRole::Replica, GroupRole::Owner) => (b, a),
            _ => return false,
        };
        let newest = replica.group.record().newest().map(|point| point.id);
        let common = owner.group.record().common;
        if newest.is_none() || newest != common || replica.group.record().progress.is_some() {
            return false;
        }
        let live = owner.store.seen().volumes;
        replica.store.look(|image| self.compare(&image.volumes, &live).is_ok())
    }

    /// A number that depends on all that has happened.
    pub fn hash(&self) -> u64 {
        let side = |side: &Side| {
            let image = side.store.seen();
            let numbers = image.volumes.values().flatten().copied();
            numbers.fold(image.record.points.len() as u64, |hash, number| mix(hash ^ number))
        };
        mix(side(&self.sides[0]) ^ mix(side(&self.sides[1]) ^ self.random.next()))
    }
}

fn put(volumes: &mut Volumes, id: MemberId, start: usize, numbers: &[u64]) {
    if let Some(blocks) = volumes.get_mut(&id).and_then(|volume| volume.get_mut(start..start + numbers.len())) {
        blocks.copy_from_slice(numbers);
    }
}
