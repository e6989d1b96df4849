//! Three ways to copy a file: by the host, and two that leave it to the file system or its server.

use super::content::{self, MIB};
use super::{Bench, NasError, doing};
use rustix::fs::{copy_file_range, ioctl_ficlone};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Way to copy a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// The host reads and writes.
    ReadWrite,
    /// FICLONE: the extents are shared.
    Clone,
    /// copy_file_range: the file system chooses the method.
    CopyFileRange,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "read and write",
            Self::Clone => "FICLONE",
            Self::CopyFileRange => "copy_file_range",
        }
    }
}

/// Copies a file to a new one, and syncs it. Returns the time until it was durable.
///
/// Errors: [`NasError::Unsupported`] when the file system lacks the call; the new file is then
/// removed.
pub(crate) fn copy(bench: &Bench<'_>, method: Method, source: &File, to: &Path) -> Result<(Duration, File), NasError> {
    let began = Instant::now();
    let new = content::open_new(to)?;
    let copied = match method {
        Method::ReadWrite => read_and_write(bench, source, &new, to),
        Method::Clone => ioctl_ficlone(&new, source).map_err(|errno| failed(method, errno, to)),
        Method::CopyFileRange => range(bench, source, &new, to),
    };
    let synced = copied.and_then(|()| new.sync_all().map_err(doing("sync", to)));
    match synced {
        Ok(()) => Ok((began.elapsed(), new)),
        Err(error) => {
            bench.remove(to)?;
            Err(error)
        }
    }
}

fn failed(method: Method, errno: Errno, to: &Path) -> NasError {
    match errno {
        Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::XDEV | Errno::NOSYS => {
            NasError::Unsupported { call: method.name(), error: errno.into() }
        }
        errno => NasError::Io { doing: format!("{} to {}", method.name(), to.display()), error: errno.into() },
    }
}

fn read_and_write(bench: &Bench<'_>, source: &File, new: &File, to: &Path) -> Result<(), NasError> {
    let size = source.metadata().map_err(doing("look at the source of", to))?.len();
    let mut data = vec![0; 1 << 20];
    for offset in (0..size).step_by(1 << 20) {
        bench.check_cancelled()?;
        let length = usize::try_from(MIB.min(size - offset)).unwrap_or(data.len());
        let piece = data.get_mut(..length).unwrap_or_default();
        source.read_exact_at(piece, offset).map_err(doing("read the source of", to))?;
        new.write_all_at(piece, offset).map_err(doing("write", to))?;
    }
    Ok(())
}

fn range(bench: &Bench<'_>, source: &File, new: &File, to: &Path) -> Result<(), NasError> {
    let size = source.metadata().map_err(doing("look at the source of", to))?.len();
    let (mut from, mut at) = (0, 0);
    while from < size {
        bench.check_cancelled()?;
        // A server may copy less than it is asked to; steps keep the copy cancellable where the
        // kernel copies.
        let length = usize::try_from((size - from).min(256 * MIB)).unwrap_or(1 << 28);
        let copied = copy_file_range(source, Some(&mut from), new, Some(&mut at), length);
        if copied.map_err(|errno| failed(Method::CopyFileRange, errno, to))? == 0 {
            return Err(doing("copy all of the source to", to)(std::io::Error::from(
                std::io::ErrorKind::UnexpectedEof,
            )));
        }
    }
    Ok(())
}
