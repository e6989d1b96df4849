//! Space and offload, RFC 7862: one function an operation.

use crate::compound::{Compound, take};
use crate::error::ClientError;
use crate::share::{File, Share};
use nfs::v4::io::{Content, ReadArguments, ReadPlusOk, SeekArguments, SeekOk};
use nfs::v4::offload::{
    CloneArguments, CopyArguments, CopyFailure, CopyOk, DataBlocks, OffloadStatusOk, RangeArguments, WriteResponse,
    WriteSameArguments,
};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Stable, Stateid};

impl Share {
    /// Shares a range of `source` with `file`. A length of 0 stands for all up to the end.
    pub async fn clone_range(
        &self,
        (source, source_offset_bytes): (&File, u64),
        (file, destination_offset_bytes): (&File, u64),
        count_bytes: u64,
    ) -> Result<(), ClientError> {
        let arguments = CloneArguments {
            source_stateid: source.stateid,
            destination_stateid: file.stateid,
            source_offset_bytes,
            destination_offset_bytes,
            count_bytes,
        };
        self.with_saved(&source.handle, &file.handle, Operation::Clone(arguments)).await?.finish()
    }

    /// Copies a range of `source` to `file`, as far as the server does in one call.
    pub async fn copy_range(
        &self,
        (source, source_offset_bytes): (&File, u64),
        (file, destination_offset_bytes): (&File, u64),
        count_bytes: u64,
        synchronous: bool,
    ) -> Result<Result<CopyOk, CopyFailure>, ClientError> {
        let arguments = CopyArguments {
            source_stateid: source.stateid,
            destination_stateid: file.stateid,
            source_offset_bytes,
            destination_offset_bytes,
            count_bytes,
            consecutive: true,
            synchronous,
            source_servers: Vec::new().into(),
        };
        let operation = Operation::Copy(Box::new(arguments));
        let mut outcomes = self.with_saved(&source.handle, &file.handle, operation).await?;
        match outcomes.next_outcome() {
            Some(Outcome::Copy(results)) => Ok(results),
            other => Err(ClientError::Malformed(format!("COPY: {other:?}"))),
        }
    }

    /// How far an asynchronous copy into `file` is.
    pub async fn offload_status(&self, file: &File, copy: &Stateid) -> Result<OffloadStatusOk, ClientError> {
        let compound = Compound::reading([Operation::OffloadStatus(*copy)]).on(&file.handle);
        let mut outcomes = self.session().call(&compound).await?;
        outcomes.skip(1)?;
        Ok(take!(outcomes, Outcome::OffloadStatus))
    }

    /// Ends an asynchronous copy into `file`, which then has the start of the source.
    pub async fn offload_cancel(&self, file: &File, copy: &Stateid) -> Result<(), ClientError> {
        self.session().call(&Compound::changing([Operation::OffloadCancel(*copy)]).on(&file.handle)).await?.finish()
    }

    /// Promises space for a range.
    pub async fn allocate(&self, file: &File, offset_bytes: u64, length_bytes: u64) -> Result<(), ClientError> {
        let arguments = RangeArguments { stateid: file.stateid, offset_bytes, length_bytes };
        self.session().call(&Compound::changing([Operation::Allocate(arguments)]).on(&file.handle)).await?.finish()
    }

    /// Frees a range, which then reads as zeros.
    pub async fn deallocate(&self, file: &File, offset_bytes: u64, length_bytes: u64) -> Result<(), ClientError> {
        let arguments = RangeArguments { stateid: file.stateid, offset_bytes, length_bytes };
        self.session().call(&Compound::changing([Operation::Deallocate(arguments)]).on(&file.handle)).await?.finish()
    }

    /// Finds data or a hole.
    pub async fn seek(&self, file: &File, offset_bytes: u64, what: Content) -> Result<SeekOk, ClientError> {
        let operation = Operation::Seek(SeekArguments { stateid: file.stateid, offset_bytes, what });
        let mut outcomes = self.session().call(&Compound::reading([operation]).on(&file.handle)).await?;
        outcomes.skip(1)?;
        Ok(take!(outcomes, Outcome::Seek))
    }

    /// Reads up to `count_bytes` as segments of data and holes.
    pub async fn read_plus(&self, file: &File, offset_bytes: u64, count_bytes: u32) -> Result<ReadPlusOk, ClientError> {
        let operation = Operation::ReadPlus(ReadArguments { stateid: file.stateid, offset_bytes, count_bytes });
        let mut outcomes = self.session().call(&Compound::reading([operation]).on(&file.handle)).await?;
        outcomes.skip(1)?;
        Ok(take!(outcomes, Outcome::ReadPlus))
    }

    /// Writes blocks with a pattern, as far as the server does in one call; durable on return.
    pub async fn write_same(&self, file: &File, blocks: DataBlocks) -> Result<WriteResponse, ClientError> {
        let arguments = WriteSameArguments { stateid: file.stateid, stable: Stable::FileSync, blocks };
        let operation = Operation::WriteSame(Box::new(arguments));
        let mut outcomes = self.session().call(&Compound::changing([operation]).on(&file.handle)).await?;
        outcomes.skip(1)?;
        Ok(take!(outcomes, Outcome::WriteSame))
    }
}
