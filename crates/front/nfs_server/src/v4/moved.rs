//! Bytes on the way from one file to another, which share no storage: a piece is read, and then written.

use super::object::File;
use bytes::Bytes;
use vfs::{Call, FileSystem, FsError, Payload, Seek, Segment, Stability};

/// Piece of a source that was read. A hole stays a hole, whatever its length.
pub(super) enum Moved {
    Data(Bytes),
    Hole { length_bytes: u64 },
}

impl Moved {
    /// Reads a piece: at most `most` bytes of data, or a hole of at most `rest` bytes. It is empty at the end of the
    /// source. `call` has the right to read.
    pub async fn read<F: FileSystem>(
        from: &File<F>,
        call: Call<'_>,
        offset_bytes: u64,
        (most, rest): (u64, u64),
    ) -> Result<Self, FsError> {
        let source = from.export.files();
        let io_bytes = source.limits().io_bytes;
        let length = u32::try_from(most.min(rest)).unwrap_or(u32::MAX).min(io_bytes);
        let content = source.read(call, from.id, offset_bytes, length).await?;
        let [Segment::Hole { length_bytes }] = content.segments[..] else {
            return Ok(Self::Data(content.into_bytes()));
        };
        let length_bytes = match source.seek(call, from.id, offset_bytes, Seek::Data).await {
            Ok(data) => data.offset_bytes.saturating_sub(offset_bytes).max(length_bytes).min(rest),
            // The source has become shorter.
            Err(FsError::BeyondEnd { .. }) => length_bytes,
            Err(error) => return Err(error),
        };
        Ok(Self::Hole { length_bytes })
    }

    /// Writes the piece, durably. Returns its length. `call` has the right to write.
    pub async fn write<F: FileSystem>(self, to: &File<F>, call: Call<'_>, offset_bytes: u64) -> Result<u64, FsError> {
        let target = to.export.files();
        match self {
            Self::Data(data) => {
                let data = Payload::from(data);
                let length_bytes = data.length_bytes();
                target.write(call, to.id, offset_bytes, data, Stability::Durable).await?;
                Ok(length_bytes)
            }
            Self::Hole { length_bytes } => {
                target.zero(call, to.id, offset_bytes, length_bytes).await?;
                Ok(length_bytes)
            }
        }
    }
}
