//! Command-level tests: a CDB in; status, sense data and data out, over a device in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod accounting;
mod arrival;
mod compare_and_write;
mod discovery;
mod extended_copy;
mod garbage;
mod limited;
mod log_sense;
mod media;
mod mode;
mod observed;
mod order;
mod persistent_reservations;
mod port_groups;
mod race;
mod reservations;
mod sanitize;
mod steps;
mod store;
mod thresholds;
mod tokens;
mod transport;
mod unconfirmed;
mod unmap;
mod working_memory;
mod write_same;
mod writes;

use self::store::TestStore;
use self::transport::TestTransport;
use crate::{
    Grant, Limits, LogicalUnitConfig, NexusId, Profile, Request, Response, ScsiTarget, TargetIdentity, TargetOptions,
    TargetPort, TargetPortGroup, TaskAttribute,
};
use block::VolumeId;
use block::memory::MemoryDevice;
use bytes::Bytes;
use scsi::LogicalUnitNumber;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use unit::{AbortFlag, Adapter, Clock, StoreError, Unit, UnitStore, Units, UnitsOptions};

pub(crate) const GOOD: u8 = 0x00;
pub(crate) const CHECK_CONDITION: u8 = 0x02;
pub(crate) const RESERVATION_CONFLICT: u8 = 0x18;

/// Logical blocks of every test volume.
pub(crate) const BLOCKS: u64 = 1 << 17;

/// Polls a future that waits only for other futures of the test; panics when it does not finish.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    for _ in 0..1_000_000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
    panic!("the future does not finish");
}

/// Clock that advances by 1 µs whenever it is read.
#[derive(Default)]
struct TestClock(Cell<u64>);

impl Clock for TestClock {
    fn monotonic_ns(&self) -> u64 {
        self.0.set(self.0.get() + 1_000);
        self.0.get()
    }

    fn unix_ms(&self) -> u64 {
        1_700_000_000_000
    }
}

/// Target with volumes 10 and 11 as LUN 0 and 1 for any initiator, and volume 12 granted to no
/// initiator. Initiator A is logged in through two ports, B through one.
pub(crate) struct Array {
    pub units: Rc<Units<MemoryDevice>>,
    pub target: Rc<ScsiTarget<MemoryDevice>>,
    pub volumes: [MemoryDevice; 3],
    pub a: NexusId,
    pub a2: NexusId,
    pub b: NexusId,
    pub store: Rc<TestStore>,
    pub transport: Rc<TestTransport>,
    clock: Rc<TestClock>,
}

pub(crate) fn naa(volume: u64) -> [u8; 16] {
    let mut naa = [0x60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    naa[15] = u8::try_from(volume).unwrap();
    naa
}

impl Array {
    pub fn new() -> Self {
        Self::with(Profile::default(), Limits::default())
    }

    pub fn with(profile: Profile, limits: Limits) -> Self {
        Self::build(profile, limits, 32 << 20, false)
    }

    /// Array with little working memory.
    pub fn with_working_memory(working_bytes: u64) -> Self {
        Self::build(Profile::default(), Limits::default(), working_bytes, false)
    }

    fn build(profile: Profile, limits: Limits, working_bytes: u64, explicit_access: bool) -> Self {
        let store = TestStore::new();
        let volumes = [10, 11, 12].map(|id| MemoryDevice::new(id, BLOCKS));
        let clock = Rc::new(TestClock::default());
        let units = Rc::new(Units::new(UnitsOptions {
            store: Rc::clone(&store) as Rc<dyn UnitStore>,
            clock: Rc::clone(&clock) as Rc<dyn Clock>,
            working_bytes,
            refusal_log_entries: 1024,
        }));
        let target = Rc::new(ScsiTarget::new(
            Rc::clone(&units),
            TargetOptions {
                identity: TargetIdentity {
                    name: "iqn.2026-01.org.example:test".into(),
                    groups: vec![TargetPortGroup::new(1)],
                    ports: vec![
                        TargetPort { relative_identifier: 1, portal_group_tag: 1, group: 1 },
                        TargetPort { relative_identifier: 2, portal_group_tag: 2, group: 1 },
                    ],
                },
                limits,
                explicit_access,
                token_key: [7; 32],
            },
        ));
        let transport = TestTransport::new(&target);
        units.serve_by(Rc::downgrade(&transport) as Weak<dyn Adapter>);
        for device in &volumes {
            target.add_logical_unit(LogicalUnitConfig {
                unit: units.add(device.clone(), &format!("v{}", device.id().0)),
                naa: naa(device.id().0),
                serial: format!("{:08x}", device.id().0),
                profile,
            });
        }
        for (lun, volume) in [(0, 10), (1, 11)] {
            target.set_access(VolumeId(volume), Grant { initiator: None, lun }).unwrap();
        }
        let a = target.attach_nexus("iqn.a,i,0x1", "iqn.a", 1);
        let a2 = target.attach_nexus("iqn.a,i,0x2", "iqn.a", 2);
        let b = target.attach_nexus("iqn.b,i,0x1", "iqn.b", 1);
        let array = Self { units, target, volumes, a, a2, b, store, transport, clock };
        for nexus in [a, a2, b] {
            array.settle(nexus);
        }
        array
    }

    /// Array with SET TARGET PORT GROUPS, and a store that fails.
    pub fn explicit() -> Self {
        let array = Self::build(Profile::default(), Limits::default(), 32 << 20, true);
        array.store.error.set(Some(StoreError::Failed));
        array
    }

    pub fn unit(&self, volume: u64) -> Rc<Unit<MemoryDevice>> {
        self.units.get(VolumeId(volume)).unwrap()
    }

    /// Deletes a volume. False when it does not exist.
    pub fn remove(&self, volume: VolumeId) -> bool {
        self.units.remove(volume) & self.target.remove_logical_unit(volume)
    }

    /// Rolls a volume back. False when it does not exist.
    pub fn replace_device(&self, volume: VolumeId, device: MemoryDevice) -> bool {
        let replaced = self.units.replace_device(volume, device);
        self.target.resized(volume);
        replaced
    }

    /// Nexus that has reserved a volume with RESERVE.
    pub fn holder(&self, volume: u64) -> Option<NexusId> {
        let client = self.unit(volume).reservations.whole()?;
        self.target.nexus_of(client).map(|nexus| nexus.id)
    }

    /// Takes every pending unit attention of LUN 0 and 1.
    pub fn settle(&self, nexus: NexusId) {
        for lun in [0, 1] {
            while self.on(nexus, lun).command(&[0; 6]).status != GOOD {}
        }
    }

    /// Takes every pending unit attention of one LUN.
    pub fn settle_lun(&self, nexus: NexusId, lun: u16) {
        while self.on(nexus, lun).command(&[0; 6]).status != GOOD {}
    }

    /// Fills, or empties, the pool below the captures of volume 10.
    pub fn set_captures_full(&self, full: bool) {
        self.volumes[0].set_captures_full(full);
    }

    /// Advances the clock.
    pub fn advance(&self, seconds: u64) {
        self.clock.0.set(self.clock.0.get() + seconds * 1_000_000_000);
    }

    /// Nexus A, LUN 0.
    pub fn lun0(&self) -> Path<'_> {
        self.on(self.a, 0)
    }

    pub fn on(&self, nexus: NexusId, lun: u16) -> Path<'_> {
        Path { array: self, nexus, lun: LogicalUnitNumber(lun).encode() }
    }
}

/// LUN as a nexus addresses it.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    array: &'a Array,
    nexus: NexusId,
    lun: [u8; 8],
}

pub(crate) fn cdb(bytes: &[u8]) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[..bytes.len()].copy_from_slice(bytes);
    cdb
}

impl<'a> Path<'a> {
    /// Sends a command without data, or with Data-In of any length.
    pub fn command(&self, cdb: &[u8]) -> Response {
        self.data_in(cdb, 1 << 20)
    }

    pub fn data_in(&self, bytes: &[u8], expected_data_in: u32) -> Response {
        run(self.request(bytes, Bytes::new(), expected_data_in, 0))
    }

    /// Sends a command with Data-Out, announced in full.
    pub fn data_out(&self, bytes: &[u8], data: &[u8]) -> Response {
        self.data_out_expecting(bytes, data, u32::try_from(data.len()).unwrap())
    }

    pub fn data_out_expecting(&self, bytes: &[u8], data: &[u8], expected: u32) -> Response {
        run(self.request(bytes, Bytes::copy_from_slice(data), 0, expected))
    }

    /// Future of a command, created as the transport does: it gets only the Data-Out that is asked
    /// for.
    pub fn request(
        &self,
        bytes: &[u8],
        data: Bytes,
        expected_data_in: u32,
        expected_data_out: u32,
    ) -> impl Future<Output = Response> + use<'a> {
        self.abortable(bytes, data, expected_data_in, expected_data_out).1
    }

    /// Future of a command, with its abort flag.
    pub fn abortable(
        &self,
        bytes: &[u8],
        data: Bytes,
        expected_data_in: u32,
        expected_data_out: u32,
    ) -> (AbortFlag, impl Future<Output = Response> + use<'a>) {
        let cdb = cdb(bytes);
        let target = &self.array.target;
        let wanted = target.data_out_bytes(self.nexus, self.lun, &cdb, expected_data_out);
        assert!(wanted <= expected_data_out);
        let data_out = data.slice(..usize::try_from(wanted).unwrap().min(data.len()));
        let attribute = TaskAttribute::Simple;
        let abort = AbortFlag::default();
        let request = Request { cdb, data_out, expected_data_in, expected_data_out, attribute, abort: abort.clone() };
        (abort, target.execute(self.nexus, self.lun, request))
    }

    pub fn read(&self, lba: u64, count: u32) -> Vec<u8> {
        let response = self.data_in(&cdb16(0x88, 0, lba, count), count * 512);
        assert_eq!(response.status, GOOD, "{:02x?}", response.sense);
        assert_eq!(response.transfer_bytes, u64::from(count) * 512);
        response.data_in.to_vec()
    }

    pub fn write(&self, lba: u64, data: &[u8]) {
        let count = u32::try_from(data.len() / 512).unwrap();
        assert_good(&self.data_out(&cdb16(0x8a, 0, lba, count), data));
    }

    pub fn compare_and_write(&self, lba: u64, compare: &[u8], write: &[u8]) -> Response {
        let count = u8::try_from(compare.len() / 512).unwrap();
        let mut cdb = cdb16(0x89, 0, lba, 0);
        cdb[13] = count;
        self.data_out(&cdb, &[compare, write].concat())
    }
}

/// 16-byte CDB with LBA and 32-bit count.
pub(crate) fn cdb16(opcode: u8, flags: u8, lba: u64, count: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = opcode;
    cdb[1] = flags;
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&count.to_be_bytes());
    cdb
}

pub(crate) fn assert_good(response: &Response) {
    assert_eq!((response.status, response.sense.as_slice()), (GOOD, &[][..]));
}

/// Asserts CHECK CONDITION with this sense key, ASC and ASCQ in fixed format.
#[track_caller]
pub(crate) fn assert_check(response: &Response, key: u8, asc: u8, ascq: u8) {
    assert_eq!(response.status, CHECK_CONDITION);
    let found = (response.sense[2], response.sense[12], response.sense[13]);
    assert_eq!(found, (key, asc, ascq), "{:02x?}", response.sense);
    assert_eq!(response.sense[0] & 0x7f, 0x70);
    assert_eq!(usize::from(response.sense[7]) + 8, response.sense.len());
}

/// Asserts INVALID FIELD with a field pointer into the CDB (`true`) or the parameter list.
#[track_caller]
pub(crate) fn assert_field(response: &Response, in_cdb: bool, byte: u16) {
    let asc = if in_cdb { 0x24 } else { 0x26 };
    assert_check(response, 0x05, asc, 0x00);
    assert_eq!(response.sense[15] & 0xc0, if in_cdb { 0xc0 } else { 0x80 });
    assert_eq!(u16::from_be_bytes([response.sense[16], response.sense[17]]), byte);
}

pub(crate) fn pattern(byte: u8, blocks: usize) -> Vec<u8> {
    vec![byte; blocks * 512]
}
