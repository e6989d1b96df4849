//! Three ways to copy a file: by the host, and two that leave it to the file system or its server.

use super::content::MIB;
use super::files::Method;
use super::{Bench, NasError};
use std::time::{Duration, Instant};

/// Copies a file to a new one, and syncs it. Returns the time until it was durable.
///
/// Errors: [`NasError::Unsupported`] when the file system lacks the call; the new file is then
/// removed.
pub(crate) fn copy(bench: &Bench<'_>, method: Method, from: &str, to: &str) -> Result<Duration, NasError> {
    let files = bench.files();
    let began = Instant::now();
    files.create(to)?;
    let copied = match method {
        Method::ReadWrite => read_and_write(bench, from, to),
        Method::Clone => files.share(from, to),
        Method::CopyRange => range(bench, from, to),
    };
    match copied.and_then(|()| files.sync(to)) {
        Ok(()) => Ok(began.elapsed()),
        Err(error) => {
            files.remove(to)?;
            Err(error)
        }
    }
}

fn read_and_write(bench: &Bench<'_>, from: &str, to: &str) -> Result<(), NasError> {
    let files = bench.files();
    let size = files.size(from)?;
    let mut data = vec![0; 1 << 20];
    for offset in (0..size).step_by(1 << 20) {
        bench.check_cancelled()?;
        let length = usize::try_from(MIB.min(size - offset)).unwrap_or(data.len());
        let piece = data.get_mut(..length).unwrap_or_default();
        files.read(from, offset, piece)?;
        files.write(to, offset, piece)?;
    }
    Ok(())
}

fn range(bench: &Bench<'_>, from: &str, to: &str) -> Result<(), NasError> {
    let files = bench.files();
    let size = files.size(from)?;
    let mut done = 0;
    while done < size {
        bench.check_cancelled()?;
        // A server may copy less than it is asked to; steps keep the copy cancellable where the
        // kernel copies.
        let copied = files.copy_range(from, to, done, (size - done).min(256 * MIB))?;
        if copied == 0 {
            let doing = format!("cannot copy all of {from} to {to}");
            return Err(NasError::Io { doing, error: std::io::ErrorKind::UnexpectedEof.into() });
        }
        done += copied;
    }
    Ok(())
}
