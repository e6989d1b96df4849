//! Directory of a probe, and files in it.

use super::ProbeError;
use super::fault::{Fault, wrong};
use crate::verdict::pattern;
use bytes::Bytes;
use nfs::v4::attributes::{Attribute, Fattr};
use nfs::v4::names::CreateType;
use nfs::v4::{Filehandle, Stable, Status};
use nfs_client::url::Url;
use nfs_client::{ClientError, Directory, File, Share};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::time::Duration;

pub(super) const KIB: u64 = 1 << 10;
/// Length of a sparse file.
pub(super) const SPARSE_BYTES: u64 = 1024 * KIB;
/// Data of a sparse file; all else is never written.
pub(super) const SPARSE_DATA: [Range<u64>; 2] = [0..64 * KIB, 512 * KIB..576 * KIB];

/// The share, and the directory of the probe in it.
pub(super) struct Scratch {
    pub(super) share: Share,
    pub(super) minor: u32,
    pub(super) url: Url,
    /// Time limit for each answer, for connections beside the session.
    pub(super) timeout: Duration,
    /// Directory of the URL.
    pub(super) parent: Directory,
    /// Directory of the probe; without one, the directory of the URL.
    pub(super) directory: Directory,
    /// Name of the directory of the probe in that of the URL.
    pub(super) name: String,
    files: Cell<u32>,
    /// Files to close at the end.
    open: RefCell<Vec<File>>,
}

impl Scratch {
    /// A place to look at what the server announces, without a directory.
    pub(super) fn without_directory(share: Share, parent: Directory, url: &Url, minor: u32, timeout: Duration) -> Self {
        let (directory, url) = (parent.clone(), url.clone());
        Self {
            share,
            minor,
            url,
            timeout,
            parent,
            directory,
            name: String::new(),
            files: Cell::new(0),
            open: RefCell::default(),
        }
    }

    /// Creates the directory.
    pub(super) async fn create(
        share: Share,
        parent: Directory,
        url: &Url,
        minor: u32,
        timeout: Duration,
    ) -> Result<Self, ProbeError> {
        let (name, _) = unique_name()?;
        let directory = share.create(&parent, &name, CreateType::Directory, 0o755).await?.handle;
        Ok(Self { directory, name, ..Self::without_directory(share, parent, url, minor, timeout) })
    }

    /// Closes all files, and removes the directory with everything in it.
    pub(super) async fn remove(&self) -> Result<(), ProbeError> {
        let removed = async {
            for file in self.open.take() {
                self.share.close(file).await?;
            }
            for entry in self.share.list(&self.directory, &[1]).await? {
                let name = String::from_utf8_lossy(entry.name.as_bytes()).into_owned();
                self.share.remove(&self.directory, &name).await?;
            }
            self.share.remove(&self.parent, &self.name).await
        };
        let directory = self.name.clone();
        removed.await.map_err(|reason| ProbeError::NotRemoved { directory, reason })
    }

    /// A name in the directory that no earlier call returned.
    pub(super) fn fresh(&self, stem: &str) -> String {
        self.files.set(self.files.get() + 1);
        format!("{stem}-{}", self.files.get())
    }

    /// A new, empty file.
    pub(super) async fn file(&self, stem: &str) -> Result<File, ClientError> {
        self.named_file(&self.fresh(stem)).await
    }

    /// A new, empty file with this name.
    pub(super) async fn named_file(&self, name: &str) -> Result<File, ClientError> {
        let file = self.share.create_file(&self.directory, name).await?;
        self.open.borrow_mut().push(file.clone());
        Ok(file)
    }

    /// Closes and removes a file.
    pub(super) async fn delete(&self, file: File, name: &str) -> Result<(), ClientError> {
        self.open.borrow_mut().retain(|open| open.stateid.other != file.stateid.other);
        self.share.close(file).await?;
        self.share.remove(&self.directory, name).await
    }

    /// A new file full of data.
    pub(super) async fn filled(&self, stem: &str, seed: u64, bytes: u64) -> Result<(File, Bytes), Fault> {
        let file = self.file(stem).await?;
        let content = data(seed, bytes);
        self.write(&file, 0, content.clone()).await?;
        self.check(&file, &content, "a file that was just written").await?;
        Ok((file, content))
    }

    /// A new file of [`SPARSE_BYTES`] with [`SPARSE_DATA`], and its content.
    pub(super) async fn sparse(&self, stem: &str) -> Result<(File, Vec<u8>), Fault> {
        let file = self.file(stem).await?;
        let mut content = vec![0; usize::try_from(SPARSE_BYTES).unwrap_or(0)];
        for (range, seed) in SPARSE_DATA.into_iter().zip(20..) {
            let part = data(seed, range.end - range.start);
            replace(&mut content, range.start, &part);
            self.write(&file, range.start, part).await?;
        }
        self.share.set_attributes(&file.handle, file.stateid, Fattr::new([Attribute::Size(SPARSE_BYTES)])).await?;
        self.check(&file, &content, "a file with holes").await?;
        Ok((file, content))
    }

    /// Writes, durably.
    pub(super) async fn write(&self, file: &File, offset_bytes: u64, data: Bytes) -> Result<(), ClientError> {
        self.share.write_range(file, offset_bytes, data, Stable::FileSync).await.map(drop)
    }

    /// Fails with [`Fault::Wrong`] unless the file has this content, and ends with it.
    pub(super) async fn check(&self, file: &File, expected: &[u8], what: &str) -> Result<(), Fault> {
        let found = self.share.read_range(file, 0, expected.len() as u64 + 1).await?;
        if found.len() != expected.len() {
            return wrong(format!("{what} has {} bytes, expected {}", found.len(), expected.len()));
        }
        match found.iter().zip(expected).position(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(at) => wrong(format!("{what} has wrong data from byte {at} on")),
        }
    }

    /// Attributes of a file that have numbers of bytes; `None` for one that the server lacks.
    pub(super) async fn bytes_of<const N: usize>(
        &self,
        file: &Filehandle,
        numbers: [u32; N],
    ) -> Result<[Option<u64>; N], ClientError> {
        let found = self.share.attributes(file, &numbers).await?;
        Ok(numbers.map(|number| {
            let attribute = found.iter().find(|attribute| attribute.number() == number);
            match attribute {
                Some(
                    Attribute::Size(bytes)
                    | Attribute::SpaceUsed(bytes)
                    | Attribute::SpaceFreed(bytes)
                    | Attribute::SpaceFree(bytes),
                ) => Some(*bytes),
                _ => None,
            }
        }))
    }

    /// Bytes that a file takes: attribute 45.
    pub(super) async fn used(&self, file: &File) -> Result<Option<u64>, ClientError> {
        self.bytes_of(&file.handle, [45]).await.map(|[used]| used)
    }

    /// Bytes that a file takes, and that its deletion would free: attributes 45 and 78.
    pub(super) async fn used_and_freed(&self, file: &File) -> Result<[Option<u64>; 2], ClientError> {
        match self.bytes_of(&file.handle, [45, 78]).await {
            // A server that does not know the number at all.
            Err(ClientError::Status { status: Status::ATTRNOTSUPP | Status::INVAL, .. }) => {
                Ok([self.used(file).await?, None])
            }
            both => both,
        }
    }

    /// TCP payload of the session so far, both ways, in bytes.
    pub(super) fn wire_bytes(&self) -> u64 {
        let counters = self.share.session().counters();
        counters.sent_bytes + counters.received_bytes
    }

    /// Alignment of CLONE in bytes: attribute 77, and 4 KiB for a server that lacks it.
    pub(super) async fn clone_unit(&self) -> Result<u64, ClientError> {
        let found = match self.share.attributes(&self.directory, &[77]).await {
            // A server that does not know the number at all.
            Err(ClientError::Status { status: Status::ATTRNOTSUPP | Status::INVAL, .. }) => Vec::new(),
            found => found?,
        };
        let unit = found.iter().find_map(|attribute| match attribute {
            Attribute::CloneBlockSize(bytes) => Some(u64::from(*bytes)),
            _ => None,
        });
        Ok(unit.filter(|unit| *unit > 0).unwrap_or(4 * KIB))
    }
}

/// A name that no other probe has, and random bytes.
pub(super) fn unique_name() -> std::io::Result<(String, [u8; 8])> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).map_err(std::io::Error::other)?;
    Ok((format!("windlass-probe-{:016x}", u64::from_be_bytes(seed)), seed))
}

/// Data without zero words, different for each seed.
pub(super) fn data(seed: u64, bytes: u64) -> Bytes {
    pattern(seed, usize::try_from(bytes).unwrap_or(0))
}

/// Replaces a part of a content.
pub(super) fn replace(content: &mut [u8], at: u64, part: &[u8]) {
    let place = usize::try_from(at).ok().and_then(|at| content.get_mut(at..at.saturating_add(part.len())));
    if let Some(place) = place {
        place.copy_from_slice(part);
    }
}

/// Whether bytes are zeros.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
