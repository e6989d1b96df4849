//! Asynchronous copies, for the checks about them: the server is asked to copy much, to an offset at which it can
//! hardly share blocks.

use crate::prelude::*;
use nfs::v4::Filehandle;
use nfs::v4::callback::{CallbackOperation, OffloadArguments, SequenceArguments};
use nfs::v4::offload::{CopyFailure, CopyOk};
use std::cell::RefCell;
use std::rc::Rc;

/// Length of the source: more than a server moves before it answers.
pub(crate) const LENGTH: usize = 20 << 20;
/// Offset in the destination.
const TO: u64 = 1;
/// Time for a copy to end, and for its callback to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Callbacks of a connection, in order: CB_SEQUENCE and CB_OFFLOAD of each.
pub(crate) type Called = Rc<RefCell<Vec<(SequenceArguments, OffloadArguments)>>>;

/// A copy that goes on.
pub(crate) struct Asynchronous {
    pub source: Opened,
    pub target: Opened,
    /// Content of the source.
    pub content: Vec<u8>,
    /// Name of the copy.
    pub stateid: Stateid,
    /// Reply to the COPY.
    pub reply: CopyOk,
    /// Sequence id of the COPY, which had slot 0.
    pub sequence: u32,
}

/// Notes the callbacks of a connection.
pub(crate) fn listen(client: &Client) -> Called {
    let called = Called::default();
    let (notes, sequence) = (Rc::clone(&called), RefCell::new(None));
    client.outside.on_callback(move |operation| match operation {
        CallbackOperation::Sequence(arguments) => drop(sequence.replace(Some(arguments.clone()))),
        CallbackOperation::Offload(offload) => {
            notes.borrow_mut().extend(sequence.take().map(|sequence| (sequence, (**offload).clone())));
        }
        _ => {}
    });
    called
}

/// Begins a copy. Skips the check if the server has copied all or a part when it answers.
pub(crate) fn begin(
    bench: &mut Bench<'_>,
    client: &mut Client,
    directory: &Filehandle,
) -> Result<Asynchronous, NotPassed> {
    let content = bench.content(LENGTH);
    let source = client.create_with(directory, "f", &content)?;
    let target = client.create(directory, "g")?;
    let copy = copy(&source, &target);
    let sequence = client.next(0);
    let reply = client.call([op::put(&source.handle), op::save(), op::put(&target.handle), copy])?.optional()?;
    let reply = match reply.last()? {
        Outcome::Copy(Ok(reply)) => reply.clone(),
        Outcome::Copy(Err(CopyFailure::NoRequirements(possible))) if possible.synchronous => {
            return skipped("the server copies before it answers");
        }
        Outcome::Copy(Err(CopyFailure::Other(Status::OFFLOAD_DENIED))) => {
            return skipped("the server takes no more copies at present");
        }
        other => return failed(format!("expected results of COPY, found {other:?}")),
    };
    match reply.response.callback {
        Some(stateid) => Ok(Asynchronous { source, target, content, stateid, reply, sequence }),
        None => skipped("the server copies before it answers"),
    }
}

/// COPY of all that need not be done when it is answered.
pub(crate) fn copy(source: &Opened, target: &Opened) -> Operation {
    let arguments = op::copy_arguments(&source.stateid, &target.stateid, 0, TO, 0);
    Operation::Copy(Box::new(nfs::v4::offload::CopyArguments { synchronous: false, ..arguments }))
}

impl Asynchronous {
    /// OFFLOAD_STATUS.
    pub(crate) fn status(&self, client: &mut Client) -> Result<Reply, NotPassed> {
        client.call([op::put(&self.target.handle), op::offload_status(&self.stateid)])
    }

    /// OFFLOAD_CANCEL.
    pub(crate) fn cancel(&self, client: &mut Client) -> Result<Reply, NotPassed> {
        client.call([op::put(&self.target.handle), op::offload_cancel(&self.stateid)])
    }

    /// Waits for the callback.
    pub(crate) fn callback(
        &self,
        bench: &Bench<'_>,
        called: &Called,
    ) -> Result<(SequenceArguments, OffloadArguments), NotPassed> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = called.borrow().first() {
                return Ok(found.clone());
            }
            if Instant::now() > until {
                return failed("expected CB_OFFLOAD, found none");
            }
            bench.pause(Duration::from_millis(10))?;
        }
    }

    /// Compares the destination with the start of the source; returns how much it has.
    pub(crate) fn start(&self, client: &mut Client) -> Result<usize, NotPassed> {
        let found = client.content(&self.target.handle)?;
        let copied = found.get(TO as usize..).unwrap_or_default();
        let expected = self.content.get(..copied.len()).unwrap_or(&self.content);
        expect_bytes("content", copied, expected)?;
        Ok(copied.len())
    }
}
