//! Counting of operations: which of them are offload, and what ended how.

use super::context::Context;
use super::object::Object;
use super::server::Server;
use super::xattr_name::is_own;
use crate::attributes::needs_space;
use crate::statistics::{Offloaded, Refusal, Statistics};
use nfs::v4::Status;
use nfs::v4::io::Segment;
use nfs::v4::operations::{Operation, Outcome};
use unit::{Io, OffloadClient, Primitive};
use vfs::FileSystem;

/// Offload operation that is about to be executed.
pub(super) struct Offload {
    primitive: Primitive,
    operation: &'static str,
    /// Its range, for the log.
    range: Option<(u64, u64)>,
}

impl Offload {
    /// The place where an operation gets its primitive. `None`: it is no offload.
    pub fn of(operation: &Operation) -> Option<Self> {
        use Operation as O;
        let (primitive, range) = match operation {
            O::Clone(of) => (Primitive::Clone, Some((of.destination_offset_bytes, of.count_bytes))),
            O::Copy(of) => (Primitive::Copy, Some((of.destination_offset_bytes, of.count_bytes))),
            O::Allocate(of) => (Primitive::Reserve, Some((of.offset_bytes, of.length_bytes))),
            O::Deallocate(of) => (Primitive::Free, Some((of.offset_bytes, of.length_bytes))),
            O::Seek(of) => (Primitive::Seek, Some((of.offset_bytes, 0))),
            O::ReadPlus(of) => (Primitive::ReadPlus, Some((of.offset_bytes, of.count_bytes.into()))),
            O::WriteSame(of) => {
                let length_bytes = of.blocks.block_bytes.saturating_mul(of.blocks.block_count);
                (Primitive::WriteSame, Some((of.blocks.offset_bytes, length_bytes)))
            }
            O::GetAttributes(of) if needs_space(&of.wanted) => (Primitive::ExtendedStatistics, None),
            O::GetXattr(name) if is_own(name) => (Primitive::ExtendedStatistics, None),
            O::OffloadStatus(_) => (Primitive::OffloadStatus, None),
            O::OffloadCancel(_) => (Primitive::OffloadAbort, None),
            _ => return None,
        };
        Some(Self { primitive, operation: operation.row()?.name, range })
    }
}

/// Measures the operations of one compound.
pub(super) struct Accounting<'a> {
    statistics: Option<&'a Statistics>,
    /// Time at which the last operation ended.
    ended_ns: u64,
}

impl<'a> Accounting<'a> {
    pub fn begin<F: FileSystem>(server: &'a Server<F>) -> Self {
        let statistics = server.statistics();
        Self { statistics, ended_ns: statistics.map_or(0, Statistics::now_ns) }
    }

    /// An operation ended. Returns its duration, if statistics are kept.
    pub fn ended<F: FileSystem>(
        &mut self,
        context: &mut Context<'_, F>,
        offload: Option<Offload>,
        outcome: &Outcome,
        status: Result<(), Status>,
    ) -> Option<u64> {
        let statistics = self.statistics?;
        let now_ns = statistics.now_ns();
        let duration_ns = now_ns.saturating_sub(self.ended_ns);
        self.ended_ns = now_ns;
        let (failure, work) = (context.failure.take(), context.take_work());
        let Ok(Object::File(file)) = context.current() else { return Some(duration_ns) };
        let Some(counted) = &file.export.share.counted else { return Some(duration_ns) };
        if status.is_ok()
            && let Some((io, bytes)) = moved(outcome)
        {
            statistics.moved(counted, io, bytes, duration_ns);
        }
        let Some(Offload { primitive, operation, range }) = offload else { return Some(duration_ns) };
        if goes_on(outcome) {
            // It is counted when it ends.
            return Some(duration_ns);
        }
        let result = match status {
            Ok(()) => Ok(&work),
            // The answer of SEEK behind the end of the file.
            Err(Status::NXIO) if primitive == Primitive::Seek => Ok(&work),
            Err(status) => {
                let subject = match range {
                    Some((at, 0)) => format!("file {}, from byte {at}", file.id.0),
                    Some((at, length)) => format!("file {}, {length} bytes from byte {at}", file.id.0),
                    None => format!("file {}", file.id.0),
                };
                Err(Refusal::new(&subject, failure.as_ref(), status))
            }
        };
        let client = OffloadClient::host(context.caller.connection.client.ip());
        statistics.offloaded(counted, Offloaded { client, primitive, operation, duration_ns, result });
        Some(duration_ns)
    }
}

/// Whether an operation is a copy that goes on after the reply.
const fn goes_on(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Copy(Ok(copy)) if copy.response.callback.is_some())
}

/// Direction and bytes of content that a successful operation moved.
fn moved(outcome: &Outcome) -> Option<(Io, u64)> {
    match outcome {
        Outcome::Read(Ok(of)) => Some((Io::Read, of.data.as_bytes().len() as u64)),
        Outcome::ReadPlus(Ok(of)) => {
            let data = |segment: &Segment| match segment {
                Segment::Data(data) => data.data.as_bytes().len() as u64,
                Segment::Hole(_) => 0,
            };
            Some((Io::Read, of.segments.iter().map(data).sum()))
        }
        Outcome::Write(Ok(of)) => Some((Io::Write, of.count_bytes.into())),
        _ => None,
    }
}
