#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::reservation_type::ReservationType;
use crate::reservations::Transition;
use crate::{
    AccessState, AccessStateError, ClientId, Ending, PersistedRegistration, Primitive, Reason, ReservationClass,
    SanitizeMethod, SoftThreshold, StoreError,
};
use block::memory::MemoryDevice;
use std::cell::Cell;
use std::future::{Future, ready};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Store in which every change is durable at once.
struct Store;

impl UnitStore for Store {
    fn store_reservations(&self, _: VolumeId, _: Option<PersistedReservations>) -> StoreFuture<Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn store_sanitize(&self, _: VolumeId, _: Option<PersistedSanitize>) -> StoreFuture<Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn start_sanitize(&self, _: VolumeId) {}

    fn set_access_states(&self, _: Vec<(u16, AccessState)>) -> StoreFuture<Result<(), AccessStateError>> {
        Box::pin(ready(Err(AccessStateError::Failed)))
    }

    fn soft_thresholds(&self, _: VolumeId) -> Vec<SoftThreshold> {
        Vec::new()
    }
}

struct Time;

impl Clock for Time {
    fn monotonic_ns(&self) -> u64 {
        0
    }

    fn unix_ms(&self) -> u64 {
        1_700_000_000_000
    }
}

/// Protocol that records its calls. Its commands end when `busy` is false.
#[derive(Default)]
struct Protocol {
    notices: RefCell<Vec<(VolumeId, String, Notice)>>,
    discarded: RefCell<Vec<VolumeId>>,
    aborted: RefCell<Vec<VolumeId>>,
    busy: Rc<Cell<bool>>,
}

impl Adapter for Protocol {
    fn notify(&self, volume: VolumeId, registrant: &Registrant, notice: Notice) {
        self.notices.borrow_mut().push((volume, registrant.name.clone(), notice));
    }

    fn content_discarded(&self, volume: VolumeId) {
        self.discarded.borrow_mut().push(volume);
    }

    fn abort(&self, volume: VolumeId, _: &[Registrant]) -> Pin<Box<dyn Future<Output = ()>>> {
        self.aborted.borrow_mut().push(volume);
        let busy = Rc::clone(&self.busy);
        Box::pin(std::future::poll_fn(move |_| if busy.get() { Poll::Pending } else { Poll::Ready(()) }))
    }
}

fn units() -> Units<MemoryDevice> {
    let store = Rc::new(Store);
    let options = UnitsOptions { store, clock: Rc::new(Time), working_bytes: 1 << 20, refusal_log_entries: 2 };
    let units = Units::new(options);
    for volume in [1, 2] {
        units.add(MemoryDevice::new(volume, 64), &format!("v{volume}"));
    }
    units
}

fn serve_by(units: &Units<MemoryDevice>) -> Rc<Protocol> {
    let protocol = Rc::new(Protocol::default());
    let adapter: Rc<dyn Adapter> = Rc::<Protocol>::clone(&protocol);
    units.serve_by(Rc::downgrade(&adapter));
    protocol
}

fn registrant(name: &str) -> Registrant {
    Registrant { target_port: 1, name: name.to_owned(), instance: 1 }
}

fn run<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Every adapter of a volume has the same unit: what one of them changes, the other one sees.
#[test]
fn adapters_share_one_unit() {
    let units = units();
    let (scsi, nvme) = (units.get(VolumeId(1)).unwrap(), units.get(VolumeId(1)).unwrap());
    let client = |number| ClientId { protocol: "A", number };
    assert!(nvme.reservations.permits(client(1), None, ReservationClass::Write));
    scsi.reservations.set_whole(Some(ClientId { protocol: "B", number: 1 }));
    assert!(!nvme.reservations.permits(client(1), None, ReservationClass::Write));
    units.rename(VolumeId(1), "renamed");
    assert_eq!((&*scsi.name(), &*nvme.name()), ("renamed", "renamed"));
    assert!(units.replace_device(VolumeId(1), MemoryDevice::new(1, 128)));
    assert_eq!((scsi.block_count(), nvme.content_generation()), (128, 1));
    assert!(!units.replace_device(VolumeId(9), MemoryDevice::new(9, 128)));
}

#[test]
fn a_deleted_volume_keeps_its_counters_for_a_while() {
    let units = units();
    let unit = units.get(VolumeId(2)).unwrap();
    unit.statistics.account(Primitive::Unmap, |statistics| statistics.commands = 3);
    assert!(units.remove(VolumeId(2)) && !units.remove(VolumeId(2)));
    assert!(units.get(VolumeId(2)).is_none());
    let deleted = units.deleted_offload();
    let rows: Vec<_> = deleted.iter().map(|row| (row.name.as_str(), row.deleted, row.statistics.commands)).collect();
    assert_eq!(rows, [("v2", true, 3)]);
    assert_eq!(units.offload().len(), 1);
    assert_eq!(units.take_used(9), [VolumeId(2)]);
    assert!(units.take_used(9).is_empty());
}

/// A preempted registrant may be a client of any protocol.
#[test]
fn notices_and_aborts_reach_every_protocol() {
    let units = units();
    let (one, other) = (serve_by(&units), serve_by(&units));
    drop(serve_by(&units));
    units.notify(VolumeId(1), vec![(registrant("a"), Notice::RegistrationPreempted)]);
    for protocol in [&one, &other] {
        assert_eq!(*protocol.notices.borrow(), [(VolumeId(1), "a".to_owned(), Notice::RegistrationPreempted)]);
    }
    other.busy.set(true);
    let mut aborted = units.abort_commands(VolumeId(1), &[registrant("a")]);
    assert!(run(aborted.as_mut()).is_none(), "one protocol still has a command");
    assert_eq!((one.aborted.borrow().len(), other.aborted.borrow().len()), (1, 1));
    other.busy.set(false);
    assert!(run(aborted.as_mut()).is_some());
}

/// SANITIZE of one protocol ends what another one holds of the content, at its begin and at its end.
#[test]
fn sanitize_discards_content_held_by_every_protocol() {
    let units = units();
    let protocol = serve_by(&units);
    let unit = units.get(VolumeId(1)).unwrap();
    let operation =
        PersistedSanitize { method: SanitizeMethod::BlockErase, unrestricted_exit: false, failed: None, client: None };
    assert!(run(units.begin_sanitize(&unit, operation.clone())).unwrap().is_ok());
    assert_eq!(*protocol.discarded.borrow(), [VolumeId(1)]);
    assert_eq!(run(units.sanitize_step(VolumeId(1))), Some(None));
    assert_eq!(*protocol.discarded.borrow(), [VolumeId(1), VolumeId(1)]);
    assert_eq!(run(units.sanitize_step(VolumeId(1))), Some(None), "there is no operation");
    assert_eq!(protocol.discarded.borrow().len(), 2);
    assert!(units.restore_sanitize(VolumeId(2), operation.clone()) && !units.restore_sanitize(VolumeId(9), operation));
    assert!(units.get(VolumeId(2)).unwrap().sanitize.check().is_err());
}

#[test]
fn stored_reservations_return_to_their_unit() {
    let units = units();
    let registration = PersistedRegistration { registrant: registrant("a"), key: 7, holder: false };
    let kept = PersistedReservations { registrations: vec![registration], reservation_type: None };
    assert!(units.restore_reservations(VolumeId(1), &kept));
    assert!(!units.restore_reservations(VolumeId(9), &kept));
    let report = units.get(VolumeId(1)).unwrap().reservation_report();
    assert_eq!(report.registrations.iter().map(|info| info.key).collect::<Vec<_>>(), [7]);
    assert!(report.persists && report.reserved_by.is_none());
}

#[test]
fn the_log_of_refusals_dates_its_entries() {
    let units = units();
    units.log_refusal(LogEntry {
        sequence: 0,
        count: 0,
        first_unix_ms: 0,
        unix_ms: 0,
        volume: VolumeId(1),
        volume_name: "v1".into(),
        snapshot: None,
        initiator: "a".into(),
        primitive: Primitive::Unmap,
        command: "UNMAP",
        ending: Ending::Refused,
        reason: Reason::OverLimit,
        holder: None,
        bytes: 0,
        detail: String::new(),
    });
    let entry = &units.refusals(0)[0];
    assert_eq!((entry.count, entry.first_unix_ms, entry.unix_ms), (1, 1_700_000_000_000, 1_700_000_000_000));
    assert_eq!(units.take_changed_refusals().len(), 1);
}

/// What hosts that are gone have left is removed, and hosts that are still there learn it.
#[test]
fn an_administrator_clears_all_reservations() {
    let units = units();
    let protocol = serve_by(&units);
    let unit = units.get(VolumeId(1)).unwrap();
    let registrants = [registrant("a"), registrant("b")];
    let mut change = Transition::new(&unit.reservations.state(), &registrants[0], 8);
    change.register(&registrants, None, 7).unwrap();
    change.reserve(7, ReservationType::WriteExclusive).unwrap();
    change.finish_registration(true);
    run(unit.reservations.commit(VolumeId(1), units.store(), change.into_parts().0)).unwrap().unwrap();
    unit.reservations.set_whole(Some(ClientId { protocol: "B", number: 1 }));
    let _reported = units.take_used(9);
    let client = ClientId { protocol: "A", number: 1 };
    assert!(!unit.reservations.permits(client, None, ReservationClass::Write));
    assert_eq!(run(units.clear_reservations(VolumeId(1))), Some(Some(Ok(3))));
    assert!(unit.reservations.permits(client, None, ReservationClass::Write));
    assert_eq!(unit.reservations.state().to_persist(), None);
    assert_eq!(protocol.notices.borrow().len(), 2);
    assert_eq!(units.take_used(9), [VolumeId(1)], "the mirror shows it");
    assert_eq!(run(units.clear_reservations(VolumeId(1))), Some(Some(Ok(0))));
    assert_eq!(protocol.notices.borrow().len(), 2);
    assert_eq!(run(units.clear_reservations(VolumeId(9))), Some(None));
}
