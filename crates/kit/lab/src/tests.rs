//! Every case on logical units in memory, in virtual time.

mod liars;

use crate::bench::{Bench, Connect};
use crate::cases;
use crate::device::Unit;
use crate::host::Connection;
use crate::outcome::Side;
use crate::results::CaseResult;
use crate::runner::{End, Watch, one};
use crate::scale::Size;
use crate::subject;
use data_mover::memory::{Delay, Lie, MemoryDevice, MemoryUnit};
use data_mover::virtual_time::VirtualTime;
use data_mover::{Clock, DeviceError, Identity, Limits};
use futures_util::future;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Blocks of a logical unit: 128 MiB.
const BLOCKS: u64 = 1 << 18;

/// Observer that records its calls.
#[derive(Default)]
struct Recorder(RefCell<Vec<String>>);

impl Watch for Recorder {
    fn case(&self, number: usize, of: usize, case: &str) {
        self.0.borrow_mut().push(format!("{number} of {of}: {case}"));
    }

    fn round(&self, round: u32, side: Side) {
        self.0.borrow_mut().push(format!("round {round} {}", side.word()));
    }

    fn step(&self, words: &str) {
        self.0.borrow_mut().push(words.to_owned());
    }

    fn progress(&self, done: u64, total: u64) {
        assert!(done <= total, "{done} of {total} after {:?}", self.0.borrow().last());
    }

    fn point(&self, _wire_bytes: u64) {}

    fn finished(&self, result: &CaseResult) {
        self.0.borrow_mut().push(result.case.clone());
    }
}

/// An array in memory.
struct World {
    time: VirtualTime,
    units: Vec<Rc<MemoryUnit>>,
    /// All devices created so far, so that a test can cut them.
    devices: Rc<RefCell<Vec<MemoryDevice>>>,
    bench: Bench,
}

impl World {
    fn new(units: usize, without: fn(&mut Limits)) -> Rc<Self> {
        Self::lying(units, without, None)
    }

    /// Like [`Self::new`], with units that tell one lie.
    fn lying(units: usize, without: fn(&mut Limits), lie: Option<Lie>) -> Rc<Self> {
        let time = VirtualTime::default();
        let media: Vec<Rc<MemoryUnit>> = (0..units).map(|_| Rc::default()).collect();
        let devices: Rc<RefCell<Vec<MemoryDevice>>> = Rc::default();
        let (shared, clock, random) = (devices.clone(), time.clone(), Rc::new(Cell::new(7_u64)));
        let of_host = {
            let media = media.clone();
            move |host: u32| {
                let (clock, random) = (clock.clone(), random.clone());
                let delay: Delay = Rc::new(move || {
                    random.set(random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
                    clock.sleep(Duration::from_micros(50 + (random.get() >> 58)))
                });
                let one = |(number, medium): (u8, &Rc<MemoryUnit>)| {
                    MemoryDevice::new(medium, host, number, BLOCKS).with(|identity| without(&mut identity.limits))
                };
                let plain: Vec<MemoryDevice> = (0..).zip(&media).map(one).collect();
                let all: Vec<MemoryDevice> = plain
                    .iter()
                    .map(|device| {
                        plain
                            .iter()
                            .fold(device.clone(), |device, other| device.with_source(other))
                            .with_delay(delay.clone())
                    })
                    .collect();
                all.iter().for_each(|device| device.set_lie(lie));
                shared.borrow_mut().extend(all.iter().cloned());
                all
            }
        };
        let identities: Vec<Identity> =
            of_host(0).into_iter().map(|device| Unit::Memory(device).identity().clone()).collect();
        let connect: Connect = Box::new(move |host| {
            let units = of_host(host).into_iter().map(Unit::Memory).collect();
            Box::pin(future::ready(Ok(Connection { units, sessions: Vec::new() })))
        });
        let clock = Rc::new(time.clone());
        let scale = (Size::Bytes(4 << 20), if lie.is_some() { 1 } else { 2 });
        let bench = Bench::new(clock, identities, connect, scale, Rc::new(Recorder::default()));
        Rc::new(Self { time, units: media, devices, bench })
    }

    fn run(self: &Rc<Self>, case: &'static str) -> (CaseResult, End) {
        self.run_until(case, future::pending::<()>())
    }

    fn run_until(
        self: &Rc<Self>,
        case: &'static str,
        cancel: impl Future<Output = ()> + Unpin + 'static,
    ) -> (CaseResult, End) {
        let world = self.clone();
        self.time.run(async move { one(&world.bench, cases::find(case).unwrap(), cancel).await })
    }
}

/// Checks that both sides have the same measures; latencies may be missing, since a side can be too
/// fast for an operation.
fn assert_same_measures(result: &CaseResult) {
    let names = |side: &crate::results::SideResult| {
        side.measures.keys().filter(|name| !name.contains("latency")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&result.off), names(&result.on), "{}", result.case);
}

#[test]
fn every_case_runs_and_passes_its_checks() {
    for case in cases::ALL {
        let counts: &[usize] = if case.second_unit { &[1, 2] } else { &[1] };
        for &units in counts {
            let world = World::new(units, |_| ());
            let (result, end) = world.run(case.name);
            assert!(matches!(end, End::Done) && result.check_passed, "{}: {:#?}", case.name, result.failures);
            assert_eq!(result.skipped, None, "{}", case.name);
            assert!(!result.on.measures.is_empty() && !result.goals.is_empty(), "{}", case.name);
            assert_same_measures(&result);
            for figure in &result.paper.figures {
                let measured = result.on.measures.contains_key(&figure.measure);
                // In memory there is no wire.
                assert!(measured, "{}: the paper's {} is not measured", case.name, figure.measure);
            }
        }
    }
}

#[test]
fn on_the_array_does_the_work_and_off_the_host() {
    let world = World::new(1, |_| ());
    let (result, _) = world.run("clone-template");
    assert_eq!(result.on.moved_bytes.keys().collect::<Vec<_>>(), ["offloaded"]);
    assert_eq!(result.off.moved_bytes.keys().collect::<Vec<_>>(), ["switched off on this host"]);
    let (off, on) = (&result.off.measures["seconds"], &result.on.measures["seconds"]);
    assert!(on.median < off.median && off.low <= off.median && off.median <= off.high);
}

#[test]
fn a_unit_that_lacks_the_primitive_runs_the_off_side_and_gives_the_reason() {
    let without: fn(&mut Limits) = |limits| (limits.copy_segments, limits.write_same, limits.unmap) = (0, 0, 0);
    for case in cases::ALL {
        let world = World::new(1, without);
        let (result, end) = world.run(case.name);
        assert!(matches!(end, End::Done) && result.check_passed, "{}: {:#?}", case.name, result.failures);
        let locks_only = case.needs == [crate::Primitive::Locking];
        assert_eq!(result.skipped.is_none(), locks_only, "{}", case.name);
        assert_eq!(result.on.measures.is_empty(), !locks_only, "{}", case.name);
        assert!(!result.off.measures.is_empty(), "{}: {:?}", case.name, result.skipped);
    }
    let world = World::new(1, |limits| limits.compare_and_write = 0);
    let (result, _) = world.run("ats-touch");
    let words = "on: the logical unit has no COMPARE AND WRITE (VPD page B0h, or it rejects the command)";
    assert_eq!((result.check_passed, result.skipped.as_deref()), (true, Some(words)));
    let (copied, _) = world.run("clone-template");
    assert_eq!((copied.check_passed, copied.skipped), (true, None));
}

#[test]
fn a_cancelled_case_keeps_the_rounds_it_had() {
    let world = World::new(1, |_| ());
    let (whole, _) = world.run("eager-zero");
    assert!(whole.check_passed);
    // A time within the second pair.
    let world = World::new(1, |_| ());
    let time = world.time.clone();
    let cancel = Box::pin(async move { time.sleep(Duration::from_millis(1500)).await });
    let (result, end) = world.run_until("lazy-zero-writes", cancel);
    assert!(matches!(end, End::Cancelled) || !result.off.measures.is_empty());
    let time = world.time.clone();
    let soon = time.now() + Duration::from_millis(5);
    let at_once = Box::pin(async move { time.sleep(soon.saturating_sub(time.now())).await });
    let (result, end) = world.run_until("clone-template", at_once);
    assert!(matches!(end, End::Cancelled) && result.on.measures.is_empty());
    assert_eq!(
        result.notes.last().map(String::as_str),
        Some("cancelled: the values are those of the completed rounds")
    );
}

#[test]
fn an_array_that_dies_ends_the_run_with_its_error() {
    let world = World::new(1, |_| ());
    let (time, devices) = (world.time.clone(), world.devices.clone());
    let killer = Box::pin(async move {
        time.sleep(Duration::from_millis(200)).await;
        for device in devices.borrow().iter() {
            device.cut();
        }
        future::pending::<()>().await;
    });
    let (result, end) = world.run_until("boot-storm", killer);
    assert!(matches!(end, End::Gone(_)) && !result.check_passed, "{result:#?}");
    assert_eq!(result.failures, ["the host is cut off"]);
}

/// Regression: of two hosts whose sessions were lost, the one that had not noticed kept its session,
/// and the next case failed too.
#[test]
fn sessions_that_do_not_answer_are_replaced_before_the_next_case() {
    let world = World::new(1, |_| ());
    assert!(world.run("eager-zero").0.check_passed);
    world.devices.borrow().iter().for_each(MemoryDevice::cut);
    let reconnecting = world.clone();
    world.time.run(async move { reconnecting.bench.reconnect().await.unwrap() });
    let (result, end) = world.run("eager-zero");
    assert!(result.check_passed && matches!(end, End::Done), "{result:#?}");
}

#[test]
fn a_unit_is_searched_for_data_and_wiped() {
    let world = World::new(1, |_| ());
    let device = || MemoryDevice::new(&world.units[0], 9, 0, BLOCKS);
    let found = || futures_executor_free(subject::data_at(&Unit::Memory(device())));
    assert_eq!(found(), None);
    for lba in [0, 2047, BLOCKS - 1] {
        world.units[0].poke(lba, &[7; 512]);
        assert_eq!(found(), Some(lba));
        let run = world.clone();
        let wiped = world.time.run(async move { subject::wipe(&run.bench, 0).await.unwrap() });
        assert_eq!((wiped, found()), (subject::Wiped::Clean, None));
    }
    // A datastore counts as data.
    let (result, _) = world.run("eager-zero");
    assert!(result.check_passed && found() == Some(0));
    // Without UNMAP and WRITE SAME only the beginning is wiped.
    let world = World::new(1, |limits| (limits.write_same, limits.unmap) = (0, 0));
    let (result, _) = world.run("clone-template");
    assert!(result.check_passed);
    let run = world.clone();
    let wiped = world.time.run(async move { subject::wipe(&run.bench, 0).await.unwrap() });
    assert_eq!(wiped, subject::Wiped::Left);
}

/// Polls a future that is ready at once.
fn futures_executor_free<T>(work: impl Future<Output = Result<T, crate::LabError>>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(work).poll(&mut context) {
        std::task::Poll::Ready(result) => result.unwrap(),
        std::task::Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn an_error_is_the_array_s_end_only_when_the_connection_is_lost() {
    let error = |error: DeviceError| crate::LabError::from(error).is_gone();
    assert!(
        error(DeviceError::Lost("x".into())) && error(DeviceError::TimedOut("x".into())) && !error(DeviceError::Full)
    );
    assert!(!crate::LabError::WrongData("x".into()).is_gone());
}
