//! Memory that a reply may need, known before the call is executed: a server that bounds the memory of all
//! replies takes it first.

use bytes::Bytes;
use nfs::v4::compound::{Arguments, MAX_MESSAGE_BYTES};
use nfs::v4::operations::Operation;
use onc_rpc::message::Message;
use xdr::Reader;

/// Reply of a procedure or operation without data.
const SMALL_BYTES: u32 = 512;
/// Longest target of a symbolic link with attributes.
const LINK_BYTES: u32 = 8 << 10;
/// Longest value of an extended attribute.
const XATTR_BYTES: u32 = 64 << 10;

/// Most bytes of memory that the reply to a record needs, at most as many as the longest message has. A small
/// number for a record that is no call, or cannot be decoded.
pub fn reply_bound(record: &Bytes) -> u32 {
    let mut reader = Reader::new(record.clone());
    let Ok(Message::Call(call)) = Message::decode(&mut reader) else { return SMALL_BYTES };
    let bytes = match (call.program, call.version) {
        (nfs::PROGRAM, nfs::v3::VERSION) => version_3(call.procedure, &mut reader),
        (nfs::PROGRAM, nfs::v4::VERSION) if call.procedure == nfs::v4::PROCEDURE_COMPOUND => version_4(reader.rest()),
        _ => SMALL_BYTES,
    };
    bytes.min(MAX_MESSAGE_BYTES)
}

fn version_3(procedure: u32, arguments: &mut Reader) -> u32 {
    use nfs::v3::Request;
    let data_bytes = match Request::decode(procedure, arguments) {
        Ok(Request::Read(arguments)) => arguments.count_bytes,
        Ok(Request::ReadDirectory(arguments)) => arguments.count_bytes,
        Ok(Request::ReadDirectoryPlus(arguments)) => arguments.max_count_bytes,
        Ok(Request::ReadLink(_)) => LINK_BYTES,
        _ => 0,
    };
    data_bytes.saturating_add(SMALL_BYTES)
}

fn version_4(arguments: Bytes) -> u32 {
    let Ok(mut arguments) = Arguments::<Operation>::decode(arguments) else { return SMALL_BYTES };
    let mut bytes = 0u32;
    while let Some(Ok(operation)) = arguments.next_operation() {
        let data_bytes = match &operation {
            Operation::Read(arguments) | Operation::ReadPlus(arguments) => arguments.count_bytes,
            Operation::ReadDirectory(arguments) => arguments.max_count_bytes,
            Operation::ListXattrs(arguments) => arguments.max_count_bytes,
            Operation::ReadLink => LINK_BYTES,
            Operation::GetXattr(_) => XATTR_BYTES,
            _ => 0,
        };
        bytes = bytes.saturating_add(data_bytes).saturating_add(SMALL_BYTES);
        if bytes >= MAX_MESSAGE_BYTES {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, encoded, record};
    use nfs::v4::Stateid;
    use nfs::v4::compound::{Call, Tag};
    use nfs::v4::io::ReadArguments;

    fn compound(operations: &[Operation]) -> u32 {
        let arguments = encoded(|writer| {
            let mut call = Call::start(writer, &Tag::default(), 2);
            operations.iter().for_each(|operation| call.push(writer, operation));
            call.finish(writer);
        });
        let header = Bench::new().header(nfs::PROGRAM, nfs::v4::VERSION, nfs::v4::PROCEDURE_COMPOUND);
        reply_bound(&record(&header, &arguments))
    }

    fn read(count_bytes: u32) -> Operation {
        Operation::Read(ReadArguments { stateid: Stateid { seqid: 0, other: [0; 12] }, offset_bytes: 0, count_bytes })
    }

    #[test]
    fn reads_count_with_their_data() {
        assert_eq!(compound(&[read(4096), Operation::GetFilehandle]), 4096 + 2 * SMALL_BYTES);
        assert_eq!(compound(&[read(u32::MAX), read(u32::MAX)]), MAX_MESSAGE_BYTES);
        assert_eq!(compound(&[]), 0);
    }

    #[test]
    fn a_read_of_version_3_counts_with_its_data() {
        let file = nfs::v3::Filehandle::from("fh");
        let read = nfs::v3::Request::Read(nfs::v3::ReadArguments { file, offset_bytes: 0, count_bytes: 100_000 });
        let header = Bench::new().header(nfs::PROGRAM, nfs::v3::VERSION, 6);
        let bound = reply_bound(&record(&header, &encoded(|writer| read.encode(writer))));
        assert_eq!(bound, 100_000 + SMALL_BYTES);
    }

    #[test]
    fn what_is_no_call_needs_little() {
        for record in [&b""[..], b"\0\0\0\x01\0\0\0\x01", b"\0\0\0\x01\0\0\0\0\0\0\0\x02"] {
            assert_eq!(reply_bound(&Bytes::from_static(record)), SMALL_BYTES);
        }
    }
}
