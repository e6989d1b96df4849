//! Files of a share over NFSv4.2, without a mount: a clone is CLONE or COPY, a reservation is ALLOCATE and
//! WRITE_SAME, unshared bytes are space_freed (attribute 78). Each thread that uses the files is a host of
//! its own: it has its own session.

use super::NasError;
use super::files::{Another, Files, Method, Reserve, Room, Usage};
use crate::results::Subject;
use nfs::v4::attributes::{Attribute, Fattr};
use nfs::v4::io::Content;
use nfs::v4::names::CreateType;
use nfs::v4::offload::{CopyFailure, DataBlocks};
use nfs::v4::open::OpenHow;
use nfs::v4::{Stable, Status, Verifier};
use nfs_client::url::Url;
use nfs_client::{ClientError, Directory, File, Identity, Options, Session, Share};
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// Time for which a call is repeated while the server is not reachable.
const PATIENCE: Duration = Duration::from_secs(20);
/// Length of a block of WRITE_SAME.
const BLOCK: u64 = 4096;

/// Why a write verifier is not that of the last write (RFC 8881 §18.32).
const LOST: &str = "the server has lost what was not durable";

/// A thread's session.
struct Host {
    runtime: Runtime,
    local: LocalSet,
    share: Share,
    /// Directory of the URL.
    parent: Directory,
}

impl Host {
    fn connect(url: &Url, timeout: Duration) -> Result<Self, NasError> {
        let failed = |error| NasError::Nfs { doing: format!("cannot use {url}"), error };
        let started = |error| NasError::Io { doing: "cannot start".into(), error };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(started)?;
        let local = LocalSet::new();
        let (share, parent) = local
            .block_on(&runtime, async {
                let (name, verifier) = unique()?;
                let options = Options { minor: 2, timeout, patience: PATIENCE, ..Options::default() };
                let session = Session::connect(&url.server(), &Identity::root(name, verifier), options).await?;
                let share = Share::find(&session, &url.share).await?;
                let parent = share.directory(url).await?;
                Ok((share, parent))
            })
            .map_err(failed)?;
        Ok(Self { runtime, local, share, parent })
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.local.block_on(&self.runtime, future)
    }

    fn end(&self) -> Result<(), ClientError> {
        self.wait(self.share.session().clone().end())
    }
}

/// A name that no other host has, and random bytes.
fn unique() -> Result<(String, Verifier), ClientError> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).map_err(|error| ClientError::Malformed(format!("no random numbers: {error}")))?;
    Ok((format!("windlass-lab-{:016x}", u64::from_be_bytes(seed)), seed))
}

/// Files in a directory of a share.
pub(super) struct ShareFiles {
    host: Host,
    url: Url,
    timeout: Duration,
    directory: Directory,
    /// Name of the directory in that of the URL.
    name: String,
    /// Whether [`Files::close`] removes the directory.
    owns: bool,
    open: RefCell<HashMap<String, Open>>,
}

/// An open file, and the verifier of its writes that are not durable yet.
#[derive(Clone)]
struct Open {
    file: File,
    unstable: Option<Verifier>,
}

/// Names the operation that failed, and tells apart what cases have to know.
fn doing<'a>(what: &'static str, name: &'a str) -> impl FnOnce(ClientError) -> NasError + 'a {
    move |error| match error {
        ClientError::Status { operation, status: status @ (Status::NOTSUPP | Status::OP_ILLEGAL | Status::XDEV) } => {
            NasError::Unsupported { call: operation, error: status.to_string() }
        }
        ClientError::Status { status: Status::NOSPC | Status::DQUOT, .. } => {
            NasError::Full { doing: format!("cannot {what} {name}"), error: error.to_string() }
        }
        error => NasError::Nfs { doing: format!("cannot {what} {name}"), error },
    }
}

impl ShareFiles {
    /// Files in a new directory in that of the URL.
    pub(super) fn create(url: &Url, timeout: Duration) -> Result<Self, NasError> {
        let host = Host::connect(url, timeout)?;
        let created = host.wait(async {
            let (name, _) = unique()?;
            let directory = host.share.create(&host.parent, &name, CreateType::Directory, 0o700).await?;
            Ok((name, directory.handle))
        });
        let (name, directory) = created.map_err(doing("create a directory in", &url.share))?;
        let (url, open) = (url.clone(), RefCell::default());
        Ok(Self { host, url, timeout, directory, name, owns: true, open })
    }

    /// The open file of this name; opened when it is first used.
    fn file(&self, name: &str) -> Result<File, NasError> {
        if let Some(open) = self.open.borrow().get(name) {
            return Ok(open.file.clone());
        }
        let file = self.host.wait(self.host.share.open(&self.directory, name, OpenHow::NoCreate));
        let file = file.map_err(doing("open", name))?;
        self.open.borrow_mut().insert(name.to_owned(), Open { file: file.clone(), unstable: None });
        Ok(file)
    }

    /// Attributes of a file that have numbers of bytes.
    fn bytes_of<const N: usize>(
        &self,
        name: &str,
        handle: &nfs::v4::Filehandle,
        numbers: [u32; N],
    ) -> Result<[Option<u64>; N], NasError> {
        let found = self.host.wait(self.host.share.attributes(handle, &numbers)).map_err(doing("look at", name))?;
        Ok(numbers.map(|number| {
            found.iter().find(|attribute| attribute.number() == number).and_then(|attribute| match attribute {
                Attribute::Size(bytes)
                | Attribute::SpaceUsed(bytes)
                | Attribute::SpaceFreed(bytes)
                | Attribute::SpaceAvailable(bytes)
                | Attribute::SpaceFree(bytes)
                | Attribute::SpaceTotal(bytes) => Some(*bytes),
                _ => None,
            })
        }))
    }

    /// Data between holes, by SEEK.
    async fn data_bytes(&self, file: &File, size: u64) -> Result<u64, ClientError> {
        let (mut data, mut at) = (0, 0);
        while at < size {
            let begin = match self.host.share.seek(file, at, Content::DATA).await {
                Ok(found) if found.eof => break,
                Ok(found) => found.offset_bytes,
                // No data behind this offset.
                Err(ClientError::Status { status: Status::NXIO, .. }) => break,
                Err(error) => return Err(error),
            };
            let end = self.host.share.seek(file, begin, Content::HOLE).await?.offset_bytes.min(size);
            if begin < at || end <= begin {
                return Err(ClientError::Malformed(format!("SEEK from {at}: data from {begin} to {end}")));
            }
            data += end - begin;
            at = end;
        }
        Ok(data)
    }
}

impl Files for ShareFiles {
    fn create(&self, name: &str) -> Result<(), NasError> {
        let file = self.host.wait(self.host.share.create_file(&self.directory, name)).map_err(doing("make", name))?;
        self.open.borrow_mut().insert(name.to_owned(), Open { file, unstable: None });
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), NasError> {
        let open = self.open.borrow_mut().remove(name);
        let removed = self.host.wait(async {
            if let Some(open) = open {
                self.host.share.close(open.file).await?;
            }
            self.host.share.remove(&self.directory, name).await
        });
        removed.map_err(doing("remove", name))
    }

    fn size(&self, name: &str) -> Result<u64, NasError> {
        let [size] = self.bytes_of(name, &self.file(name)?.handle, [4])?;
        size.ok_or_else(|| doing("look at", name)(ClientError::Malformed("GETATTR: no size".into())))
    }

    fn set_size(&self, name: &str, bytes: u64) -> Result<(), NasError> {
        let file = self.file(name)?;
        let size = Fattr::new([Attribute::Size(bytes)]);
        let set = self.host.wait(self.host.share.set_attributes(&file.handle, file.stateid, size));
        set.map_err(doing("set the length of", name))
    }

    fn read(&self, name: &str, offset: u64, buffer: &mut [u8]) -> Result<(), NasError> {
        let file = self.file(name)?;
        let read = self.host.wait(self.host.share.read_range(&file, offset, buffer.len() as u64));
        let read = read.map_err(doing("read", name))?;
        if read.len() != buffer.len() {
            let words = format!("READ: the file ends {} bytes after byte {offset}", read.len());
            return Err(doing("read", name)(ClientError::Malformed(words)));
        }
        buffer.copy_from_slice(&read);
        Ok(())
    }

    fn write(&self, name: &str, offset: u64, data: &[u8]) -> Result<(), NasError> {
        let file = self.file(name)?;
        let data = bytes::Bytes::copy_from_slice(data);
        let written = self.host.wait(self.host.share.write_range(&file, offset, data, Stable::Unstable));
        let verifier = written.map_err(doing("write", name))?;
        let mut open = self.open.borrow_mut();
        let before = open.get_mut(name).map_or(verifier, |open| *open.unstable.get_or_insert(verifier));
        if before == verifier {
            return Ok(());
        }
        Err(doing("write", name)(ClientError::Malformed(LOST.into())))
    }

    fn sync(&self, name: &str) -> Result<(), NasError> {
        let file = self.file(name)?;
        let verifier = self.host.wait(self.host.share.commit(&file.handle)).map_err(doing("sync", name))?;
        let unstable = self.open.borrow_mut().get_mut(name).and_then(|open| open.unstable.take());
        match unstable {
            Some(written) if written != verifier => Err(doing("sync", name)(ClientError::Malformed(LOST.into()))),
            _ => Ok(()),
        }
    }

    /// This client keeps no content.
    fn forget(&self, _name: &str) {}

    fn share(&self, from: &str, to: &str) -> Result<(), NasError> {
        let (source, file) = (self.file(from)?, self.file(to)?);
        self.host.wait(self.host.share.clone_range((&source, 0), (&file, 0), 0)).map_err(doing("clone to", to))
    }

    fn copy_range(&self, from: &str, to: &str, offset: u64, length: u64) -> Result<u64, NasError> {
        let (source, file) = (self.file(from)?, self.file(to)?);
        let copied = self.host.wait(self.host.share.copy_range((&source, offset), (&file, offset), length, true));
        match copied.map_err(doing("copy to", to))? {
            Ok(copied) if copied.response.callback.is_none() && copied.response.count_bytes <= length => {
                if copied.response.committed != Stable::FileSync
                    && let Some(open) = self.open.borrow_mut().get_mut(to)
                {
                    open.unstable.get_or_insert(copied.response.verifier);
                }
                Ok(copied.response.count_bytes)
            }
            Ok(copied) => Err(doing("copy to", to)(ClientError::Malformed(format!("COPY: {copied:?}")))),
            Err(CopyFailure::NoRequirements(_)) => {
                Err(NasError::Unsupported { call: "COPY", error: "the server copies in the background only".into() })
            }
            Err(CopyFailure::Other(status)) => {
                Err(doing("copy to", to)(ClientError::Status { operation: "COPY", status }))
            }
        }
    }

    fn reserve(&self, how: Reserve, name: &str, bytes: u64) -> Result<(), NasError> {
        let file = self.file(name)?;
        let reserved = self.host.wait(async {
            self.host.share.allocate(&file, 0, bytes).await?;
            let mut done = 0;
            while how == Reserve::Eager && done < bytes {
                let blocks = DataBlocks {
                    offset_bytes: done,
                    block_bytes: BLOCK,
                    block_count: (bytes - done) / BLOCK,
                    number_offset_bytes: u64::MAX,
                    first_number: 0,
                    pattern_offset_bytes: 0,
                    pattern: Vec::new().into(),
                };
                let written = self.host.share.write_same(&file, blocks).await?;
                if written.count_bytes == 0 || written.count_bytes > bytes - done {
                    return Err(ClientError::Malformed(format!("WRITE_SAME: {} bytes", written.count_bytes)));
                }
                done += written.count_bytes;
            }
            Ok(())
        });
        reserved.map_err(doing("reserve", name))
    }

    fn usage(&self, name: &str) -> Result<Usage, NasError> {
        let file = self.file(name)?;
        let [capacity, used] = self.bytes_of(name, &file.handle, [4, 45])?;
        let missing = || doing("look at", name)(ClientError::Malformed("GETATTR: no size or space_used".into()));
        let (capacity, used) = capacity.zip(used).ok_or_else(missing)?;
        let unshared = match self.bytes_of(name, &file.handle, [78]) {
            Ok([unshared]) => unshared,
            // A server that does not know the number at all.
            Err(NasError::Nfs {
                error: ClientError::Status { status: Status::ATTRNOTSUPP | Status::INVAL, .. },
                ..
            }) => None,
            Err(error) => return Err(error),
        };
        let data = self.host.wait(self.data_bytes(&file, capacity)).map_err(doing("find the holes of", name))?;
        Ok(Usage { capacity, used, data, unshared })
    }

    fn room(&self) -> Option<Room> {
        match self.bytes_of("the share", self.host.share.root(), [44, 42, 43]).ok()? {
            [Some(size), Some(free), Some(unused)] => Some(Room { size, free, unused }),
            _ => None,
        }
    }

    fn server_bytes(&self) -> Option<u64> {
        let counters = self.host.share.session().counters();
        Some(counters.sent_bytes + counters.received_bytes)
    }

    fn sentence(&self) -> String {
        let implementation = self.host.share.session().exchanged().implementation.as_ref();
        let name = implementation.map(|it| String::from_utf8_lossy(it.name.as_bytes()).into_owned());
        let name = name.unwrap_or_else(|| "a server that does not name itself".into());
        format!("The directory is on {name}, used over NFSv4.2 without a mount.")
    }

    fn call_of(&self, method: Method) -> &'static str {
        match method {
            Method::ReadWrite => "READ and WRITE",
            Method::Clone => "CLONE",
            Method::CopyRange => "COPY",
        }
    }

    fn call_of_reserve(&self, how: Reserve) -> &'static str {
        match how {
            Reserve::WriteZeros => "writing zeros",
            Reserve::Lazy => "ALLOCATE",
            Reserve::Eager => "ALLOCATE and WRITE_SAME",
        }
    }

    fn small(&self) -> Result<Box<dyn Files>, NasError> {
        Err(NasError::Unsupported { call: "a small file system", error: "it cannot be made over NFS".into() })
    }

    fn another(&self) -> Another {
        let (url, timeout) = (self.url.clone(), self.timeout);
        let (directory, name) = (self.directory.clone(), self.name.clone());
        Box::new(move || {
            let host = Host::connect(&url, timeout)?;
            Ok(Box::new(Self { host, url, timeout, directory, name, owns: false, open: RefCell::default() }))
        })
    }

    fn close(self: Box<Self>) -> Result<(), NasError> {
        let removed = self.host.wait(async {
            for (_, open) in self.open.take() {
                self.host.share.close(open.file).await?;
            }
            if !self.owns {
                return Ok(());
            }
            for entry in self.host.share.list(&self.directory, &[1]).await? {
                let name = String::from_utf8_lossy(entry.name.as_bytes()).into_owned();
                self.host.share.remove(&self.directory, &name).await?;
            }
            self.host.share.remove(&self.host.parent, &self.name).await
        });
        removed.and_then(|()| self.host.end()).map_err(doing("remove", &self.name))
    }
}

/// Describes a share for a run.
pub(super) fn subject(url: &Url, timeout: Duration) -> Result<Subject, NasError> {
    let host = Host::connect(url, timeout)?;
    let exchanged = host.share.session().exchanged().clone();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let room = host.wait(host.share.attributes(host.share.root(), &[44])).map_err(doing("look at", &url.share))?;
    let size_bytes = room.iter().find_map(|attribute| match attribute {
        Attribute::SpaceTotal(bytes) => Some(*bytes),
        _ => None,
    });
    host.end().map_err(doing("leave", &url.share))?;
    Ok(Subject {
        url: url.to_string(),
        vendor: exchanged.implementation.as_ref().map(|it| text(it.domain.as_bytes())).unwrap_or_default(),
        product: exchanged.implementation.as_ref().map(|it| text(it.name.as_bytes())).unwrap_or_default(),
        size_bytes: size_bytes.unwrap_or(0),
        ..Subject::default()
    })
}

/// Number of names in the directory of a URL.
#[cfg(test)]
pub(super) fn names(url: &Url, timeout: Duration) -> Result<usize, NasError> {
    let host = Host::connect(url, timeout)?;
    let listed = host.wait(host.share.list(&host.parent, &[1])).map_err(doing("list", &url.share))?;
    Ok(listed.len())
}
