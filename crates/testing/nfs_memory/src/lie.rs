//! Lies of a server: operations that it executes in place of those that clients send, and results that
//! it sends in place of its own. A check that passes on a server with a lie about it is worthless.

use bytes::Bytes;
use nfs::v4::compound::{Arguments, Call, CompoundOutcome, Reply, Results};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{PROCEDURE_COMPOUND, Status, VERSION};
use onc_rpc::message::{AcceptStatus, Message, ReplyBody};
use std::cell::RefCell;
use xdr::{Reader, Writer};

/// Changes calls and replies of NFSv4.
pub trait Lie {
    /// Operation to execute in place of `operation`.
    fn ask(&mut self, operation: Operation) -> Operation {
        operation
    }

    /// Results to send to a client that sent `asked`, in place of `outcome`, which belongs to the operation
    /// that was executed. They must be results of `asked`.
    fn answer(&mut self, _asked: &Operation, outcome: Outcome) -> Outcome {
        outcome
    }
}

/// A lie in use.
pub(crate) struct Lying(RefCell<Box<dyn Lie>>);

impl Lying {
    pub(crate) fn new(lie: Box<dyn Lie>) -> Self {
        Self(RefCell::new(lie))
    }

    /// The call to execute, and the operations that the client sent. `None` for messages that are no
    /// COMPOUND, or one that cannot be decoded.
    pub(crate) fn asked(&self, record: &Bytes) -> Option<(Bytes, Vec<Operation>)> {
        let mut reader = Reader::new(record.clone());
        let Ok(Message::Call(header)) = Message::decode(&mut reader) else { return None };
        if (header.program, header.version, header.procedure) != (nfs::PROGRAM, VERSION, PROCEDURE_COMPOUND) {
            return None;
        }
        let mut arguments = Arguments::<Operation>::decode(reader.rest()).ok()?;
        let mut writer = Writer::default();
        header.encode(&mut writer);
        let mut call = Call::start(&mut writer, &arguments.tag, arguments.minor);
        let mut asked = Vec::new();
        while let Some(operation) = arguments.next_operation() {
            let operation = operation.ok()?;
            call.push(&mut writer, &self.0.borrow_mut().ask(operation.clone()));
            asked.push(operation);
        }
        call.finish(&mut writer);
        Some((writer.into_bytes(), asked))
    }

    /// The reply to send in place of one to the operations `asked`. `None` for one without results.
    pub(crate) fn answered(&self, reply: &Bytes, asked: &[Operation]) -> Option<Bytes> {
        let mut reader = Reader::new(reply.clone());
        let Ok(Message::Reply(header)) = Message::decode(&mut reader) else { return None };
        match &header.body {
            ReplyBody::Accepted(accepted) if accepted.status == AcceptStatus::Success => {}
            _ => return None,
        }
        let mut results = Results::<Operation>::decode(reader).ok()?;
        let mut writer = Writer::default();
        header.encode(&mut writer);
        let mut reply = Reply::<Operation>::start(&mut writer, &results.tag);
        let mut operations = asked.iter();
        let mut status: Result<(), Status> = results.status;
        while let Some(outcome) = results.next_outcome() {
            let outcome = self.0.borrow_mut().answer(operations.next()?, outcome.ok()?);
            status = outcome.status();
            reply.push(&mut writer, &outcome);
            if status.is_err() {
                break;
            }
        }
        reply.finish(&mut writer, status);
        Some(writer.into_bytes())
    }
}
