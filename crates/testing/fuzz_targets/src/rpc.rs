//! ONC RPC (RFC 5531): records in a stream, headers, and the procedures of portmap and rpcbind.

use crate::input::{Reader as Input, Writer as Seed};
use bytes::{Bytes, BytesMut};
use onc_rpc::auth::{AuthSys, OpaqueAuth};
use onc_rpc::message::{AcceptStatus, Call, Message, Reply};
use onc_rpc::record::{MAX_FRAGMENTS, Progress, Reassembly, RecordError};
use onc_rpc::{CallError, portmap, rpcbind};
use xdr::{Random, Reader, Sample, Writer};

/// Message that `write` writes.
pub(crate) fn written(write: impl FnOnce(&mut Writer)) -> Bytes {
    let mut writer = Writer::default();
    write(&mut writer);
    writer.into_bytes()
}

/// Checks that a request or results that were decoded are written, and decoded to the same.
macro_rules! there_and_back {
    ($type:ty, $decoded:expr) => {
        if let Ok(value) = $decoded {
            let mut again = xdr::Reader::strict($crate::rpc::written(|writer| value.encode(writer)));
            assert_eq!(<$type>::decode(value.procedure(), &mut again), Ok(value));
            assert!(again.finish().is_ok());
        }
    };
}

pub(crate) use there_and_back;

/// Longest record of the streams: below the longest input, so that the limit is reached.
const MAX_RECORD_BYTES: usize = 1024;

/// Input: a flag byte (bit 0: a message without record marking; otherwise a stream), the size of
/// the pieces (1 byte), and the bytes.
pub(crate) fn run(input: &[u8]) {
    let mut input = Input::new(input);
    let flags = input.u8();
    let piece = usize::from(input.u8()).max(1);
    let bytes = input.rest();
    if flags & 1 != 0 {
        message(&Bytes::copy_from_slice(bytes));
    } else {
        stream(bytes, piece);
    }
}

fn stream(bytes: &[u8], piece: usize) {
    let whole = records(bytes, bytes.len().max(1));
    let pieces = records(bytes, piece);
    assert_eq!(whole, pieces, "pieces make other records");
    whole.0.iter().for_each(message);
}

fn records(stream: &[u8], piece: usize) -> (Vec<Bytes>, Option<RecordError>) {
    let mut reassembly = Reassembly::new(MAX_RECORD_BYTES);
    let mut buffer = BytesMut::new();
    let mut records = Vec::new();
    for part in stream.chunks(piece) {
        buffer.extend_from_slice(part);
        loop {
            match reassembly.take(&mut buffer) {
                Ok(Progress::Record(record)) => {
                    assert!(record.len() <= MAX_RECORD_BYTES);
                    records.push(record);
                }
                Ok(Progress::Incomplete { missing_bytes }) => {
                    assert!((1..=MAX_RECORD_BYTES + 4).contains(&missing_bytes));
                    assert!(reassembly.held_bytes() <= MAX_RECORD_BYTES && buffer.len() < MAX_RECORD_BYTES + 4);
                    break;
                }
                Err(error) => return (records, Some(error)),
            }
        }
    }
    (records, None)
}

/// A message that is accepted is written as it was, but for padding.
fn message(bytes: &Bytes) {
    let mut reader = Reader::new(bytes.clone());
    let Ok(header) = Message::decode(&mut reader) else { return };
    let mut again = Reader::strict(written(|writer| match &header {
        Message::Call(call) => call.encode(writer),
        Message::Reply(reply) => reply.encode(writer),
    }));
    assert_eq!(Message::decode(&mut again).as_ref(), Ok(&header));
    assert!(again.finish().is_ok());
    if let Message::Call(call) = &header {
        let _credential = call.authenticate();
        procedures(call, reader);
    }
}

fn procedures(call: &Call, mut reader: Reader) {
    let procedure = call.procedure;
    if call.version == portmap::VERSION {
        there_and_back!(portmap::Results, portmap::Results::decode(procedure, &mut reader.clone()));
        there_and_back!(portmap::Request, portmap::Request::decode(procedure, &mut reader));
    } else {
        there_and_back!(rpcbind::Results, rpcbind::Results::decode(procedure, &mut reader.clone()));
        let request: Result<_, CallError> = rpcbind::Request::decode_version(call.version, procedure, &mut reader);
        there_and_back!(rpcbind::Request, request);
    }
}

/// A call in a record, after `write` has written its arguments.
fn call(program: u32, version: u32, procedure: u32, write: impl FnOnce(&mut Writer)) -> Bytes {
    let content = AuthSys { stamp: 1, machine_name: "host".into(), uid: 0, gid: 0, gids: vec![1, 2].into() };
    let credential = OpaqueAuth::sys(&content);
    written(|writer| {
        Call { xid: 7, program, version, procedure, credential, verifier: OpaqueAuth::none() }.encode(writer);
        write(writer);
    })
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let head = |flags: u8, piece: u8| Seed::default().u8(flags).u8(piece);
    let fragment = |data: &[u8], last: u32| [&(last << 31 | data.len() as u32).to_be_bytes(), data].concat();
    let null = call(100_003, 4, 0, |_| ());
    let random = Random::new(1);
    let mut seeds = vec![
        head(0, 1).raw(&fragment(&null, 1)).raw(&fragment(&null, 1)).0,
        head(0, 5).raw(&fragment(&null[..4], 0)).raw(&fragment(&[], 0)).raw(&fragment(&null[4..], 1)).0,
        head(0, 255).raw(&fragment(&[], 0).repeat(MAX_FRAGMENTS as usize / 2)).0,
        head(0, 3).raw(&[0xff; 8]).0,
        head(0, 3).raw(&fragment(&null[..4], 1)).0,
    ];
    for status in [AcceptStatus::Success, AcceptStatus::GarbageArguments] {
        seeds.push(head(1, 0).raw(&written(|writer| Reply::accepted(7, status).encode(writer))).0);
    }
    for _ in 0..8 {
        let request = portmap::Request::sample(&random);
        let bytes = call(portmap::PROGRAM, portmap::VERSION, request.procedure(), |writer| request.encode(writer));
        seeds.push(head(1, 0).raw(&bytes).0);
        let request = rpcbind::Request::sample(&random);
        let bytes = call(rpcbind::PROGRAM, rpcbind::VERSION_4, request.procedure(), |writer| request.encode(writer));
        seeds.push(head(1, 0).raw(&bytes).0);
    }
    seeds.retain(|seed| seed.len() <= 4096);
    seeds
}
