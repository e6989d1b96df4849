//! Content of files of any length, over as many calls as the server needs.

use crate::error::ClientError;
use crate::share::{Directory, File, Share};
use crate::url::Url;
use bytes::{Bytes, BytesMut};
use nfs::v4::callback::OffloadFailure;
use nfs::v4::offload::{CopyFailure, CopyOk, WriteResponse};
use nfs::v4::{FileType, Stable, Status, Verifier};
use std::time::Duration;
use tokio::time::timeout;

/// Pause between two looks at an asynchronous copy.
const LOOK: Duration = Duration::from_millis(200);
/// Bytes of a READ or WRITE.
pub const CALL_BYTES: u32 = 1 << 20;

impl Share {
    /// Directory of a URL: the root of the share, or a directory in it.
    ///
    /// Fails with `NOTDIR` if the path leads to something else.
    pub async fn directory(&self, url: &Url) -> Result<Directory, ClientError> {
        if url.path.is_empty() {
            return Ok(self.root().clone());
        }
        let found = self.lookup(&url.path).await?;
        match found.kind {
            FileType::Directory => Ok(found.handle),
            _ => Err(ClientError::Status { operation: "LOOKUP", status: Status::NOTDIR }),
        }
    }

    /// Reads a range; fewer bytes only at the end of the file.
    pub async fn read_range(&self, file: &File, offset_bytes: u64, length_bytes: u64) -> Result<Bytes, ClientError> {
        let mut data = BytesMut::new();
        while (data.len() as u64) < length_bytes {
            let done = data.len() as u64;
            let count = u32::try_from(length_bytes - done).unwrap_or(u32::MAX).min(CALL_BYTES);
            let (part, eof) = self.read(file, offset_bytes + done, count).await?;
            if part.is_empty() && !eof {
                return Err(ClientError::Malformed("READ: nothing, and not the end".into()));
            }
            data.extend_from_slice(&part);
            if eof {
                break;
            }
        }
        Ok(data.freeze())
    }

    /// Writes all of the data. `stable`: how durable it is on return, at least. Returns the write verifier
    /// of the last call; data that is not durable is lost if COMMIT returns another one.
    pub async fn write_range(
        &self,
        file: &File,
        offset_bytes: u64,
        mut data: Bytes,
        stable: Stable,
    ) -> Result<Verifier, ClientError> {
        let (mut at, mut verifier) = (offset_bytes, None);
        while !data.is_empty() {
            let part = data.slice(..data.len().min(CALL_BYTES as usize));
            let written = self.write(file, at, part, stable).await?;
            if written.count_bytes == 0 {
                return Err(ClientError::Malformed("WRITE: nothing was written".into()));
            }
            if (written.committed as u32) < stable as u32 {
                return Err(ClientError::Malformed(format!("WRITE: {:?}, asked for {stable:?}", written.committed)));
            }
            if *verifier.get_or_insert(written.verifier) != written.verifier && stable == Stable::Unstable {
                return Err(ClientError::Malformed("WRITE: the server has lost what was not durable".into()));
            }
            // The count is at most the length of the part.
            let _written = data.split_to(written.count_bytes as usize);
            at += u64::from(written.count_bytes);
        }
        Ok(verifier.unwrap_or_default())
    }

    /// Copies a range with synchronous COPY calls, or with asynchronous ones if the server wants that.
    /// `progress`: called with the bytes done so far after each call, and now and then during an asynchronous
    /// copy; `false` ends the copy, whose result is then `false`.
    ///
    /// * `Malformed`: a count of 0 or above the rest, or a background copy that was not asked for.
    pub async fn copy_all(
        &self,
        (source, source_offset_bytes): (&File, u64),
        (file, destination_offset_bytes): (&File, u64),
        count_bytes: u64,
        mut progress: impl FnMut(u64) -> bool,
    ) -> Result<bool, ClientError> {
        let mut done = 0;
        let mut committed = true;
        while done < count_bytes {
            let (from, to) = ((source, source_offset_bytes + done), (file, destination_offset_bytes + done));
            let left = count_bytes - done;
            let response = match self.copy_range(from, to, left, true).await? {
                Ok(CopyOk { response, .. }) => response,
                Err(CopyFailure::NoRequirements(possible)) if !possible.synchronous => {
                    match self.copy_asynchronously(from, to, left, |copied| progress(done + copied)).await? {
                        Some(response) => response,
                        None => return Ok(false),
                    }
                }
                Err(failure) => return Err(refused(&failure)),
            };
            if response.callback.is_some() {
                let words = "COPY: a copy in the background, asked for a synchronous one";
                return Err(ClientError::Malformed(words.into()));
            }
            if response.count_bytes == 0 || response.count_bytes > left {
                return Err(ClientError::Malformed(format!("COPY: {} bytes of {left}", response.count_bytes)));
            }
            committed &= response.committed == Stable::FileSync;
            done += response.count_bytes;
            if !progress(done) {
                return Ok(false);
            }
        }
        if !committed {
            self.commit(&file.handle).await?;
        }
        Ok(true)
    }

    /// Copies a range with an asynchronous COPY, as far as the server does in one call; `None` if `progress` has
    /// ended it.
    async fn copy_asynchronously(
        &self,
        from: (&File, u64),
        (file, at): (&File, u64),
        count_bytes: u64,
        mut progress: impl FnMut(u64) -> bool,
    ) -> Result<Option<WriteResponse>, ClientError> {
        let response = match self.copy_range(from, (file, at), count_bytes, false).await? {
            Ok(CopyOk { response, .. }) => response,
            Err(failure) => return Err(refused(&failure)),
        };
        let Some(copy) = response.callback else { return Ok(Some(response)) };
        loop {
            match timeout(LOOK, self.session().offload_ended(&copy)).await {
                Ok(Ok(response)) => return Ok(Some(response)),
                Ok(Err(OffloadFailure { status, .. })) => {
                    return Err(ClientError::Status { operation: "COPY", status });
                }
                Err(_) => {}
            }
            let copied = match self.offload_status(file, &copy).await {
                Ok(status) => status.count_bytes,
                // The callback has come meanwhile.
                Err(error) if error.status() == Some(Status::BAD_STATEID) && self.session().has_ended(&copy) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            if !progress(copied) {
                self.offload_cancel(file, &copy).await?;
                return Ok(None);
            }
        }
    }
}

fn refused(failure: &CopyFailure) -> ClientError {
    let status = match failure {
        CopyFailure::NoRequirements(_) => Status::OFFLOAD_NO_REQS,
        CopyFailure::Other(status) => *status,
    };
    ClientError::Status { operation: "COPY", status }
}
