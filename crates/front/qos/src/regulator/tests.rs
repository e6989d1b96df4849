use super::*;
use crate::limits::{Burst, Rate};
use random::Random;

const POLICY: PolicyId = PolicyId(1);
const VOLUME: VolumeId = VolumeId(7);

fn operations(per_second: u64) -> Limits {
    Limits { operations: Some(Rate { per_second, burst: None }), ..Limits::default() }
}

fn bytes(per_second: u64) -> Limits {
    Limits { bytes: Some(Rate { per_second, burst: None }), ..Limits::default() }
}

fn work(host: u64, volume: VolumeId, bytes: u64) -> Work {
    Work { host: HostId(host), volume, class: Class::Ordinary, bytes }
}

/// A regulator, its clock, and hosts that keep a number of commands waiting or in progress; a command ends at once.
struct Bench {
    regulator: Regulator,
    begun: Instant,
    now: Instant,
    /// Work of each command that waits.
    waiting: FxHashMap<Ticket, Work>,
    /// Operations that began, by host and volume.
    served: FxHashMap<(u64, u64), u64>,
}

impl Bench {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            regulator: Regulator::new(now),
            begun: now,
            now,
            waiting: FxHashMap::default(),
            served: FxHashMap::default(),
        }
    }

    fn limited(limits: Limits) -> Self {
        let mut bench = Self::new();
        bench.regulator.set_policy(bench.now, POLICY, Some((limits, false)));
        bench.regulator.attach_volume(bench.now, VOLUME, Some(POLICY));
        bench
    }

    /// Sends commands until one waits.
    fn send(&mut self, work: Work) {
        loop {
            match self.regulator.arrive(self.now, work) {
                Admission::Now => self.serve(work),
                Admission::Waits(ticket) => {
                    self.waiting.insert(ticket, work);
                    return;
                }
            }
        }
    }

    fn serve(&mut self, work: Work) {
        *self.served.entry((work.host.0, work.volume.0)).or_default() += Cost::of(work.bytes).operations;
    }

    /// Runs until an instant. Each command that begins is followed by another of its kind.
    fn run(&mut self, for_time: Duration) {
        let end = self.now + for_time;
        let mut released = Vec::new();
        while let Some(due) = self.regulator.due() {
            if due >= end {
                break;
            }
            self.now = self.now.max(due);
            self.regulator.release(self.now, &mut released);
            for ticket in released.drain(..) {
                let work = self.waiting.remove(&ticket).expect("each ticket is released once");
                self.serve(work);
                self.send(work);
            }
        }
        self.now = end;
    }

    fn served(&self, host: u64) -> u64 {
        self.served.iter().filter(|((other, _), _)| *other == host).map(|(_, operations)| operations).sum()
    }

    /// Charges more than any limit for half a minute. What waits has to move in each five seconds.
    fn moves_while_charged(&mut self) {
        let before = self.all();
        for _ in 0..300 {
            self.regulator.charge(self.now, HostId(1), VOLUME, 100, 0);
            self.run(Duration::from_millis(100));
        }
        let served = self.all() - before;
        assert!((5..=10).contains(&served), "{served} in 30 s");
    }

    fn held(&self) -> Held {
        self.regulator.report(self.now).volumes[&VOLUME]
    }

    fn all(&self) -> u64 {
        self.served.values().sum()
    }
}

fn near(amount: u64, of: u64, percent: u64) -> bool {
    amount.abs_diff(of) * 100 <= of * percent
}

#[test]
fn without_policy_nothing_waits() {
    let mut bench = Bench::new();
    assert!(bench.regulator.is_idle());
    for _ in 0..10_000 {
        assert_eq!(bench.regulator.arrive(bench.now, work(1, VOLUME, 4096)), Admission::Now);
    }
    bench.regulator.attach_volume(bench.now, VOLUME, Some(POLICY));
    assert_eq!(bench.regulator.arrive(bench.now, work(1, VOLUME, 1 << 40)), Admission::Now);
}

#[test]
fn a_volume_has_its_limit_whatever_the_depth() {
    let mut bench = Bench::limited(operations(2000));
    for _ in 0..64 {
        bench.send(work(1, VOLUME, 4096));
    }
    bench.run(Duration::from_secs(10));
    assert!(near(bench.all(), 20_000, 3), "{}", bench.all());
}

#[test]
fn large_commands_count_for_their_bytes() {
    let mut bench = Bench::limited(operations(2000));
    bench.send(work(1, VOLUME, 256 << 10));
    bench.run(Duration::from_secs(10));
    assert!(near(bench.all(), 20_000, 3), "{}", bench.all());
    let mut bench = Bench::limited(bytes(100 << 20));
    bench.send(work(1, VOLUME, 1 << 20));
    bench.run(Duration::from_secs(10));
    assert!(near(bench.all() / 64, 1000, 3), "{}", bench.all() / 64);
}

#[test]
fn the_strictest_limit_wins() {
    let mut bench = Bench::limited(operations(2000));
    let host = PolicyId(2);
    bench.regulator.set_policy(bench.now, host, Some((operations(500), false)));
    bench.regulator.attach_host(bench.now, HostId(1), Some(host));
    bench.send(work(1, VOLUME, 4096));
    bench.send(work(2, VOLUME, 4096));
    bench.run(Duration::from_secs(10));
    assert!(near(bench.served(1), 5000, 3), "{}", bench.served(1));
    assert!(near(bench.served(2), 15_000, 3), "{}", bench.served(2));
}

#[test]
fn hosts_share_a_volume_alike_whatever_they_send() {
    let mut bench = Bench::limited(operations(3000));
    for _ in 0..512 {
        bench.send(work(1, VOLUME, 4096));
    }
    bench.send(work(2, VOLUME, 64 << 10));
    bench.send(work(3, VOLUME, 4096));
    bench.run(Duration::from_secs(10));
    for host in 1..=3 {
        assert!(near(bench.served(host), 10_000, 5), "{host}: {}", bench.served(host));
    }
}

#[test]
fn hosts_share_by_weight() {
    let mut bench = Bench::limited(operations(4000));
    let heavy = PolicyId(2);
    bench.regulator.set_policy(bench.now, heavy, Some((Limits { weight: 300, ..Limits::default() }, false)));
    bench.regulator.attach_host(bench.now, HostId(2), Some(heavy));
    bench.send(work(1, VOLUME, 4096));
    bench.send(work(2, VOLUME, 4096));
    bench.run(Duration::from_secs(10));
    assert!(near(bench.served(1), 10_000, 3), "{}", bench.served(1));
    assert!(near(bench.served(2), 30_000, 3), "{}", bench.served(2));
}

#[test]
fn volumes_of_a_shared_policy_have_one_limit_and_others_one_each() {
    for (shared, expected) in [(false, 40_000), (true, 10_000)] {
        let mut bench = Bench::new();
        bench.regulator.set_policy(bench.now, POLICY, Some((operations(1000), shared)));
        for volume in 0..4 {
            bench.regulator.attach_volume(bench.now, VolumeId(volume), Some(POLICY));
            bench.send(work(volume, VolumeId(volume), 4096));
        }
        bench.run(Duration::from_secs(10));
        assert!(near(bench.all(), expected, 3), "{shared}: {}", bench.all());
        for host in 0..4 {
            assert!(near(bench.served(host), expected / 4, 5), "{shared}: {}", bench.served(host));
        }
    }
}

#[test]
fn commands_of_a_host_and_volume_keep_their_order() {
    let mut bench = Bench::limited(operations(1000));
    bench.send(work(1, VOLUME, 4096));
    let mut arrive = |class| match bench.regulator.arrive(bench.now, Work { class, ..work(1, VOLUME, 4096) }) {
        Admission::Waits(ticket) => ticket,
        Admission::Now => panic!("it passed those that wait"),
    };
    let (second, behind, third, first) =
        (arrive(Class::Ordinary), arrive(Class::Behind), arrive(Class::Ordinary), arrive(Class::First));
    let mut released = Vec::new();
    while let Some(due) = bench.regulator.due() {
        bench.regulator.release(due, &mut released);
    }
    let position = |ticket| released.iter().position(|other| *other == ticket).expect("released");
    assert_eq!(position(first), 0);
    assert!(position(second) < position(behind) && position(behind) < position(third), "{released:?}");
    assert!(bench.regulator.waiting() == 0);
}

/// One of two copies had waited for all steps of the other.
#[test]
fn those_that_go_first_keep_their_order() {
    let mut bench = Bench::limited(operations(100));
    bench.send(work(1, VOLUME, 4096));
    let first = Work { class: Class::First, ..work(1, VOLUME, 0) };
    let tickets = [first, work(1, VOLUME, 0), first].map(|work| match bench.regulator.arrive(bench.now, work) {
        Admission::Waits(ticket) => ticket,
        Admission::Now => panic!("it began"),
    });
    let mut released = Vec::new();
    bench.regulator.release(bench.now + Duration::from_secs(60), &mut released);
    while let Some(due) = bench.regulator.due() {
        bench.regulator.release(due.max(bench.now + Duration::from_secs(60)), &mut released);
    }
    assert_eq!([released[0], released[1], *released.last().expect("released")], [tickets[0], tickets[2], tickets[1]]);
}

#[test]
fn heartbeats_pass_those_that_wait_but_not_without_end() {
    let mut bench = Bench::limited(operations(100));
    for _ in 0..1000 {
        let _waits = bench.regulator.arrive(bench.now, work(1, VOLUME, 4096));
    }
    let heartbeat = Work { class: Class::Heartbeat, ..work(1, VOLUME, 512) };
    assert_eq!(bench.regulator.arrive(bench.now, heartbeat), Admission::Now);
    let passed = (0..1000).filter(|_| bench.regulator.arrive(bench.now, heartbeat) == Admission::Now).count();
    assert!(passed < 20, "{passed}");
    let mut passed = 0;
    for milliseconds in 0..10_000 {
        let now = bench.now + Duration::from_millis(milliseconds);
        passed += u64::from(bench.regulator.arrive(now, heartbeat) == Admission::Now);
    }
    assert!(near(passed, 2000, 3), "{passed}");
}

/// Regression: heartbeats above the limit kept the gate closed, and reads waited without end.
#[test]
fn costs_that_go_on_hold_the_queue_up_for_a_bounded_time() {
    let mut bench = Bench::limited(operations(100));
    bench.send(work(1, VOLUME, 4096));
    bench.moves_while_charged();
}

/// Regression: a flow with two limits that were both charged went from one queue to the other and back.
#[test]
fn costs_on_two_limits_hold_a_flow_up_for_a_bounded_time() {
    let mut bench = Bench::limited(operations(100));
    bench.regulator.attach_host(bench.now, HostId(1), Some(POLICY));
    bench.send(work(1, VOLUME, 4096));
    bench.moves_while_charged();
}

/// Regression: a command that arrived after a gate had opened and before the timer passed those that waited.
#[test]
fn a_late_timer_lets_nothing_pass_those_that_wait() {
    let mut bench = Bench::limited(operations(100));
    bench.send(work(1, VOLUME, 4096));
    let later = bench.now + Duration::from_secs(1);
    let Admission::Waits(second) = bench.regulator.arrive(later, work(2, VOLUME, 4096)) else { panic!("it passed") };
    assert!(bench.regulator.due().is_some_and(|due| due <= later));
    let mut released = Vec::new();
    bench.regulator.release(later, &mut released);
    assert_eq!((released.len(), released.last()), (2, Some(&second)));
}

#[test]
fn a_withdrawn_command_is_not_released_and_holds_nobody_back() {
    let mut bench = Bench::limited(operations(100));
    bench.send(work(1, VOLUME, 4096));
    let Admission::Waits(ticket) = bench.regulator.arrive(bench.now, work(1, VOLUME, 4096)) else { panic!() };
    assert!(bench.regulator.withdraw(HostId(1), VOLUME, ticket));
    assert!(!bench.regulator.withdraw(HostId(1), VOLUME, ticket));
    let tickets: Vec<Ticket> = bench.waiting.keys().copied().collect();
    for ticket in tickets {
        assert!(bench.regulator.withdraw(HostId(1), VOLUME, ticket));
    }
    assert_eq!((bench.regulator.waiting(), bench.regulator.due()), (0, None));
    let mut released = Vec::new();
    bench.regulator.release(bench.now + Duration::from_secs(60), &mut released);
    assert_eq!(released, []);
}

#[test]
fn without_its_policy_what_waits_goes_on_at_once() {
    for change in 0..2 {
        let mut bench = Bench::limited(operations(100));
        for _ in 0..50 {
            bench.send(work(1, VOLUME, 4096));
        }
        match change {
            0 => bench.regulator.set_policy(bench.now, POLICY, None),
            _ => bench.regulator.attach_volume(bench.now, VOLUME, None),
        }
        let mut released = Vec::new();
        bench.regulator.release(bench.now, &mut released);
        assert_eq!((released.len(), bench.regulator.waiting(), bench.regulator.due()), (50, 0, None));
    }
}

#[test]
fn a_changed_limit_holds_from_its_change() {
    let mut bench = Bench::limited(operations(1000));
    bench.send(work(1, VOLUME, 4096));
    bench.run(Duration::from_secs(5));
    bench.regulator.set_policy(bench.now, POLICY, Some((operations(4000), false)));
    bench.run(Duration::from_secs(5));
    assert!(near(bench.all(), 25_000, 3), "{}", bench.all());
}

#[test]
fn work_that_was_charged_afterwards_is_paid_for_by_waiting() {
    let mut bench = Bench::limited(operations(1000));
    bench.regulator.charge(bench.now, HostId(1), VOLUME, 3000, 0);
    bench.send(work(1, VOLUME, 4096));
    bench.run(Duration::from_secs(10));
    assert!(near(bench.all(), 7000, 3), "{}", bench.all());
    let held = bench.held();
    assert_eq!(held.charged.offload_operations, 3000);
    assert!(held.oldest < Duration::from_millis(60), "{held:?}");
}

/// Regression: of a command that costs more than the bound of debts, the rest was free.
#[test]
fn commands_of_many_seconds_are_paid_for_wholly() {
    let mut bench = Bench::limited(bytes(1 << 20));
    for _ in 0..4 {
        bench.send(work(1, VOLUME, 16 << 20));
    }
    bench.run(Duration::from_secs(160));
    assert!(near(bench.all(), 10 * 1024, 10), "{}", bench.all());
}

/// Regression: it was counted for the volume as well, and the alert named the volume's policy.
#[test]
fn what_waited_counts_for_the_limits_that_held_it_back() {
    let mut bench = Bench::limited(operations(10_000));
    let strict = PolicyId(77);
    bench.regulator.set_policy(bench.now, strict, Some((operations(100), false)));
    bench.regulator.attach_host(bench.now, HostId(1), Some(strict));
    for _ in 0..4 {
        bench.send(work(1, VOLUME, 4096));
    }
    bench.run(Duration::from_secs(2));
    let report = bench.regulator.report(bench.now);
    let (volume, host) = (report.volumes[&VOLUME], report.hosts[&HostId(1)]);
    assert_eq!((volume.commands, volume.waiting, volume.oldest), (0, 0, Duration::ZERO));
    assert!(host.commands > 150 && host.waiting == 4, "{host:?}");
    assert_eq!(volume.charged, host.charged);
}

#[test]
fn time_that_commands_waited_is_counted() {
    let mut bench = Bench::limited(operations(100));
    for _ in 0..4 {
        bench.send(work(1, VOLUME, 4096));
    }
    bench.run(Duration::from_secs(10));
    let held = bench.held();
    // Four commands wait at any time.
    assert!(near(u64::try_from(held.time.as_millis()).expect("short"), 40_000, 5), "{held:?}");
    assert_eq!((held.waiting, held.charged.operations), (4, bench.all()));
    assert!(bench.regulator.report(bench.now).hosts.is_empty());
}

/// Everything at random. No command is lost or released twice, nothing waits behind a gate that is open, each host and
/// volume keeps its order, and no volume exceeds its limits by more than its burst.
#[test]
fn whatever_changes_each_command_is_released_once_and_in_order() {
    for seed in 0..200 {
        let random = Random::new(seed);
        let mut bench = Bench::new();
        let mut outstanding: Vec<(Ticket, Work)> = Vec::new();
        let mut last: FxHashMap<(HostId, VolumeId), Ticket> = FxHashMap::default();
        let mut released = Vec::new();
        for _ in 0..500 {
            let (host, volume) = (HostId(random.below(4)), VolumeId(random.below(4)));
            let policy = PolicyId(random.below(3));
            match random.below(12) {
                0 => {
                    let rate = |least: u64| {
                        let per_second = least + random.below(20 * least);
                        let burst = random.chance(30).then(|| Burst {
                            per_second: per_second * 2,
                            lasts: Duration::from_secs(1 + random.below(3)),
                        });
                        random.chance(70).then_some(Rate { per_second, burst })
                    };
                    let limits = Limits {
                        operations: rate(100),
                        bytes: rate(1 << 20),
                        weight: 10 + u32::try_from(random.below(900)).expect("small"),
                    };
                    assert_eq!(limits.validate(), Ok(()));
                    bench.regulator.set_policy(
                        bench.now,
                        policy,
                        random.chance(80).then(|| (limits, random.chance(30))),
                    );
                }
                1 => bench.regulator.attach_volume(bench.now, volume, random.chance(80).then_some(policy)),
                2 => bench.regulator.attach_host(bench.now, host, random.chance(60).then_some(policy)),
                3 if !outstanding.is_empty() => {
                    let (ticket, work) = outstanding.swap_remove(random.index(outstanding.len()));
                    assert!(bench.regulator.withdraw(work.host, work.volume, ticket), "seed {seed}");
                }
                4 => bench.regulator.charge(bench.now, host, volume, random.below(1000), random.below(1 << 20)),
                5..9 => {
                    let class = if random.chance(20) { Class::Behind } else { Class::Ordinary };
                    let work = Work { host, volume, class, bytes: random.below(1 << 20) };
                    if let Admission::Waits(ticket) = bench.regulator.arrive(bench.now, work) {
                        outstanding.push((ticket, work));
                    }
                }
                _ => bench.now += Duration::from_millis(random.below(300)),
            }
            bench.regulator.release(bench.now, &mut released);
            assert!(bench.regulator.due().is_none_or(|due| due > bench.now), "seed {seed}");
            for ticket in released.drain(..) {
                let at = outstanding.iter().position(|(other, _)| *other == ticket).expect("it waits");
                let (_, work) = outstanding.swap_remove(at);
                let before = last.insert((work.host, work.volume), ticket);
                assert!(before.is_none_or(|before| before < ticket), "seed {seed}");
            }
            assert_eq!(bench.regulator.waiting(), outstanding.len(), "seed {seed}");
            assert_eq!(outstanding.is_empty(), bench.regulator.due().is_none(), "seed {seed}");
        }
        // All that waits is released in a bounded time.
        let end = bench.now + Duration::from_secs(600);
        while let Some(due) = bench.regulator.due().filter(|due| *due < end) {
            bench.regulator.release(due, &mut released);
        }
        assert_eq!((released.len(), bench.regulator.waiting()), (outstanding.len(), 0), "seed {seed}");
        assert!(bench.begun <= bench.now);
    }
}
