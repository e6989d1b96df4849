//! SCSI target over devices in memory, for targets that execute commands. Volumes 10 and 11 are
//! granted to any initiator as LUN 0 and 1; volume 12 is granted to none, and a command that
//! accesses it is a failure.

use block::VolumeId;
use block::memory::MemoryDevice;
use scsi_target::{
    Grant, Limits, LogicalUnitConfig, Profile, ScsiTarget, TargetIdentity, TargetOptions, TargetPort, TargetPortGroup,
};
use std::cell::Cell;
use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use unit::reservations::Notice;
use unit::{
    AccessState, AccessStateError, Adapter, Clock, PersistedReservations, PersistedSanitize, Registrant, SoftThreshold,
    StoreError, StoreFuture, UnitStore, Units, UnitsOptions,
};

/// Blocks of every volume.
pub(crate) const BLOCKS: u64 = 1 << 17;
/// iSCSI name of the target.
pub(crate) const TARGET: &str = "iqn.2026-01.org.example:t0";
/// iSCSI name of the initiator.
pub(crate) const INITIATOR: &str = "iqn.1994-05.com.example:host1";

/// Clock that advances by 1 µs whenever it is read.
#[derive(Default)]
struct Ticks(Cell<u64>);

impl Clock for Ticks {
    fn monotonic_ns(&self) -> u64 {
        self.0.set(self.0.get() + 1_000);
        self.0.get()
    }

    fn unix_ms(&self) -> u64 {
        1_700_000_000_000
    }
}

/// Store that keeps nothing; every third call fails. Nothing can be sanitized, access states do not
/// change, and there are no commands to abort.
#[derive(Default)]
struct Store(Cell<u64>);

impl UnitStore for Store {
    fn store_reservations(&self, _: VolumeId, _: Option<PersistedReservations>) -> StoreFuture<Result<(), StoreError>> {
        self.0.set(self.0.get() + 1);
        Box::pin(ready(if self.0.get().is_multiple_of(3) { Err(StoreError::NoRoom) } else { Ok(()) }))
    }

    fn store_sanitize(&self, _: VolumeId, _: Option<PersistedSanitize>) -> StoreFuture<Result<(), StoreError>> {
        Box::pin(ready(Err(StoreError::Failed)))
    }

    fn start_sanitize(&self, _: VolumeId) {}

    fn set_access_states(&self, _: Vec<(u16, AccessState)>) -> StoreFuture<Result<(), AccessStateError>> {
        Box::pin(ready(Err(AccessStateError::Failed)))
    }

    fn soft_thresholds(&self, _: VolumeId) -> Vec<SoftThreshold> {
        Vec::new()
    }
}

/// Transport without commands of its own.
struct Transport(Rc<ScsiTarget<MemoryDevice>>);

impl Adapter for Transport {
    fn notify(&self, volume: VolumeId, registrant: &Registrant, notice: Notice) {
        self.0.notify(volume, registrant, notice);
    }

    fn content_discarded(&self, volume: VolumeId) {
        self.0.content_discarded(volume);
    }

    fn abort(&self, _: VolumeId, _: &[Registrant]) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(ready(()))
    }
}

/// Target with its volumes.
pub(crate) struct Array {
    pub units: Rc<Units<MemoryDevice>>,
    _transport: Rc<Transport>,
    pub target: Rc<ScsiTarget<MemoryDevice>>,
    pub volumes: [MemoryDevice; 3],
}

impl Array {
    pub fn new() -> Self {
        // Short transfer limits, so that one input cannot take long.
        let limits = Limits { transfer_blocks: 64, write_same_blocks: 512, ..Limits::default() };
        let volumes = [10, 11, 12].map(|id| MemoryDevice::new(id, BLOCKS));
        let units = Rc::new(Units::new(UnitsOptions {
            store: Rc::new(Store::default()),
            clock: Rc::new(Ticks::default()),
            working_bytes: 32 << 20,
            refusal_log_entries: 64,
        }));
        let options = TargetOptions {
            identity: TargetIdentity {
                name: TARGET.into(),
                groups: vec![TargetPortGroup::new(1), TargetPortGroup::new(2)],
                ports: vec![
                    TargetPort { relative_identifier: 1, portal_group_tag: 1, group: 1 },
                    TargetPort { relative_identifier: 2, portal_group_tag: 2, group: 2 },
                ],
            },
            limits,
            explicit_access: false,
            token_key: [7; 32],
        };
        let target = Rc::new(ScsiTarget::new(Rc::clone(&units), options));
        let transport = Rc::new(Transport(Rc::clone(&target)));
        units.serve_by(Rc::downgrade(&transport) as Weak<dyn Adapter>);
        for (device, id) in volumes.iter().zip(10u8..) {
            let mut naa = [0; 16];
            (naa[0], naa[15]) = (0x60, id);
            target.add_logical_unit(LogicalUnitConfig {
                unit: units.add(device.clone(), &format!("v{id}")),
                naa,
                serial: format!("{id:08x}"),
                profile: Profile::default(),
            });
        }
        for (lun, volume) in [(0, 10), (1, 11)] {
            if let Err(error) = target.set_access(VolumeId(volume), Grant { initiator: None, lun }) {
                panic!("{error}");
            }
        }
        Self { units, _transport: transport, target, volumes }
    }

    /// Panics if the volume that is granted to none was accessed.
    pub fn assert_secret_untouched(&self) {
        assert_eq!(self.volumes[2].accesses(), 0, "a volume was reached that the initiator may not see");
    }
}

/// Sets the condition of a volume: bit 0: read-only; bit 1: full; bit 2: mutating calls wait.
pub(crate) fn set_condition(volume: &MemoryDevice, bits: u8) {
    volume.set_read_only(bits & 1 != 0);
    volume.set_full(bits & 2 != 0);
    volume.hold(bits & 4 != 0);
}

/// Polls a future once.
pub(crate) fn poll<T>(future: &mut Pin<Box<dyn Future<Output = T>>>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
