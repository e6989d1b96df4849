//! Running physical copies: a piece at a time, and what follows the end of a copy.

use super::super::commit::verifier;
use super::super::copy;
use super::super::moved::Moved;
use super::super::object::{self, File};
use super::super::server::Server;
use super::{End, Job};
use crate::connection::Moment;
use crate::failure::Failure;
use crate::statistics::{Offloaded, Refusal};
use nfs::v4::callback::{OffloadArguments, OffloadFailure};
use nfs::v4::offload::WriteResponse;
use nfs::v4::{Stable, Status};
use nfs_state::{FileKey, IoAccess, Mutation, leaves_out};
use std::rc::Rc;
use unit::{OffloadClient, Primitive};
use vfs::{Call, FileSystem, pause};

/// Most bytes of a piece: what other calls may have to wait for. A hole is one piece.
const PIECE_BYTES: u32 = 256 << 10;

/// Why no callback follows the end of a copy.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum GivenUp {
    /// OFFLOAD_CANCEL.
    Cancelled,
    /// The state of the client ended or was revoked.
    ClientGone,
}

impl GivenUp {
    const fn text(self) -> &'static str {
        match self {
            Self::Cancelled => "the client has cancelled the copy",
            Self::ClientGone => "the client is gone, or its state was revoked",
        }
    }
}

/// Source and destination of a copy.
type Ends<F> = (File<F>, File<F>);

impl<F: FileSystem> Server<F> {
    /// Runs physical copies until one of them ends, whose callback may then be due. Waits while there is none.
    ///
    /// `begin` as in [`Self::copy_piece`].
    pub async fn copy_ended<G>(&self, begin: impl Fn() -> (Moment, G)) {
        while !self.copy_piece(&begin).await {
            // Other calls go on between two pieces.
            pause().await;
        }
    }

    /// Copies the next piece of the physical copy whose turn it is, beside those that are in progress. Waits while
    /// there is none. True if the copy has ended; its callback may be due.
    ///
    /// `begin` is called when the piece begins: its time, and what is kept until it ends. A future that is dropped
    /// leaves out nothing: the next one goes on.
    pub async fn copy_piece<G>(&self, begin: impl FnOnce() -> (Moment, G)) -> bool {
        let job = self.copies().next().await;
        if !self.is_wanted(&job) {
            self.give_up(&job, GivenUp::ClientGone);
            return true;
        }
        let (moment, guard) = begin();
        self.set_uptime(moment.uptime);
        let piece = self.copies().begin_piece(&job);
        let copied = self.move_piece(&job, moment).await;
        let ended = self.note(&job, copied);
        drop((piece, guard));
        ended
    }

    /// Waits for the pieces in progress of copies that may not go on: those that have ended, and those whose client has
    /// lost its right.
    pub async fn barred_pieces_ended(&self) {
        for job in self.copies().busy() {
            if self.may_go_on(&job) != Ok(true) {
                job.piece_ended().await;
            }
        }
    }

    /// Ends the copies from and to a share whose content was replaced. A piece may be in progress:
    /// [`Self::barred_pieces_ended`].
    pub(in super::super) fn stop_copies(&self, object: u64) {
        for job in self.copies().of_share(object) {
            self.end_copy(&job, Err(Status::ADMIN_REVOKED.into()));
        }
    }

    /// Forgets copies that have ended with their callback, or with their client.
    pub(in super::super) fn forget_copies(&self) {
        self.copies().retain(|job| job.outcome().is_none() || self.state().is_copying(&job.order.stateid));
    }

    /// Whether the client still wants a copy.
    fn is_wanted(&self, job: &Job) -> bool {
        self.state().is_copying(&job.order.stateid) || leaves_out(Mutation::CopyCancel)
    }

    /// Whether a copy may read and write; false if it has ended, or its client is gone. `LOCKED`: another client has
    /// opened an end, and denies it.
    fn may_go_on(&self, job: &Job) -> Result<bool, Status> {
        let Job { order, .. } = job;
        if !job.runs() || !self.is_wanted(job) {
            return Ok(false);
        }
        let mut state = self.state();
        if state.is_copying(&order.stateid) {
            for (end, access) in [(order.from, IoAccess::Read), (order.to, IoAccess::Write)] {
                let file = FileKey { share: end.object, file: end.file.0 };
                state.check_copy_io(&order.stateid, &file, access, self.uptime())?;
            }
        }
        Ok(true)
    }

    /// Source and destination of a copy that may go on; `None` if it may not.
    fn ends(&self, job: &Job, moment: Moment) -> Result<Option<Ends<F>>, Status> {
        if !self.may_go_on(job)? {
            return Ok(None);
        }
        let (from, to) = (self.reopen(job, job.order.from, moment)?, self.reopen(job, job.order.to, moment)?);
        if to.export.read_only() { Err(Status::ROFS) } else { Ok(Some((from, to))) }
    }

    /// Moves the next piece, durably. Returns its length; 0 if the source has become shorter; `None` if the copy may
    /// not go on, and nothing was written.
    async fn move_piece(&self, job: &Job, moment: Moment) -> Result<Option<u64>, Failure> {
        let order = &job.order;
        let rest = order.length_bytes.saturating_sub(job.done_bytes());
        if rest == 0 {
            return Ok(Some(0));
        }
        let Some((from, to)) = self.ends(job, moment)? else { return Ok(None) };
        let at = |end: End| end.offset_bytes.saturating_add(job.done_bytes());
        let target = to.export.files().limits();
        // After the first piece all begin with a block of the destination.
        let within_block = at(order.to) % u64::from(target.grain_bytes);
        let most = u64::from(PIECE_BYTES.min(target.io_bytes)).saturating_sub(within_block).max(1);
        let read = Call { right: order.from.right, ..from.export.call(moment.now) };
        let moved = Moved::read(&from, read, at(order.from), (most, rest)).await?;
        // While the source was read, the copy may have ended, and others may have acted on that.
        let Some((_, to)) = self.ends(job, moment)? else { return Ok(None) };
        let write = Call { right: order.to.right, ..to.export.call(moment.now) };
        Ok(Some(moved.write(&to, write, at(order.to)).await?))
    }

    /// A file of a copy, if its share is still there and the client may still use it.
    fn reopen(&self, job: &Job, end: End, moment: Moment) -> Result<File<F>, Status> {
        let share = self.shares().borrow().by_object(end.object).cloned();
        let share = share.filter(|share| share.epoch == end.epoch).ok_or(Status::STALE)?;
        Ok(File { export: object::export(&share, &job.facts(moment))?, id: end.file })
    }

    /// Notes a piece. True if the copy has ended.
    fn note(&self, job: &Rc<Job>, copied: Result<Option<u64>, Failure>) -> bool {
        // The outcome of a stop or a roll-back meanwhile stays.
        match copied {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                job.done_bytes.set(job.done_bytes().saturating_add(bytes));
                if job.runs() && (bytes == 0 || job.done_bytes() >= job.order.length_bytes) {
                    self.end_copy(job, Ok(()));
                }
            }
            Err(failure) if job.runs() => self.end_copy(job, Err(failure)),
            Err(_) => {}
        }
        !job.runs()
    }

    /// Notes the outcome of a copy, and makes its callback due.
    fn end_copy(&self, job: &Job, outcome: Result<(), Failure>) {
        // Of a pool that has stopped nothing is known, but what was copied before is durable.
        let status = outcome.as_ref().map(|_| ()).map_err(|failure| copy::ROW.status(failure).unwrap_or(Status::IO));
        job.outcome.set(Some(status));
        let share = self.shares().borrow().by_object(job.order.to.object).cloned();
        let verifier = share.map(|share| verifier(&*share.file_system));
        let copied_bytes = job.done_bytes();
        let response = WriteResponse {
            callback: None,
            count_bytes: copied_bytes,
            committed: Stable::FileSync,
            verifier: verifier.unwrap_or_default(),
        };
        let offload = OffloadArguments {
            file: job.order.handle.clone(),
            stateid: job.order.stateid,
            outcome: status.map(|()| response).map_err(|status| OffloadFailure { status, copied_bytes }),
        };
        self.state().queue_callback(offload, Some(job.order.referring), self.uptime());
        self.count(job, status.map_err(|status| Refusal::new(&subject(job), outcome.as_ref().err(), status)));
    }

    /// Ends a copy without a callback, and counts it, once.
    pub(in super::super) fn give_up(&self, job: &Rc<Job>, cause: GivenUp) {
        job.stopped.set(true);
        if self.copies().remove(job) && job.outcome().is_none() {
            let detail = format!("{}: {}", subject(job), cause.text());
            self.count(job, Err(Refusal::aborted(detail)));
        }
    }

    /// Counts a copy in the statistics of its destination.
    fn count(&self, job: &Job, result: Result<(), Refusal>) {
        let share = self.shares().borrow().by_object(job.order.to.object).cloned();
        let counted = share.as_ref().and_then(|share| share.counted.as_ref());
        let (Some(statistics), Some(counted)) = (self.statistics(), counted) else { return };
        let work = copy::work(job.done_bytes(), 0, false);
        statistics.offloaded(
            counted,
            Offloaded {
                client: OffloadClient::host(job.order.connection.client.ip()),
                primitive: Primitive::Copy,
                operation: "COPY",
                duration_ns: statistics.now_ns().saturating_sub(job.begun_ns),
                result: result.map(|()| &work),
            },
        );
    }
}

/// The copy, for the log.
fn subject(job: &Job) -> String {
    let Job { order, .. } = job;
    let (file, at) = (order.to.file.0, order.to.offset_bytes);
    format!("file {file}, {} of {} bytes copied from byte {at}", job.done_bytes(), order.length_bytes)
}
