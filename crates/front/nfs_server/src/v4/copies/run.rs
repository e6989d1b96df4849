//! Running physical copies: a piece at a time, and what follows the end of a copy.

use super::super::commit::verifier;
use super::super::copy;
use super::super::object::{self, File};
use super::super::server::Server;
use super::{End, Job, Piece};
use crate::connection::Moment;
use crate::failure::Failure;
use crate::statistics::{Offloaded, Refusal};
use nfs::v4::callback::{OffloadArguments, OffloadFailure};
use nfs::v4::offload::WriteResponse;
use nfs::v4::{Stable, Status};
use nfs_state::{Mutation, leaves_out};
use std::rc::Rc;
use unit::{OffloadClient, Primitive};
use vfs::{Call, FileSystem, FsError, Payload, Seek, Segment, Stability, pause};

/// Most bytes of a piece: what other calls may have to wait for. A hole is one piece.
const PIECE_BYTES: u32 = 256 << 10;

/// Why no callback follows the end of a copy.
const CLIENT_GONE: &str = "the client is gone, or has cancelled the copy";

impl<F: FileSystem> Server<F> {
    /// Runs physical copies until one of them ends, whose callback may then be due. Waits while there is none.
    ///
    /// `begin` is called for each piece: its time, and what is kept until it ends. A future that is dropped leaves out
    /// nothing: the next one goes on.
    pub async fn copy_ended<G>(&self, begin: impl Fn() -> (Moment, G)) {
        loop {
            let job = self.copies().next().await;
            if !self.state().is_copying(&job.order.stateid) && !leaves_out(Mutation::CopyCancel) {
                self.give_up(&job);
                return;
            }
            let (moment, guard) = begin();
            self.set_uptime(moment.uptime);
            let piece = Piece::begin(&job);
            let copied = self.copy_piece(&job, moment).await;
            drop((piece, guard));
            if self.note(&job, copied) {
                return;
            }
            // Other calls go on between two pieces.
            pause().await;
        }
    }

    /// Ends the copies from and to a share whose content was replaced.
    pub(in super::super) fn stop_copies(&self, object: u64) {
        for job in self.copies().of_share(object) {
            self.end_copy(&job, Err(Status::ADMIN_REVOKED.into()));
        }
    }

    /// Forgets copies that have ended with their callback, or with their client.
    pub(in super::super) fn forget_copies(&self) {
        self.copies().retain(|job| job.outcome().is_none() || self.state().is_copying(&job.order.stateid));
    }

    /// Copies the next piece, durably. Returns its length; 0 if the source has become shorter.
    async fn copy_piece(&self, job: &Job, moment: Moment) -> Result<u64, Failure> {
        let order = &job.order;
        let rest = order.length_bytes.saturating_sub(job.done_bytes());
        if rest == 0 {
            return Ok(0);
        }
        let (from, to) = (self.reopen(job, order.from, moment)?, self.reopen(job, order.to, moment)?);
        if to.export.read_only() {
            return Err(Status::ROFS.into());
        }
        let (source, target) = (from.export.files(), to.export.files());
        let read = Call { right: order.from.right, ..from.export.call(moment.now) };
        let write = Call { right: order.to.right, ..to.export.call(moment.now) };
        let at = |end: End| end.offset_bytes.saturating_add(job.done_bytes());
        let most = PIECE_BYTES.min(source.limits().io_bytes).min(target.limits().io_bytes);
        let length = u32::try_from(rest).unwrap_or(u32::MAX).min(most);
        let content = source.read(read, from.id, at(order.from), length).await?;
        if let [Segment::Hole { length_bytes }] = content.segments[..] {
            let length_bytes = match source.seek(read, from.id, at(order.from), Seek::Data).await {
                Ok(data) => data.offset_bytes.saturating_sub(at(order.from)).max(length_bytes).min(rest),
                // The source has become shorter.
                Err(FsError::BeyondEnd { .. }) => length_bytes,
                Err(error) => return Err(error.into()),
            };
            target.zero(write, to.id, at(order.to), length_bytes).await?;
            return Ok(length_bytes);
        }
        let data = Payload::from(content.into_bytes());
        let bytes = data.length_bytes();
        target.write(write, to.id, at(order.to), data, Stability::Durable).await?;
        Ok(bytes)
    }

    /// A file of a copy, if its share is still there and the client may still use it.
    fn reopen(&self, job: &Job, end: End, moment: Moment) -> Result<File<F>, Status> {
        let share = self.shares().borrow().by_object(end.object).cloned();
        let share = share.filter(|share| share.epoch == end.epoch).ok_or(Status::STALE)?;
        Ok(File { export: object::export(&share, &job.facts(moment))?, id: end.file })
    }

    /// Notes a piece. True if the copy has ended.
    fn note(&self, job: &Rc<Job>, copied: Result<u64, Failure>) -> bool {
        // A stop or a roll-back meanwhile has the last word.
        match copied {
            Ok(bytes) => {
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

    /// Ends a copy of which nobody wants to know the outcome.
    pub(in super::super) fn give_up(&self, job: &Rc<Job>) {
        job.stopped.set(true);
        self.copies().retain(|other| !Rc::ptr_eq(other, job));
        if job.outcome().is_none() {
            let detail = format!("{}: {CLIENT_GONE}", subject(job));
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
