//! The open end of the audit: appends lines, begins files, removes old ones.

use super::files::{self, Name};
use super::line::{Line, NOTHING, Record, digest};
use anyhow::{Context, anyhow};
use jiff::{SignedDuration, Timestamp};
use reactor::state_files::sync_directory;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Size at which the next line begins a new file.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Largest size of all files together; the oldest are removed.
const MAX_BYTES: u64 = 256 << 20;
/// Time after which a file is removed.
const KEPT: SignedDuration = SignedDuration::from_hours(400 * 24);

/// Open end of the audit.
pub(super) struct Log {
    directory: PathBuf,
    file: File,
    name: Name,
    bytes: u64,
    /// Number of the next line.
    next: u64,
    /// Digest of the last line.
    previous: String,
}

impl Log {
    /// Opens the newest file, or creates the first one. A last line that is not complete was never
    /// answered to anybody, and is removed.
    pub(super) fn open(directory: &Path, now: Timestamp) -> anyhow::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .and_then(|()| directory.parent().map_or(Ok(()), sync_directory))
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let names = files::list(directory)?;
        let (mut next, mut previous, mut torn) = (1, NOTHING.to_owned(), 0);
        let mut newest = None;
        // The newest file may be without a line: the array stopped before it was written.
        for name in names.iter().rev() {
            let path = directory.join(name.text());
            let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            if newest.is_none() {
                torn = bytes.len() - whole;
                newest = Some((name.clone(), whole));
            }
            let text = std::str::from_utf8(bytes.get(..whole).unwrap_or_default());
            let text = text.with_context(|| format!("{} is not text", path.display()))?;
            if let Some(last) = text.lines().last() {
                let line: Line = serde_json::from_str(last)
                    .with_context(|| format!("the last line of {} cannot be read", path.display()))?;
                (next, previous) = (line.seq + 1, digest(last));
                break;
            }
        }
        let (name, bytes) = newest.unwrap_or((Name { first: next, month: files::month(now) }, 0));
        let file = open_file(directory, &name)?;
        file.set_len(u64::try_from(bytes)?).with_context(|| format!("cannot repair {}", name.text()))?;
        let mut log =
            Self { directory: directory.to_owned(), file, name, bytes: u64::try_from(bytes)?, next, previous };
        if torn > 0 {
            log.append(Record::Repaired { bytes: u64::try_from(torn)? }, true)?;
        }
        Ok(log)
    }

    /// Appends a line. Durable on return if wanted. Returns its number.
    pub(super) fn append(&mut self, record: Record, durable: bool) -> anyhow::Result<u64> {
        self.append_at(record, durable, Timestamp::now())
    }

    pub(super) fn append_at(&mut self, record: Record, durable: bool, now: Timestamp) -> anyhow::Result<u64> {
        if self.bytes > 0 && (self.bytes >= MAX_FILE_BYTES || self.name.month != files::month(now)) {
            self.begin_file(now)?;
        }
        self.write(record, durable, now)
    }

    fn write(&mut self, record: Record, durable: bool, now: Timestamp) -> anyhow::Result<u64> {
        let seq = self.next;
        let line = Line { seq, time: now, previous: self.previous.clone(), record };
        let text = serde_json::to_string(&line)?;
        let written = self.file.write_all(format!("{text}\n").as_bytes());
        let written = written.and_then(|()| if durable { self.file.sync_data() } else { Ok(()) });
        if let Err(error) = written {
            // Half a line must not stay: what follows it would not be readable.
            let _repaired_at_the_next_opening = self.file.set_len(self.bytes);
            return Err(anyhow!("cannot write {}: {error}", self.directory.join(self.name.text()).display()));
        }
        self.bytes += u64::try_from(text.len() + 1)?;
        self.next += 1;
        self.previous = digest(&text);
        Ok(seq)
    }

    /// Begins a file, and removes old ones.
    fn begin_file(&mut self, now: Timestamp) -> anyhow::Result<()> {
        self.file.sync_data().with_context(|| format!("cannot write {}", self.name.text()))?;
        let name = Name { first: self.next, month: files::month(now) };
        self.file = open_file(&self.directory, &name)?;
        (self.name, self.bytes) = (name, 0);
        let oldest = now.checked_sub(KEPT).map(files::month).unwrap_or_default();
        let names = files::list(&self.directory)?;
        let sizes = names.iter().map(|name| {
            let size = std::fs::metadata(self.directory.join(name.text())).map_or(0, |found| found.len());
            (name, size)
        });
        let sizes: Vec<(&Name, u64)> = sizes.collect();
        let mut total: u64 = sizes.iter().map(|(_, size)| size).sum();
        for (old, size) in sizes {
            if *old == self.name {
                continue;
            }
            // The month of the oldest kept time is kept.
            if total + MAX_FILE_BYTES <= MAX_BYTES && old.month >= oldest {
                break;
            }
            let last = files::read(&self.directory, old)?.lines().last().map_or(NOTHING.to_owned(), digest);
            self.write(Record::Dropped { file: old.text(), last }, true, now)?;
            let path = self.directory.join(old.text());
            std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            total = total.saturating_sub(size);
        }
        Ok(())
    }
}

/// Opens a file for appending, and makes its name durable: it may be new, or the array stopped just after it
/// was created.
fn open_file(directory: &Path, name: &Name) -> anyhow::Result<File> {
    let path = directory.join(name.text());
    let open = || -> std::io::Result<File> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        sync_directory(directory)?;
        Ok(file)
    };
    open().with_context(|| format!("cannot open {}", path.display()))
}
