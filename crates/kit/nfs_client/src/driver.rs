//! The driver: the task that does a connection's network I/O, delivers replies, and answers
//! callbacks.

use crate::connection::Inner;
use crate::error::ClientError;
use crate::server::Stream;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::future::{Either, select};
use nfs::v4::Status;
use nfs::v4::callback::{self, CallbackOperation, CallbackOutcome, SequenceOk};
use nfs::v4::compound::{Arguments, CompoundOperation, CompoundOutcome, Reply as CompoundReply};
use onc_rpc::message::{AcceptStatus, Call, Message, Reply};
use onc_rpc::record::{Progress, Reassembly, Record};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::rc::Rc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use xdr::{Reader, Writer};

/// Longest record that is accepted: more than any reply of a session of ours.
const MAX_RECORD_BYTES: usize = 2 << 20;
/// Room of the receive buffer, at least.
const ROOM_BYTES: usize = 64 << 10;

/// Output that waits for the socket.
#[derive(Debug, Default)]
pub(crate) struct Output(VecDeque<Bytes>);

impl Output {
    pub(crate) fn push(&mut self, chunks: Vec<Bytes>) {
        self.0.extend(chunks);
    }
}

impl Buf for Output {
    fn remaining(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.0.front().map_or(&[], |chunk| chunk)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        slices.iter_mut().zip(&self.0).map(|(slice, chunk)| *slice = IoSlice::new(chunk)).count()
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(front) = self.0.front_mut().filter(|_| count > 0) {
            let step = count.min(front.len());
            front.advance(step);
            count -= step;
            if front.is_empty() {
                self.0.pop_front();
            }
        }
    }
}

/// Serves the connection until it is lost.
pub(crate) async fn run(inner: Rc<Inner>, Stream { reader, writer }: Stream) {
    let (reading, writing) = (pin!(read(&inner, reader)), pin!(write(&inner, writer)));
    let (Either::Left((ended, _)) | Either::Right((ended, _))) = select(reading, writing).await;
    let reason = ended.map_or_else(|error| error.to_string(), |()| "it was closed".into());
    inner.lose(ClientError::Lost { server: inner.server.clone(), reason });
}

async fn write(inner: &Inner, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
    loop {
        inner.more_output.notified().await;
        if inner.is_lost() {
            return Ok(());
        }
        // Everything that piled up is written together.
        let mut batch = std::mem::take(&mut *inner.output.borrow_mut());
        let bytes = batch.remaining();
        writer.write_all_buf(&mut batch).await?;
        inner.count(|counters| counters.sent_bytes += bytes as u64);
    }
}

async fn read(inner: &Inner, mut reader: impl AsyncRead + Unpin) -> io::Result<()> {
    let mut reassembly = Reassembly::new(MAX_RECORD_BYTES);
    let mut input = BytesMut::new();
    loop {
        let missing = match reassembly.take(&mut input).map_err(io::Error::other)? {
            Progress::Record(record) => {
                take(inner, record)?;
                continue;
            }
            Progress::Incomplete { missing_bytes } => missing_bytes,
        };
        input.reserve(missing.max(ROOM_BYTES));
        let read = reader.read_buf(&mut input).await?;
        if read == 0 {
            return Err(io::Error::other("the server closed the connection"));
        }
        inner.count(|counters| counters.received_bytes += read as u64);
    }
}

/// Takes a record: a reply, or a call of the server.
fn take(inner: &Inner, record: Bytes) -> io::Result<()> {
    let mut reader = Reader::strict(record);
    match Message::decode(&mut reader) {
        Ok(Message::Reply(Reply { xid, body })) => match inner.deliver(xid, body, reader.rest()) {
            true => Ok(()),
            false => Err(io::Error::other(format!("a reply to no call: transaction {xid:#010x}"))),
        },
        Ok(Message::Call(call)) => {
            answer(inner, &call, reader.rest());
            Ok(())
        }
        Err(error) => Err(io::Error::other(format!("a record that is no message: {error}"))),
    }
}

/// Answers a call on the back channel. Every operation that is known succeeds.
fn answer(inner: &Inner, call: &Call, arguments: Bytes) {
    let mut writer = Writer::default();
    let record = Record::start(&mut writer);
    let head = |writer: &mut Writer, status| Reply::accepted(call.xid, status).encode(writer);
    match call.procedure {
        callback::PROCEDURE_NULL => head(&mut writer, AcceptStatus::Success),
        callback::PROCEDURE_COMPOUND => match Arguments::<CallbackOperation>::decode(arguments) {
            Ok(arguments) => {
                head(&mut writer, AcceptStatus::Success);
                execute(inner, arguments, &mut writer);
            }
            Err(_) => head(&mut writer, AcceptStatus::GarbageArguments),
        },
        _ => head(&mut writer, AcceptStatus::ProcedureUnavailable),
    }
    // A reply of a few hundred bytes fits a record.
    if record.finish(&mut writer).is_ok() {
        inner.send(writer);
    }
}

fn execute(inner: &Inner, mut arguments: Arguments<CallbackOperation>, writer: &mut Writer) {
    let mut reply = CompoundReply::<CallbackOperation>::start(writer, &arguments.tag);
    while let Some(operation) = arguments.next_operation() {
        let outcome = match operation {
            Ok(operation) => outcome(inner, &operation),
            Err(error) => CallbackOutcome::failed(error.code, Status::BADXDR),
        };
        let failed = outcome.status().is_err();
        reply.push(writer, &outcome);
        if failed {
            break;
        }
    }
    reply.finish(writer, Ok(()));
}

fn outcome(inner: &Inner, operation: &CallbackOperation) -> CallbackOutcome {
    inner.called_back(operation);
    match operation {
        CallbackOperation::Sequence(arguments) => CallbackOutcome::Sequence(Ok(SequenceOk {
            session: arguments.session,
            sequence: arguments.sequence,
            slot: arguments.slot,
            highest_slot: arguments.highest_slot,
            target_highest_slot: arguments.highest_slot,
        })),
        CallbackOperation::Offload(_) => CallbackOutcome::Offload(Ok(())),
        CallbackOperation::RecallSlot(_) => CallbackOutcome::RecallSlot(Ok(())),
        CallbackOperation::NotifyLock(_) => CallbackOutcome::NotifyLock(Ok(())),
        CallbackOperation::Illegal { .. } => CallbackOutcome::failed(operation.code(), Status::OP_ILLEGAL),
        // Delegations and layouts are never asked for.
        _ => CallbackOutcome::failed(operation.code(), Status::NOTSUPP),
    }
}
