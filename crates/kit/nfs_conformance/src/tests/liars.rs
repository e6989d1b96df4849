//! Each check against servers that lie: one says yes to everything, with zeros as results, and one
//! says no. A check that passes on both has to fail on one that is silent.

use crate::{Check, Harness, Options, Remembered, checks, find, run};
use bytes::BytesMut;
use nfs::v4::Status;
use nfs::v4::compound::{Arguments, CompoundOperation, CompoundOutcome, Reply as CompoundReply};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::SequenceOk;
use onc_rpc::message::{AcceptStatus, Message, Reply};
use onc_rpc::record::{Progress, Reassembly, Record};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use xdr::{Reader, Writer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    Yes,
    No,
    /// Never answers, and never closes a connection.
    Silence,
}

/// Success with zeros; only what a client needs to go on is filled in.
fn zeros(operation: &Operation) -> Outcome {
    let mut bytes = operation.code().to_be_bytes().to_vec();
    bytes.resize(1024, 0);
    match operation {
        Operation::Sequence(asked) => Outcome::Sequence(Ok(SequenceOk {
            session: asked.session,
            sequence: asked.sequence,
            slot: asked.slot,
            highest_slot: 0,
            target_highest_slot: 0,
            status_flags: 0,
        })),
        Operation::ReadDirectory(_) => Outcome::failed(operation.code(), Status::SERVERFAULT),
        _ => Outcome::decode(&mut Reader::new(bytes.into()))
            .unwrap_or_else(|_| Outcome::failed(operation.code(), Status::SERVERFAULT)),
    }
}

fn answer(lie: Lie, record: bytes::Bytes, stream: &mut TcpStream) -> Option<()> {
    let mut reader = Reader::new(record);
    let mut writer = Writer::default();
    let framed = Record::start(&mut writer);
    let Ok(Message::Call(call)) = Message::decode(&mut reader) else { return Some(()) };
    let accepted = |writer: &mut Writer, status| Reply::accepted(call.xid, status).encode(writer);
    match (lie, call.procedure, Arguments::<Operation>::decode(reader.rest())) {
        (Lie::No, 0, _) => accepted(&mut writer, AcceptStatus::SystemError),
        (_, 1, Ok(mut arguments)) => {
            accepted(&mut writer, AcceptStatus::Success);
            let mut reply = CompoundReply::<Operation>::start(&mut writer, &"".into());
            while let Some(operation) = arguments.next_operation() {
                let outcome = match operation {
                    Ok(operation) if lie == Lie::Yes => zeros(&operation),
                    Ok(operation) => Outcome::failed(operation.code(), Status::SERVERFAULT),
                    Err(error) => Outcome::failed(error.code, Status::SERVERFAULT),
                };
                let failed = outcome.status().is_err();
                reply.push(&mut writer, &outcome);
                if failed {
                    break;
                }
            }
            reply.finish(&mut writer, if lie == Lie::Yes { Ok(()) } else { Err(Status::SERVERFAULT) });
        }
        _ => accepted(&mut writer, AcceptStatus::Success),
    }
    framed.finish(&mut writer).ok()?;
    stream.write_all(&writer.into_bytes()).ok()
}

fn serve(lie: Lie, mut stream: TcpStream) -> Option<()> {
    let mut reassembly = Reassembly::new(usize::MAX >> 1);
    let mut input = BytesMut::new();
    if lie == Lie::Silence {
        return std::io::copy(&mut stream, &mut std::io::sink()).ok().map(drop);
    }
    loop {
        match reassembly.take(&mut input).ok()? {
            Progress::Record(record) => answer(lie, record, &mut stream)?,
            Progress::Incomplete { .. } => {
                let mut buffer = vec![0; 64 << 10];
                let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
                input.extend_from_slice(&buffer[..count]);
            }
        }
    }
}

/// A harness that does nothing: the liar goes on.
#[derive(Debug)]
struct Unmoved;

impl Harness for Unmoved {
    fn restart(&self, _: Remembered) -> Result<(), String> {
        Ok(())
    }
}

/// Names of the checks that pass on a lying server.
fn passing(lie: Lie, checks: &[&'static Check]) -> BTreeSet<&'static str> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            std::thread::spawn(move || serve(lie, stream));
        }
    });
    let options = Options {
        second_share: Some("two".into()),
        strict: Some(true),
        timeout: Duration::from_millis(200),
        harness: Some(Arc::new(Unmoved)),
        ..Options::new(format!("nfs://{address}/share").parse().unwrap())
    };
    let report = run(&options, checks, &AtomicBool::new(false), |_| {});
    report.rows.iter().filter(|row| row.outcome.word() == "passed").map(|row| row.name).collect()
}

#[test]
fn no_check_passes_on_every_liar() {
    let (yes, no) = (passing(Lie::Yes, &checks()), passing(Lie::No, &checks()));
    let both: Vec<_> = yes.intersection(&no).flat_map(|name| find(name)).collect();
    let all = passing(Lie::Silence, &both);
    assert!(all.is_empty(), "{all:?}");
    // Most checks compare more than a status, and do not pass on either.
    assert!(yes.len() < checks().len() / 3, "{yes:?}");
    assert!(no.len() < checks().len() / 10, "{no:?}");
}
