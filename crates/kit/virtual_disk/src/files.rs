//! Disks that are files of a share, over NFSv4.2: one file a verb. Works against any server.

mod clone;
mod create;
mod range;
mod stat;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests;

pub use create::Format;

use crate::error::DiskError;
use crate::progress::Meter;
use crate::verbs::Done;
use initiator::Interrupts;
use nfs::v4::attributes::{Attribute, Fattr};
use nfs::v4::open::{CreateHow, OpenHow};
use nfs_client::url::Url;
use nfs_client::{ClientError, Directory, File, Identity, Options, Session, Share};
use std::time::Duration;

/// Time for which a call is repeated while the server is not reachable.
const PATIENCE: Duration = Duration::from_secs(10);
/// Permissions of a new disk.
const MODE: u32 = 0o600;

/// Range of a file, in bytes; without a length, up to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub offset: u64,
    /// Length.
    pub length: Option<u64>,
}

/// What is done with files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Creates a disk.
    Create {
        /// The new file.
        file: Url,
        /// Size in bytes.
        size: u64,
        /// Which space it takes.
        format: Format,
    },
    /// Copies a disk to a new file.
    Clone {
        /// Source.
        from: Url,
        /// The new file.
        to: Url,
        /// Space of the new file; as that of the source if not given.
        format: Option<Format>,
        /// The host reads and writes.
        by_host: bool,
    },
    /// Capacity, used and unshared bytes.
    Stat {
        /// File.
        file: Url,
    },
    /// Reserves the space of a range.
    Reserve {
        /// File.
        file: Url,
        /// Range, which may reach beyond the end of the file.
        range: Range,
    },
    /// Frees the space of a range, which then reads as zeros.
    Punch {
        /// File.
        file: Url,
        /// Range.
        range: Range,
    },
}

/// Does the work on its own runtime. SIGINT and SIGTERM end it; a partial new file is removed.
pub fn run(work: &Work, timeout: Duration, meter: &Meter) -> Result<Done, DiskError> {
    let started = |error| DiskError::File { what: "cannot start".into(), error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(started)?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut interrupts = Interrupts::watch().map_err(started)?;
        let mut created = Created::default();
        let result = tokio::select! {
            result = run_here(work, timeout, meter, &mut created) => result,
            () = interrupts.next() => Err(DiskError::Interrupted("nothing was left behind".into())),
        };
        match (result, created.0.take()) {
            (Err(error), Some((host, file))) => Err(removed(&host, file, error).await),
            (result, _) => result,
        }
    })
}

async fn run_here(work: &Work, timeout: Duration, meter: &Meter, created: &mut Created) -> Result<Done, DiskError> {
    match work {
        Work::Create { file, size, format } => {
            let host = Host::connect(file, timeout).await?;
            create::create(&host, *size, *format, created).await
        }
        Work::Clone { from, to, format, by_host } => {
            let (from, to) = (Host::connect(from, timeout).await?, Host::connect(to, timeout).await?);
            clone::clone(&from, &to, (*format, *by_host), meter, created).await
        }
        Work::Stat { file } => stat::stat(&Host::connect(file, timeout).await?).await,
        Work::Reserve { file, range } => range::reserve(&Host::connect(file, timeout).await?, *range).await,
        Work::Punch { file, range } => range::punch(&Host::connect(file, timeout).await?, *range).await,
    }
}

/// The new file of a verb that is not complete.
#[derive(Default)]
struct Created(Option<(Host, File)>);

/// Removes a partial file. Returns the error of the verb, or that of the removal.
async fn removed(host: &Host, file: File, error: DiskError) -> DiskError {
    let removed = async {
        // The file can be removed although it is open.
        let _closed = host.share.close(file).await;
        host.share.remove(&host.directory, &host.name).await
    };
    match removed.await {
        Ok(()) => error,
        Err(left) => DiskError::Wrong(format!("{error}; the partial file {} could not be removed: {left}", host.url)),
    }
}

/// A session, and the place of a file.
#[derive(Clone)]
struct Host {
    url: Url,
    share: Share,
    directory: Directory,
    /// Name in the directory.
    name: String,
}

impl Host {
    async fn connect(url: &Url, timeout: Duration) -> Result<Self, DiskError> {
        let Some((name, directories)) = url.path.split_last() else {
            return Err(DiskError::Usage(format!("{url} names a share; a disk is nfs://HOST[:PORT]/SHARE/PATH")));
        };
        let failed = |error| DiskError::nfs(url, error);
        let mut verifier = [0; 8];
        getrandom::fill(&mut verifier).map_err(|error| DiskError::Wrong(format!("no random numbers: {error}")))?;
        let owner = format!("windlass-disk-{:016x}", u64::from_be_bytes(verifier));
        let options = Options { minor: 2, timeout, patience: PATIENCE, ..Options::default() };
        let session =
            Session::connect(&url.server(), &Identity::root(owner, verifier), options).await.map_err(failed)?;
        let share = Share::find(&session, &url.share).await.map_err(failed)?;
        let parent = Url { path: directories.to_vec(), ..url.clone() };
        let directory = share.directory(&parent).await.map_err(failed)?;
        Ok(Self { url: url.clone(), share, directory, name: name.clone() })
    }

    /// Names the file in an error of a call.
    fn failed(&self) -> impl Fn(ClientError) -> DiskError {
        |error| DiskError::nfs(&self.url, error)
    }

    /// Opens the file.
    async fn open(&self) -> Result<File, DiskError> {
        self.share.open(&self.directory, &self.name, OpenHow::NoCreate).await.map_err(self.failed())
    }

    /// Creates the file, which must not exist.
    async fn create(&self, created: &mut Created) -> Result<File, DiskError> {
        let how = OpenHow::Create(CreateHow::Guarded(Fattr::new([Attribute::Mode(MODE)])));
        let file = self.share.open(&self.directory, &self.name, how).await.map_err(self.failed())?;
        created.0 = Some((self.clone(), file.clone()));
        Ok(file)
    }

    /// Closes the file and ends the session; a new file is complete.
    async fn finish(&self, file: File, created: &mut Created) -> Result<(), DiskError> {
        self.share.commit(&file.handle).await.map_err(self.failed())?;
        self.share.close(file).await.map_err(self.failed())?;
        created.0 = None;
        self.share.session().clone().end().await.map_err(self.failed())
    }

    /// Size of an open file in bytes.
    async fn size(&self, file: &File) -> Result<u64, DiskError> {
        let found = self.share.attributes(&file.handle, &[4]).await.map_err(self.failed())?;
        match found[..] {
            [Attribute::Size(bytes)] => Ok(bytes),
            _ => Err(self.failed()(ClientError::Malformed("GETATTR: no size".into()))),
        }
    }

    async fn set_size(&self, file: &File, bytes: u64) -> Result<(), DiskError> {
        let size = Fattr::new([Attribute::Size(bytes)]);
        self.share.set_attributes(&file.handle, file.stateid, size).await.map_err(self.failed())
    }

    /// TCP payload of the session so far, both ways, in bytes.
    fn wire_bytes(&self) -> u64 {
        let counters = self.share.session().counters();
        counters.sent_bytes + counters.received_bytes
    }
}
