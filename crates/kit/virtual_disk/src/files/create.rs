//! Creates a disk: thin, or with all of its space reserved.

use super::{Created, Host};
use crate::error::DiskError;
use crate::verbs::Done;
use nfs::v4::Status;
use nfs::v4::offload::DataBlocks;
use nfs_client::{ClientError, File};
use serde_json::json;

/// Block of WRITE_SAME in bytes.
const BLOCK: u64 = 4096;

/// Which space a new disk takes, with the names of vmkfstools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// What is written.
    Thin,
    /// All, reserved.
    ZeroedThick,
    /// All, reserved and written with zeros.
    EagerZeroedThick,
}

impl Format {
    /// Name as in vmkfstools.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Thin => "thin",
            Self::ZeroedThick => "zeroedthick",
            Self::EagerZeroedThick => "eagerzeroedthick",
        }
    }
}

pub(super) async fn create(host: &Host, size: u64, format: Format, created: &mut Created) -> Result<Done, DiskError> {
    let file = host.create(created).await?;
    host.set_size(&file, size).await?;
    if format != Format::Thin && size > 0 {
        host.share.allocate(&file, 0, size).await.map_err(host.failed())?;
    }
    if format == Format::EagerZeroedThick {
        zero(host, &file, size).await?;
    }
    let wire_bytes = host.wire_bytes();
    host.finish(file, created).await?;
    let words = format!("created {}, {}, {}", host.url, text::size::format(size), format.name());
    let json = json!({
        "disk": host.url.to_string(),
        "format": format.name(),
        "capacity_bytes": size,
        "wire_bytes": wire_bytes,
    });
    Ok(Done::new(words, json))
}

/// Writes zeros: by WRITE_SAME, or by the host where the server lacks it.
async fn zero(host: &Host, file: &File, size: u64) -> Result<(), DiskError> {
    let mut done = 0;
    while size - done >= BLOCK {
        let blocks = DataBlocks {
            offset_bytes: done,
            block_bytes: BLOCK,
            block_count: (size - done) / BLOCK,
            number_offset_bytes: u64::MAX,
            first_number: 0,
            pattern_offset_bytes: 0,
            pattern: Vec::new().into(),
        };
        match host.share.write_same(file, blocks).await {
            Ok(written) if (1..=size - done).contains(&written.count_bytes) => done += written.count_bytes,
            Ok(written) => {
                let words = format!("WRITE_SAME: {} bytes of {}", written.count_bytes, size - done);
                return Err(host.failed()(ClientError::Malformed(words)));
            }
            Err(ClientError::Status { status: Status::NOTSUPP | Status::OP_ILLEGAL, .. }) => break,
            Err(error) => return Err(host.failed()(error)),
        }
    }
    let zeros = bytes::Bytes::from(vec![0; nfs_client::CALL_BYTES as usize]);
    while done < size {
        let length = (size - done).min(zeros.len() as u64);
        let part = zeros.slice(..usize::try_from(length).unwrap_or(0));
        let written = host.share.write_range(file, done, part, nfs::v4::Stable::FileSync).await;
        written.map_err(host.failed())?;
        done += length;
    }
    Ok(())
}
