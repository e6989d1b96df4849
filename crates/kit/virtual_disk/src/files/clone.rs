//! Copies a disk to a new file: by CLONE, else by COPY, else by the host.

use super::{Created, Format, Host};
use crate::error::DiskError;
use crate::progress::Meter;
use crate::verbs::Done;
use nfs::v4::{Stable, Status};
use nfs_client::{CALL_BYTES, ClientError, File, Share};
use serde_json::json;

/// How a copy was made.
enum How {
    /// Blocks are shared.
    Clone,
    /// The server copied.
    Copy,
    /// The host read and wrote, with the reason.
    Host(String),
}

pub(super) async fn clone(
    from: &Host,
    to: &Host,
    (format, by_host): (Option<Format>, bool),
    meter: &Meter,
    created: &mut Created,
) -> Result<Done, DiskError> {
    let source = from.open().await?;
    let size = from.size(&source).await?;
    meter.total(size);
    let file = to.create(created).await?;
    let one_server = from.url.server() == to.url.server();
    let how = match (by_host, one_server) {
        (true, _) => How::Host("-N".into()),
        (_, false) => How::Host("the files are on different servers".into()),
        _ => offloaded(from, to, &file, size, meter).await?,
    };
    if let How::Host(_) = how {
        copy_by_host((from, &source), (to, &file), size, meter).await?;
    }
    if format.is_some_and(|format| format != Format::Thin) && size > 0 {
        to.share.allocate(&file, 0, size).await.map_err(to.failed())?;
    }
    let found = to.size(&file).await?;
    if found != size {
        return Err(DiskError::Wrong(format!("{} has {found} bytes, expected {size}", to.url)));
    }
    from.share.close(source).await.map_err(from.failed())?;
    let wire_bytes = from.wire_bytes() + to.wire_bytes();
    to.finish(file, created).await?;
    from.share.session().clone().end().await.map_err(from.failed())?;
    let (word, reason) = match &how {
        How::Clone => ("cloned by the server, blocks shared (CLONE)".to_owned(), None),
        How::Copy => ("copied by the server (COPY)".to_owned(), None),
        How::Host(reason) => (format!("copied by this host: {reason}"), Some(reason.clone())),
    };
    let words = format!(
        "{} → {}: {}, {word}; {} on the wire",
        from.url,
        to.url,
        text::size::format(size),
        text::size::format(wire_bytes)
    );
    let json = json!({
        "source": from.url.to_string(),
        "disk": to.url.to_string(),
        "capacity_bytes": size,
        "method": match how { How::Clone => "clone", How::Copy => "copy", How::Host(_) => "host" },
        "reason": reason,
        "wire_bytes": wire_bytes,
    });
    Ok(Done::new(words, json))
}

/// Status of an operation that the server lacks, or not between these files.
fn is_missing(error: &ClientError) -> bool {
    let missing = [Status::NOTSUPP, Status::OP_ILLEGAL, Status::XDEV, Status::OFFLOAD_NO_REQS, Status::OFFLOAD_DENIED];
    error.status().is_some_and(|status| missing.contains(&status))
}

/// Lets the server copy, in the session of the destination.
async fn offloaded(from: &Host, to: &Host, file: &File, size: u64, meter: &Meter) -> Result<How, DiskError> {
    // The source opened by the same client, which both operations need.
    let session = to.share.session();
    let share = Share::find(session, &from.url.share).await.map_err(from.failed())?;
    let found = share.lookup(&from.url.path).await.map_err(from.failed())?;
    let source = open_found(&share, from).await?;
    if found.handle != source.handle {
        return Err(DiskError::Wrong(format!("{} was replaced while it was opened", from.url)));
    }
    let cloned = if size == 0 { Ok(()) } else { to.share.clone_range((&source, 0), (file, 0), 0).await };
    let how = match cloned {
        Ok(()) => {
            meter.advance(size);
            Ok(How::Clone)
        }
        Err(error) if is_missing(&error) => {
            let mut before = 0;
            let progress = |done| {
                meter.advance(done - before);
                before = done;
                true
            };
            match to.share.copy_all((&source, 0), (file, 0), size, progress).await {
                Ok(_) => Ok(How::Copy),
                Err(copy) if is_missing(&copy) => Ok(How::Host(format!("{error}, {copy}"))),
                Err(error) => Err(to.failed()(error)),
            }
        }
        Err(error) => Err(to.failed()(error)),
    };
    share.close(source).await.map_err(from.failed())?;
    how
}

async fn open_found(share: &Share, from: &Host) -> Result<File, DiskError> {
    let place = Host { share: share.clone(), ..from.clone() };
    place.open().await
}

/// Reads and writes. Blocks of zeros are left out: the new file reads as zeros there.
async fn copy_by_host(
    (from, source): (&Host, &File),
    (to, file): (&Host, &File),
    size: u64,
    meter: &Meter,
) -> Result<(), DiskError> {
    to.set_size(file, size).await?;
    let mut done = 0;
    let mut verifier = None;
    while done < size {
        let length = (size - done).min(CALL_BYTES.into());
        let data = from.share.read_range(source, done, length).await.map_err(from.failed())?;
        if data.len() as u64 != length {
            return Err(DiskError::Wrong(format!("{} became shorter while it was copied", from.url)));
        }
        if data.iter().any(|byte| *byte != 0) {
            let written = to.share.write_range(file, done, data, Stable::Unstable).await.map_err(to.failed())?;
            if *verifier.get_or_insert(written) != written {
                return Err(lost(to));
            }
        }
        done += length;
        meter.advance(length);
    }
    let committed = to.share.commit(&file.handle).await.map_err(to.failed())?;
    if verifier.is_some_and(|verifier| verifier != committed) { Err(lost(to)) } else { Ok(()) }
}

fn lost(to: &Host) -> DiskError {
    to.failed()(ClientError::Malformed("COMMIT: the server has lost what was not durable".into()))
}
