//! All limits of an array, and the commands that wait for them.

use crate::gate::{Gate, MAX_DEBT, Nanoseconds, nanoseconds};
use crate::limits::{DEFAULT_WEIGHT, Limits};
use crate::queue::FairQueue;
use crate::statistics::{Charged, Held, Report};
use block::VolumeId;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// Bytes that count as one operation.
const OPERATION_BYTES: u64 = 16 << 10;
/// Commands of [`Class::Heartbeat`] in a second that a volume's limits do not hold back.
const HEARTBEATS_PER_SECOND: u64 = 200;

/// Identity of a policy. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(pub u64);

/// Identity of a host: what shares are given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u64);

impl HostId {
    /// Top bit of hosts that have no record.
    const WITHOUT_RECORD: u64 = 1 << 63;

    /// Host with a record: the lower half of the record's id without its top bit. The bits of a UUID that tell its
    /// variant are there, the others are random.
    pub const fn of_record(id: u128) -> Self {
        Self(id as u64 & !Self::WITHOUT_RECORD)
    }

    /// Initiator without a record, by the number of its connection. Each of its connections is a host of its own.
    pub const fn of_connection(number: u64) -> Self {
        Self(number | Self::WITHOUT_RECORD)
    }
}

/// Command that waits. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// How limits apply to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Waits for its limits.
    Ordinary,
    /// Waits, before all others of its host and volume that wait and are not of this class.
    First,
    /// Heartbeat of a shared datastore: up to 200 in a second of a volume do not wait, but are charged.
    Heartbeat,
    /// Waits only behind others of its host and volume that wait, and is charged nothing.
    Behind,
}

/// Command that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Host that sent it.
    pub host: HostId,
    /// Volume that it addresses.
    pub volume: VolumeId,
    /// How limits apply.
    pub class: Class,
    /// Bytes that it reads and writes; 0 for a command without data.
    pub bytes: u64,
}

/// Answer to a command that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may begin.
    Now,
    /// It waits until [`Regulator::release`] returns its ticket.
    Waits(Ticket),
}

/// What has an allowance of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Allowance {
    Volume(VolumeId),
    Host(HostId),
    /// Volumes of a policy that share it.
    Policy(PolicyId),
}

/// Between whom an allowance is shared: hosts, or the volumes of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Claimant {
    Host(HostId),
    Volume(VolumeId),
}

/// Commands of a host to a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Flow {
    host: HostId,
    volume: VolumeId,
}

type Place = (u64, Claimant, Flow);

#[derive(Clone, Copy, Debug)]
struct Policy {
    limits: Limits,
    shared: bool,
}

/// Gates of an allowance, and the flows that wait for them.
#[derive(Debug)]
struct Gates {
    /// Limits for which the gates are made.
    limits: Limits,
    operations: Option<Gate>,
    bytes: Option<Gate>,
    queue: FairQueue<Claimant, Flow>,
    /// Instant at which the queue is looked at next.
    due: Option<Nanoseconds>,
}

impl Gates {
    fn new(limits: Limits) -> Self {
        let (operations, bytes) = (limits.operations.map(Gate::new), limits.bytes.map(Gate::new));
        Self { limits, operations, bytes, queue: FairQueue::default(), due: None }
    }

    /// Follows a change of the limits.
    fn follow(&mut self, now: Nanoseconds, limits: Limits) {
        let changed = |gate: Option<Gate>, rate| match (gate, rate) {
            (Some(gate), Some(rate)) => Some(gate.changed(now, rate)),
            (None, Some(rate)) => Some(Gate::new(rate)),
            (_, None) => None,
        };
        if self.limits != limits {
            self.operations = changed(self.operations, limits.operations);
            self.bytes = changed(self.bytes, limits.bytes);
            self.limits = limits;
        }
    }

    fn opens(&self) -> Nanoseconds {
        [self.operations, self.bytes].into_iter().flatten().map(|gate| gate.opens()).max().unwrap_or(0)
    }

    /// [`Self::opens`] without costs that were known only afterwards.
    fn opens_for_commands(&self) -> Nanoseconds {
        [self.operations, self.bytes].into_iter().flatten().map(|gate| gate.opens_for_commands()).max().unwrap_or(0)
    }

    fn take(&mut self, now: Nanoseconds, cost: Cost) {
        if let Some(gate) = &mut self.operations {
            gate.take(now, cost.operations);
        }
        if let Some(gate) = &mut self.bytes {
            gate.take(now, cost.bytes);
        }
    }

    fn charge(&mut self, now: Nanoseconds, cost: Cost) {
        if let Some(gate) = &mut self.operations {
            gate.charge(now, cost.operations);
        }
        if let Some(gate) = &mut self.bytes {
            gate.charge(now, cost.bytes);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Cost {
    operations: u64,
    bytes: u64,
}

impl Cost {
    /// Cost of a command with this amount of data.
    fn of(bytes: u64) -> Self {
        Self { operations: (bytes / OPERATION_BYTES).max(1), bytes }
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    ticket: Ticket,
    class: Class,
    cost: Cost,
    since: Nanoseconds,
}

/// Commands of a flow that wait, and where the flow waits.
#[derive(Debug)]
struct Line {
    commands: VecDeque<Waiting>,
    at: Allowance,
    place: Place,
    /// Instant at which its last command began, or its first began to wait.
    moved: Nanoseconds,
}

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    commands: u64,
    waited: Nanoseconds,
    charged: Charged,
}

/// All limits of an array. Everything is in the order of instants that its callers state.
#[derive(Debug)]
pub struct Regulator {
    origin: Instant,
    policies: FxHashMap<PolicyId, Policy>,
    volumes: FxHashMap<VolumeId, PolicyId>,
    hosts: FxHashMap<HostId, PolicyId>,
    /// Allowances that have been used or are waited for.
    gates: FxHashMap<Allowance, Gates>,
    heartbeats: FxHashMap<VolumeId, Gate>,
    lines: FxHashMap<Flow, Line>,
    /// When to look at which queue.
    schedule: BTreeSet<(Nanoseconds, Allowance)>,
    next_ticket: u64,
    volume_accounts: FxHashMap<VolumeId, Account>,
    host_accounts: FxHashMap<HostId, Account>,
}

impl Regulator {
    /// Without limits. `now`: the earliest instant of any call.
    pub fn new(now: Instant) -> Self {
        Self {
            origin: now,
            policies: FxHashMap::default(),
            volumes: FxHashMap::default(),
            hosts: FxHashMap::default(),
            gates: FxHashMap::default(),
            heartbeats: FxHashMap::default(),
            lines: FxHashMap::default(),
            schedule: BTreeSet::new(),
            next_ticket: 0,
            volume_accounts: FxHashMap::default(),
            host_accounts: FxHashMap::default(),
        }
    }

    fn at(&self, now: Instant) -> Nanoseconds {
        u64::try_from(now.saturating_duration_since(self.origin).as_nanos()).unwrap_or(u64::MAX)
    }

    /// True if no command can have to wait: nothing has a policy, and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.volumes.is_empty() && self.hosts.is_empty() && self.lines.is_empty()
    }

    /// Sets the limits of a policy, new or not, or removes it. `shared`: its volumes share one allowance. Commands that
    /// wait are looked at again at the next [`Self::release`], which is due at once.
    pub fn set_policy(&mut self, now: Instant, policy: PolicyId, limits: Option<(Limits, bool)>) {
        match limits {
            Some((limits, shared)) => {
                self.policies.insert(policy, Policy { limits, shared });
            }
            None => {
                self.policies.remove(&policy);
            }
        }
        self.reconsider(now);
    }

    /// Attaches a volume to a policy, instead of the one that it has, or to none. A policy that does not exist limits
    /// nothing.
    pub fn attach_volume(&mut self, now: Instant, volume: VolumeId, policy: Option<PolicyId>) {
        match policy {
            Some(policy) => {
                self.volumes.insert(volume, policy);
            }
            None => {
                self.volumes.remove(&volume);
                self.volume_accounts.remove(&volume);
                self.heartbeats.remove(&volume);
            }
        }
        self.reconsider_some(now, Allowance::Volume(volume), |flow| flow.volume == volume);
    }

    /// As [`Self::attach_volume`], for a host.
    pub fn attach_host(&mut self, now: Instant, host: HostId, policy: Option<PolicyId>) {
        match policy {
            Some(policy) => {
                self.hosts.insert(host, policy);
            }
            None => {
                self.hosts.remove(&host);
                self.host_accounts.remove(&host);
            }
        }
        self.reconsider_some(now, Allowance::Host(host), |flow| flow.host == host);
    }

    /// Looks at what waits of some flows at the next release, and forgets an allowance that nothing waits for: a flow
    /// that needs it begins with a new one, whose burst is whole.
    fn reconsider_some(&mut self, now: Instant, own: Allowance, is_meant: impl Fn(&Flow) -> bool) {
        let now = self.at(now);
        let concerned = self.lines.iter().filter(|(flow, _)| is_meant(flow)).map(|(_, line)| line.at);
        for at in concerned.collect::<BTreeSet<_>>() {
            self.look_at(now, at);
        }
        let is_limited = match own {
            Allowance::Volume(volume) => self.volumes.contains_key(&volume),
            Allowance::Host(host) => self.hosts.contains_key(&host),
            Allowance::Policy(_) => true,
        };
        if !is_limited && self.gates.get(&own).is_some_and(|gates| gates.queue.is_empty()) {
            self.gates.remove(&own);
        }
    }

    /// Looks at the queue of an allowance at the next release.
    fn look_at(&mut self, now: Nanoseconds, at: Allowance) {
        let Some(gates) = self.gates.get_mut(&at) else { return };
        if let Some(due) = gates.due.replace(now) {
            self.schedule.remove(&(due, at));
        }
        self.schedule.insert((now, at));
    }

    /// Looks at everything that waits at the next release, and forgets allowances that nothing has any more.
    fn reconsider(&mut self, now: Instant) {
        let now = self.at(now);
        let waited_for: BTreeSet<Allowance> = self.lines.values().map(|line| line.at).collect();
        for at in waited_for {
            self.look_at(now, at);
        }
        let Self { policies, volumes, hosts, gates, .. } = self;
        gates.retain(|allowance, gates| {
            let limits = |policy: &PolicyId, shared| policies.get(policy).is_some_and(|policy| policy.shared == shared);
            !gates.queue.is_empty()
                || match allowance {
                    Allowance::Volume(volume) => volumes.get(volume).is_some_and(|policy| limits(policy, false)),
                    Allowance::Host(host) => hosts.get(host).is_some_and(|policy| policies.contains_key(policy)),
                    Allowance::Policy(policy) => limits(policy, true),
                }
        });
    }

    /// Allowances of a flow, each with its limits.
    fn allowances(&self, flow: Flow) -> [Option<(Allowance, Limits)>; 2] {
        let policy = |id: Option<&PolicyId>| id.and_then(|id| Some((*id, *self.policies.get(id)?)));
        let volume = policy(self.volumes.get(&flow.volume)).map(|(id, policy)| {
            let allowance = if policy.shared { Allowance::Policy(id) } else { Allowance::Volume(flow.volume) };
            (allowance, policy.limits)
        });
        let host = policy(self.hosts.get(&flow.host)).map(|(_, policy)| (Allowance::Host(flow.host), policy.limits));
        [volume, host].map(|allowance| allowance.filter(|(_, limits)| !limits.is_unlimited()))
    }

    /// Weight of a host.
    pub fn host_weight(&self, host: HostId) -> u32 {
        self.hosts.get(&host).and_then(|id| self.policies.get(id)).map_or(DEFAULT_WEIGHT, |policy| policy.limits.weight)
    }

    fn volume_weight(&self, volume: VolumeId) -> u32 {
        let policy = self.volumes.get(&volume).and_then(|id| self.policies.get(id));
        policy.map_or(DEFAULT_WEIGHT, |policy| policy.limits.weight)
    }

    fn gates_of(&mut self, now: Nanoseconds, allowance: Allowance, limits: Limits) -> &mut Gates {
        let gates = self.gates.entry(allowance).or_insert_with(|| Gates::new(limits));
        gates.follow(now, limits);
        gates
    }

    /// The allowance of a flow that opens last, if it is not open. Costs that are charged while commands wait hold a
    /// flow up for [`MAX_DEBT`] at most. It waits for commands that have begun until they are paid for.
    fn closed(&mut self, now: Nanoseconds, flow: Flow) -> Option<(Nanoseconds, Allowance)> {
        let bound = self.lines.get(&flow).map(|line| line.moved.saturating_add(nanoseconds(MAX_DEBT)));
        let mut closed = None;
        for (allowance, limits) in self.allowances(flow).into_iter().flatten() {
            let gates = self.gates_of(now, allowance, limits);
            let opens = gates.opens();
            let opens = bound.map_or(opens, |bound| opens.min(bound.max(gates.opens_for_commands())));
            if opens > now && closed.is_none_or(|(at, _)| opens > at) {
                closed = Some((opens, allowance));
            }
        }
        closed
    }

    /// An allowance of a flow for which others wait, although it is open: they were there before.
    fn crowded(&self, now: Nanoseconds, flow: Flow) -> Option<(Nanoseconds, Allowance)> {
        let mut allowances = self.allowances(flow).into_iter().flatten().map(|(allowance, _)| allowance);
        allowances.find(|at| self.gates.get(at).is_some_and(|gates| !gates.queue.is_empty())).map(|at| (now, at))
    }

    /// Does something to the gates of a flow.
    fn at_gates(&mut self, now: Nanoseconds, flow: Flow, change: impl Fn(&mut Gates)) {
        for (allowance, limits) in self.allowances(flow).into_iter().flatten() {
            change(self.gates_of(now, allowance, limits));
        }
    }

    /// Accounts of a flow. Only what has a policy has one.
    fn accounts(&mut self, flow: Flow, change: impl Fn(&mut Account)) {
        if self.volumes.contains_key(&flow.volume) {
            change(self.volume_accounts.entry(flow.volume).or_default());
        }
        if self.hosts.contains_key(&flow.host) {
            change(self.host_accounts.entry(flow.host).or_default());
        }
    }

    fn begin(&mut self, now: Nanoseconds, flow: Flow, cost: Cost) {
        self.at_gates(now, flow, |gates| gates.take(now, cost));
        self.count(flow, cost);
    }

    /// A heartbeat begins, whoever waits. Those have to move on, however many heartbeats follow.
    fn begin_heartbeat(&mut self, now: Nanoseconds, flow: Flow, cost: Cost) {
        self.at_gates(now, flow, |gates| gates.charge(now, cost));
        self.count(flow, cost);
    }

    fn count(&mut self, flow: Flow, cost: Cost) {
        self.accounts(flow, |account| {
            account.charged.operations += cost.operations;
            account.charged.bytes += cost.bytes;
        });
    }

    /// A command has arrived. It is charged when it begins.
    pub fn arrive(&mut self, now: Instant, work: Work) -> Admission {
        if self.is_idle() {
            return Admission::Now;
        }
        let now = self.at(now);
        let flow = Flow { host: work.host, volume: work.volume };
        let cost = Cost::of(work.bytes);
        if work.class == Class::Heartbeat && self.heartbeat(now, flow) {
            self.begin_heartbeat(now, flow, cost);
            return Admission::Now;
        }
        let ticket = Ticket(self.next_ticket);
        let waiting = Waiting { ticket, class: work.class, cost, since: now };
        if let Some(line) = self.lines.get_mut(&flow) {
            let is_first = |other: &&Waiting| other.class == Class::First;
            let at = match work.class {
                Class::First => line.commands.iter().take_while(is_first).count(),
                _ => line.commands.len(),
            };
            line.commands.insert(at, waiting);
        } else if work.class == Class::Behind {
            return Admission::Now;
        } else if let Some((opens, at)) = self.closed(now, flow).or_else(|| self.crowded(now, flow)) {
            let place = self.wait_at(opens, at, flow);
            self.lines.insert(flow, Line { commands: VecDeque::from([waiting]), at, place, moved: now });
        } else {
            self.begin(now, flow, cost);
            return Admission::Now;
        }
        self.next_ticket += 1;
        Admission::Waits(ticket)
    }

    /// True if a heartbeat goes before everything that waits.
    fn heartbeat(&mut self, now: Nanoseconds, flow: Flow) -> bool {
        if self.allowances(flow).iter().all(Option::is_none) {
            return false;
        }
        let rate = crate::limits::Rate { per_second: HEARTBEATS_PER_SECOND, burst: None };
        let gate = self.heartbeats.entry(flow.volume).or_insert_with(|| Gate::new(rate));
        let passes = gate.opens() <= now;
        if passes {
            gate.take(now, 1);
        }
        passes
    }

    /// Puts a flow into the queue of a closed allowance.
    fn wait_at(&mut self, opens: Nanoseconds, at: Allowance, flow: Flow) -> Place {
        let claimant = match at {
            Allowance::Host(_) => Claimant::Volume(flow.volume),
            Allowance::Volume(_) | Allowance::Policy(_) => Claimant::Host(flow.host),
        };
        let gates = self.gates.entry(at).or_insert_with(|| Gates::new(Limits::default()));
        let place = gates.queue.push(claimant, flow);
        if gates.due.is_none_or(|due| opens < due) {
            if let Some(due) = gates.due.replace(opens) {
                self.schedule.remove(&(due, at));
            }
            self.schedule.insert((opens, at));
        }
        place
    }

    /// Instant at which commands may begin that wait now; `None` if there are none.
    pub fn due(&self) -> Option<Instant> {
        let (due, _) = self.schedule.first()?;
        self.origin.checked_add(Duration::from_nanos(*due))
    }

    /// Adds the tickets of all commands to `released` that may begin now, in their order.
    pub fn release(&mut self, now: Instant, released: &mut Vec<Ticket>) {
        let now = self.at(now);
        while let Some((due, allowance)) = self.schedule.first().copied() {
            if due > now {
                return;
            }
            self.schedule.remove(&(due, allowance));
            if let Some(gates) = self.gates.get_mut(&allowance) {
                gates.due = None;
            }
            self.serve(now, allowance, released);
        }
    }

    /// Serves the queue of an allowance until it closes or the queue is empty.
    fn serve(&mut self, now: Nanoseconds, at: Allowance, released: &mut Vec<Ticket>) {
        while let Some(place) = self.gates.get(&at).and_then(|gates| gates.queue.first()) {
            let (_, _, flow) = place;
            match self.closed(now, flow) {
                Some((opens, closed)) if closed == at => {
                    if let Some(gates) = self.gates.get_mut(&at) {
                        gates.due = Some(opens);
                        self.schedule.insert((opens, at));
                    }
                    return;
                }
                // Its own limits have changed, or another of its limits is closed for longer.
                Some((opens, other)) => {
                    self.leave(at, place);
                    let place = self.wait_at(opens, other, flow);
                    if let Some(line) = self.lines.get_mut(&flow) {
                        (line.at, line.place) = (other, place);
                    }
                }
                None => self.serve_first(now, at, place, released),
            }
        }
    }

    /// Lets the first command of a flow begin, which no limit holds back.
    fn serve_first(&mut self, now: Nanoseconds, at: Allowance, place: Place, released: &mut Vec<Ticket>) {
        let (_, claimant, flow) = place;
        let weight = match claimant {
            Claimant::Host(host) => self.host_weight(host),
            Claimant::Volume(volume) => self.volume_weight(volume),
        };
        let first = self.lines.get_mut(&flow).and_then(|line| line.commands.pop_front());
        if let Some(command) = first {
            if command.class != Class::Behind {
                self.begin(now, flow, command.cost);
            }
            self.waited(now, flow, at, command.since);
            released.push(command.ticket);
            if let Some(gates) = self.gates.get_mut(&at) {
                gates.queue.served(place, command.cost.operations, weight);
            }
        }
        if let Some(line) = self.lines.get_mut(&flow) {
            line.moved = now;
        }
        let is_empty = self.lines.get(&flow).is_none_or(|line| line.commands.is_empty());
        let Some(gates) = self.gates.get_mut(&at) else { return };
        if is_empty {
            self.lines.remove(&flow);
            self.leave(at, place);
            return;
        }
        let again = gates.queue.push(claimant, flow);
        if again != place {
            gates.queue.remove(place);
        }
        if let Some(line) = self.lines.get_mut(&flow) {
            line.place = again;
        }
    }

    /// Takes a flow out of a queue.
    fn leave(&mut self, at: Allowance, place: Place) {
        let Some(gates) = self.gates.get_mut(&at) else { return };
        gates.queue.remove(place);
        if gates.queue.is_empty()
            && let Some(due) = gates.due.take()
        {
            self.schedule.remove(&(due, at));
        }
    }

    /// Counts a command that has waited, for what held it back last.
    fn waited(&mut self, now: Nanoseconds, flow: Flow, at: Allowance, since: Nanoseconds) {
        let account = match at {
            Allowance::Host(host) => {
                self.hosts.contains_key(&host).then(|| self.host_accounts.entry(host).or_default())
            }
            Allowance::Volume(_) | Allowance::Policy(_) => {
                let (volume, accounts) = (flow.volume, &mut self.volume_accounts);
                self.volumes.contains_key(&volume).then(|| accounts.entry(volume).or_default())
            }
        };
        if let Some(account) = account {
            account.commands += 1;
            account.waited += now.saturating_sub(since);
        }
    }

    /// Forgets a command that waits: it was aborted. Returns false if it does not wait.
    pub fn withdraw(&mut self, host: HostId, volume: VolumeId, ticket: Ticket) -> bool {
        let flow = Flow { host, volume };
        let Some(line) = self.lines.get_mut(&flow) else { return false };
        let Some(at) = line.commands.iter().position(|waiting| waiting.ticket == ticket) else { return false };
        line.commands.remove(at);
        if line.commands.is_empty() {
            let (at, place) = (line.at, line.place);
            self.lines.remove(&flow);
            self.leave(at, place);
        }
        true
    }

    /// Charges what a command has cost beyond what it was charged when it began. Later commands pay for it, by waiting
    /// 5 s at most.
    pub fn charge(&mut self, now: Instant, host: HostId, volume: VolumeId, operations: u64, bytes: u64) {
        if self.is_idle() {
            return;
        }
        let now = self.at(now);
        let flow = Flow { host, volume };
        self.at_gates(now, flow, |gates| gates.charge(now, Cost { operations, bytes }));
        self.accounts(flow, |account| {
            account.charged.offload_operations += operations;
            account.charged.offload_bytes += bytes;
        });
    }

    /// Commands that wait.
    pub fn waiting(&self) -> usize {
        self.lines.values().map(|line| line.commands.len()).sum()
    }

    /// Delays and charged costs of everything that has a policy.
    pub fn report(&self, now: Instant) -> Report {
        let now = self.at(now);
        let held = |account: Option<&Account>| {
            let account = account.copied().unwrap_or_default();
            let (commands, time) = (account.commands, Duration::from_nanos(account.waited));
            Held { commands, time, charged: account.charged, ..Held::default() }
        };
        let volumes = self.volumes.keys().map(|volume| (*volume, held(self.volume_accounts.get(volume))));
        let hosts = self.hosts.keys().map(|host| (*host, held(self.host_accounts.get(host))));
        let (mut volumes, mut hosts): (FxHashMap<_, _>, FxHashMap<_, _>) = (volumes.collect(), hosts.collect());
        for (flow, line) in &self.lines {
            let oldest = line.commands.iter().map(|waiting| waiting.since).min().unwrap_or(now);
            let oldest = Duration::from_nanos(now.saturating_sub(oldest));
            let holds = match line.at {
                Allowance::Host(host) => hosts.get_mut(&host),
                Allowance::Volume(_) | Allowance::Policy(_) => volumes.get_mut(&flow.volume),
            };
            if let Some(held) = holds {
                held.waiting += line.commands.len() as u64;
                held.oldest = held.oldest.max(oldest);
            }
        }
        Report { volumes, hosts }
    }
}

#[cfg(test)]
mod tests;
