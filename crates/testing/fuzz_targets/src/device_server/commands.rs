//! Commands to the device server: any CDB with any parameter list through three I_T nexuses, mixed
//! with resets, changes of size, and full and write-protected devices. Required: a response that a
//! transport can send, and no access to a volume that was not granted.

use crate::array::{Array, BLOCKS, poll, set_condition};
use crate::input::{Reader, Writer};
use block::VolumeId;
use bytes::Bytes;
use scsi::LogicalUnitNumber;
use scsi::persistent_reservation::TransportId;
use scsi::third_party_copy::{BlockToBlockSegment, IdentificationCscd, ParameterListHeader};
use scsi_target::{NexusId, Request, Response, TaskAttribute};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use unit::AbortFlag;
use zerocopy::IntoBytes;

const STEPS: usize = 200;

/// Request without Data-Out.
fn data_in(cdb: [u8; 16], expected_data_in: u32) -> Request {
    let attribute = TaskAttribute::Simple;
    let abort = AbortFlag::default();
    Request { cdb, data_out: Bytes::new(), expected_data_in, expected_data_out: 0, attribute, abort }
}

type Execution = Pin<Box<dyn Future<Output = Response>>>;

struct Rig {
    array: Array,
    nexuses: [NexusId; 3],
    waiting: Vec<([u8; 16], Execution)>,
}

const PORTS: [(&str, &str, u16); 3] = [
    ("iqn.2026-01.org.example:a,i,0x000000000001", "iqn.2026-01.org.example:a", 1),
    ("iqn.2026-01.org.example:a,i,0x000000000002", "iqn.2026-01.org.example:a", 2),
    ("iqn.2026-01.org.example:b,i,0x000000000001", "iqn.2026-01.org.example:b", 1),
];

impl Rig {
    fn new() -> Self {
        let array = Array::new();
        let nexuses = PORTS.map(|(port, name, target_port)| array.target.attach_nexus(port, name, target_port));
        let rig = Self { array, nexuses, waiting: Vec::new() };
        for nexus in rig.nexuses {
            for lun in 0..2 {
                // A new nexus gets unit attentions first.
                for _ in 0..4 {
                    let mut ready = rig.execute(nexus, LogicalUnitNumber(lun).encode(), data_in([0; 16], 0));
                    let _response = poll(&mut ready);
                }
            }
        }
        rig
    }

    fn execute(&self, nexus: NexusId, lun: [u8; 8], mut request: Request) -> Execution {
        let target = Rc::clone(&self.array.target);
        let wanted = target.data_out_bytes(nexus, lun, &request.cdb, request.expected_data_out);
        assert!(wanted <= request.expected_data_out);
        request.data_out.truncate(wanted as usize);
        Box::pin(async move { target.execute(nexus, lun, request).await })
    }

    fn command(&mut self, reader: &mut Reader<'_>) {
        let path = reader.u8();
        let nexus = self.nexuses[usize::from(path & 3) % 3];
        let lun = match path >> 2 & 7 {
            0..=3 => LogicalUnitNumber(0).encode(),
            4 | 5 => LogicalUnitNumber(1).encode(),
            6 => [0xC1, 0x01, 0, 0, 0, 0, 0, 0],
            _ => reader.bytes(),
        };
        let cdb: [u8; 16] = reader.bytes();
        let data = match reader.u8() {
            blocks @ 0..=15 => vec![blocks; usize::from(blocks) * 512],
            16..=31 => vec![0; usize::from(reader.u16()) % 16_384],
            _ => reader.long().to_vec(),
        };
        let length = u32::try_from(data.len()).unwrap_or(0);
        let expected_out = if path & 0x40 != 0 { reader.u32() } else { length };
        let expected_in = if path & 0x80 != 0 { u32::from(reader.u16()) } else { 1 << 16 };
        // The transport passes only data that has arrived.
        let request = Request {
            cdb,
            data_out: Bytes::from(data),
            expected_data_in: expected_in,
            expected_data_out: expected_out.min(length),
            attribute: if path & 0x20 != 0 { TaskAttribute::Ordered } else { TaskAttribute::Simple },
            abort: AbortFlag::default(),
        };
        let mut execution = self.execute(nexus, lun, request);
        match poll(&mut execution) {
            Some(response) => check(&cdb, &response),
            None => self.waiting.push((cdb, execution)),
        }
    }

    fn settle(&mut self) {
        for volume in &self.array.volumes {
            set_condition(volume, 0);
        }
        for _ in 0..=self.waiting.len() {
            self.waiting.retain_mut(|(cdb, execution)| match poll(execution) {
                Some(response) => {
                    check(cdb, &response);
                    false
                }
                None => true,
            });
        }
        assert!(self.waiting.is_empty(), "commands that never end: {:02x?}", self.waiting.first().map(|w| w.0));
    }

    fn step(&mut self, reader: &mut Reader<'_>) {
        match reader.u8() {
            0..=219 => self.command(reader),
            220..=224 => self.settle(),
            225..=230 => {
                let (which, bits) = (usize::from(reader.u8() % 2), reader.u8());
                set_condition(&self.array.volumes[which], bits);
            }
            231..=235 => {
                self.settle();
                let which = usize::from(reader.u8() % 3);
                let (port, name, target_port) = PORTS[which];
                self.array.target.detach_nexus(self.nexuses[which]);
                self.nexuses[which] = self.array.target.attach_nexus(port, name, target_port);
            }
            236..=240 => {
                let which = reader.u8() % 2;
                let size = BLOCKS / 2 * u64::from(1 + reader.u8() % 4);
                self.array.volumes[usize::from(which)].resize(size);
                self.array.target.resized(VolumeId(10 + u64::from(which)));
            }
            241..=245 => {
                self.settle();
                let target = &self.array.target;
                let nexus = self.nexuses[usize::from(reader.u8() % 3)];
                let lun = LogicalUnitNumber(u16::from(reader.u8() % 3)).encode();
                let _known = match reader.u8() % 4 {
                    0 => target.abort_task_set(nexus, lun).is_ok(),
                    1 => target.clear_task_set(nexus, lun, &self.nexuses).is_ok(),
                    2 => target.logical_unit_reset(nexus, lun).is_ok(),
                    _ => {
                        target.target_reset(nexus);
                        true
                    }
                };
            }
            246..=248 => self.array.target.soft_threshold_reached(None),
            _ => {
                let refusals = self.array.units.refusals(0);
                assert!(refusals.len() <= 64);
                let _statistics = self.array.units.offload();
            }
        }
    }
}

/// Checks that a transport can send the response.
fn check(cdb: &[u8; 16], response: &Response) {
    match response.status {
        0x02 => {
            assert!((18..=252).contains(&response.sense.len()), "{cdb:02x?}");
            assert!(matches!(response.sense[0] & 0x7F, 0x70..=0x73), "{cdb:02x?}");
            assert_eq!(usize::from(response.sense[7]) + 8, response.sense.len(), "{cdb:02x?}");
        }
        0x00 | 0x04 | 0x08 | 0x18 | 0x28 | 0x30 | 0x40 => assert!(response.sense.is_empty(), "{cdb:02x?}"),
        status => panic!("status {status:02x}h for {cdb:02x?}"),
    }
    assert!(response.data_in.len() as u64 <= response.transfer_bytes, "{cdb:02x?}");
    assert!(
        response.data_in.len() <= 64 * 512 + (1 << 20),
        "{} bytes of Data-In for {cdb:02x?}",
        response.data_in.len()
    );
}

/// Input: steps; each is a command or another event of a device server.
pub(crate) fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let mut rig = Rig::new();
    for _ in 0..STEPS {
        if reader.is_empty() {
            break;
        }
        rig.step(&mut reader);
        if rig.waiting.len() > 32 {
            rig.settle();
        }
    }
    rig.settle();
    rig.array.assert_secret_untouched();
}

/// Encodes a command with its data as one step.
fn step(path: u8, cdb: &[u8], data: &[u8]) -> Writer {
    let mut padded = [0; 16];
    padded[..cdb.len()].copy_from_slice(cdb);
    Writer::default().u8(0).u8(path).raw(&padded).u8(255).long(data)
}

/// CDB length by group code, SPC-4 §4.2.5.1.
fn cdb_length(opcode: u8) -> usize {
    match opcode >> 5 {
        0 => 6,
        1 | 2 => 10,
        4 => 16,
        _ => 12,
    }
}

/// Seeds: every command in REPORT SUPPORTED OPERATION CODES, so that a new one has a seed at once;
/// and valid parameter lists.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = lists();
    let rig = Rig::new();
    let mut cdb = [0; 16];
    (cdb[0], cdb[1], cdb[8]) = (0xA3, 0x0C, 0xFF);
    let lun = LogicalUnitNumber(0).encode();
    let mut report = rig.execute(rig.nexuses[0], lun, data_in(cdb, 1 << 16));
    let all = poll(&mut report).map(|response| response.data_in).unwrap_or_default();
    for descriptor in all.get(4..).unwrap_or_default().as_chunks::<8>().0 {
        let mut cdb = [0; 16];
        cdb[0] = descriptor[0];
        if descriptor[5] & 1 != 0 {
            cdb[1] = descriptor[3] & 0x1F;
        }
        let length = cdb_length(cdb[0]);
        let plain = step(0, &cdb, &[]);
        // Allocation, transfer and list lengths are near the end of a CDB.
        cdb[length - 2] = 1;
        let one = Writer::default().u8(0).u8(0).raw(&cdb).u8(1);
        cdb[length - 2] = 0xFF;
        let much = step(0, &cdb, &[0; 64]);
        seeds.push(plain.raw(&one.0).raw(&much.0).0);
    }
    seeds
}

fn lists() -> Vec<Vec<u8>> {
    let length16 = |list: &[u8]| u16::try_from(list.len()).unwrap_or(0).to_be_bytes();
    let length32 = |list: &[u8]| u32::try_from(list.len()).unwrap_or(0).to_be_bytes();
    let naa = |volume: u8| {
        let mut naa = [0; 16];
        (naa[0], naa[15]) = (0x60, volume);
        naa
    };
    let mut seeds = Vec::new();

    let unmap = scsi::provisioning::unmap_parameter_list(&[(0, 8), (1000, 64), (BLOCKS - 8, 8)]);
    let [high, low] = length16(&unmap);
    seeds.push(step(0, &[0x42, 0, 0, 0, 0, 0, 0, high, low, 0], &unmap).0);

    let mut same = [0; 16];
    (same[0], same[1], same[13]) = (0x93, 0x08, 16);
    seeds.push(step(0, &same, &[0; 512]).0);
    same[1] = 0;
    seeds.push(step(0, &same, &[7; 512]).0);

    for (from, to) in [(10, 11), (10, 10), (10, 12), (12, 10)] {
        let cscds = [from, to].map(|volume| IdentificationCscd::naa(&naa(volume)));
        let segments = [BlockToBlockSegment::new(0, 1, 8, 0, 64), BlockToBlockSegment::new(1, 0, 3, 5, 9)];
        let body = [cscds.as_bytes().to_vec(), segments.as_bytes().to_vec()];
        let header = ParameterListHeader::new(
            1,
            0,
            u16::try_from(body[0].len()).unwrap_or(0),
            u32::try_from(body[1].len()).unwrap_or(0),
        );
        let list = [header.as_bytes().to_vec(), body[0].clone(), body[1].clone()].concat();
        let mut cdb = [0; 16];
        cdb[0] = 0x83;
        cdb[10..14].copy_from_slice(&length32(&list));
        let mut results = [0; 16];
        (results[0], results[1], results[2], results[13]) = (0x84, 0x00, 1, 0xFF);
        let mut failed = results;
        failed[1] = 0x04;
        let writer = step(0, &cdb, &list).raw(&step(0, &results, &[]).0).raw(&step(0, &failed, &[]).0);
        seeds.push(writer.0);
    }

    // PERSISTENT RESERVE OUT: register, reserve, preempt by another nexus, move, clear.
    let reserve = |path: u8, action: u8, kind: u8, key: u64, other: u64, flags: u8, ids: &[u8]| {
        let mut list = [&key.to_be_bytes()[..], &other.to_be_bytes(), &[0, 0, 0, 0, flags, 0, 0, 0]].concat();
        if flags & 0x08 != 0 {
            list.extend(length32(ids));
            list.extend_from_slice(ids);
        }
        let [a, b, c, d] = length32(&list);
        step(path, &[0x5F, action, kind, 0, 0, a, b, c, d, 0], &list)
    };
    let device = TransportId::Device(PORTS[2].1.into()).encode();
    for kind in [1, 3, 5, 6, 7, 8] {
        let writer = reserve(0, 0, 0, 0, 1, 0x01, &[]).raw(&reserve(2, 6, 0, 0, 2, 0x00, &[]).0);
        let writer = writer.raw(&reserve(0, 1, kind, 1, 0, 0, &[]).0);
        let writer = writer.raw(&reserve(2, 4, kind, 2, 1, 0, &[]).0).raw(&reserve(2, 5, kind, 2, 2, 0, &[]).0);
        let writer = writer.raw(&reserve(2, 2, kind, 2, 0, 0, &[]).0).raw(&reserve(2, 3, 0, 2, 0, 0, &[]).0);
        seeds.push(writer.0);
    }
    seeds.push(reserve(0, 0, 0, 0, 1, 0x0D, &device).raw(&step(0, &[0x5E, 3, 0, 0, 0, 0, 0, 2, 0, 0], &[]).0).0);
    let moved = [&1u64.to_be_bytes()[..], &9u64.to_be_bytes(), &[0, 2, 0, 1], &length32(&device), &device].concat();
    let [a, b, c, d] = length32(&moved);
    let moves = step(0, &[0x5F, 7, 0, 0, 0, a, b, c, d, 0], &moved);
    seeds.push(reserve(0, 0, 0, 0, 1, 0, &[]).raw(&reserve(0, 1, 5, 1, 0, 0, &[]).0).raw(&moves.0).0);

    // MODE SENSE of all pages, and MODE SELECT with lists in the form of the control and caching
    // pages.
    let sense = step(0, &[0x1A, 0, 0x3F, 0, 0xFF, 0], &[]);
    let control = [&[0, 0, 0, 0, 0x0A, 0x0A][..], &[0; 10]].concat();
    let caching = [&[0, 0, 0, 0, 0x08, 0x12, 0x04][..], &[0; 17]].concat();
    for list in [control, caching] {
        let length = u8::try_from(list.len()).unwrap_or(0);
        seeds.push(sense.clone().raw(&step(0, &[0x15, 0x10, 0, 0, length, 0], &list).0).0);
        let long = [&[0, 0, 0, 0, 0, 0, 0, 0][..], &list[4..]].concat();
        let [high, low] = length16(&long);
        seeds.push(step(0, &[0x55, 0x10, 0, 0, 0, 0, 0, high, low, 0], &long).0);
    }
    let mut compare = [0; 16];
    (compare[0], compare[13]) = (0x89, 1);
    seeds.push(step(0, &compare, &[0; 1024]).raw(&step(0, &compare, &[1; 1024]).0).0);
    seeds
}
