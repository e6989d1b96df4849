//! Reserves or frees the space of a range.

use super::{Created, Host, Range};
use crate::error::DiskError;
use crate::verbs::Done;
use nfs_client::File;
use serde_json::json;

pub(super) async fn reserve(host: &Host, range: Range) -> Result<Done, DiskError> {
    let (file, length) = opened(host, range).await?;
    host.share.allocate(&file, range.offset, length).await.map_err(host.failed())?;
    done(host, file, "reserved", range.offset, length).await
}

pub(super) async fn punch(host: &Host, range: Range) -> Result<Done, DiskError> {
    let (file, length) = opened(host, range).await?;
    host.share.deallocate(&file, range.offset, length).await.map_err(host.failed())?;
    done(host, file, "freed", range.offset, length).await
}

/// The open file, and the length of the range in it.
async fn opened(host: &Host, range: Range) -> Result<(File, u64), DiskError> {
    let file = host.open().await?;
    let length = match range.length {
        Some(length) => length,
        None => host.size(&file).await?.saturating_sub(range.offset),
    };
    if length == 0 {
        return Err(DiskError::Usage(format!("the range of {} is empty", host.url)));
    }
    Ok((file, length))
}

async fn done(host: &Host, file: File, verb: &str, offset: u64, length: u64) -> Result<Done, DiskError> {
    host.finish(file, &mut Created::default()).await?;
    let words = format!("{verb} {} from byte {offset} of {}", text::size::format(length), host.url);
    let json = json!({ "disk": host.url.to_string(), "offset_bytes": offset, "length_bytes": length });
    Ok(Done::new(words, json))
}
