//! Files of a check: an open file, its facts and its content.

use crate::client::Client;
use crate::operations as op;
use crate::reply::take;
use nfs::v4::attributes::{Attribute, Fattr};
use nfs::v4::names::{CreateType, Entry};
use nfs::v4::open::{OpenHow, OpenOk, share_access, share_deny};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{FileSystemId, FileType, Filehandle, Stable, Stateid, Time};
use verdict::{NotPassed, Verdict, expect_bytes, failed};

/// Longest piece that is read or written at a time.
const PIECE_BYTES: usize = 256 << 10;
/// Bytes of entries that one READDIR asks for.
const LISTING_BYTES: u32 = 32 << 10;

/// An open regular file.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Handle.
    pub handle: Filehandle,
    /// Open.
    pub stateid: Stateid,
    /// Results of OPEN.
    pub ok: OpenOk,
}

/// Content of a file whose end was reached.
pub type Content = Vec<u8>;

/// Facts of a file that a check compares before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Kind.
    pub kind: FileType,
    /// Change attribute.
    pub change: u64,
    /// Size in bytes.
    pub size_bytes: u64,
    /// File system.
    pub fsid: FileSystemId,
    /// Number of the file.
    pub fileid: u64,
    /// Permission bits.
    pub mode: u32,
    /// Number of names.
    pub links: u32,
    /// Owner.
    pub owner: Vec<u8>,
    /// Group.
    pub group: Vec<u8>,
    /// Bytes that the file takes.
    pub used_bytes: u64,
    /// Last change of the attributes.
    pub changed: Time,
    /// Last change of the content.
    pub modified: Time,
}

/// Numbers of the attributes of [`Facts`], ascending.
const FACTS: [u32; 12] = [1, 3, 4, 8, 20, 33, 35, 36, 37, 45, 52, 53];

impl Facts {
    fn new(attributes: Vec<Attribute>) -> Result<Self, NotPassed> {
        let numbers: Vec<_> = attributes.iter().map(Attribute::number).collect();
        match <[Attribute; 12]>::try_from(attributes) {
            Ok(
                [
                    Attribute::Type(kind),
                    Attribute::Change(change),
                    Attribute::Size(size_bytes),
                    Attribute::Fsid(fsid),
                    Attribute::Fileid(fileid),
                    Attribute::Mode(mode),
                    Attribute::Links(links),
                    Attribute::Owner(owner),
                    Attribute::OwnerGroup(group),
                    Attribute::SpaceUsed(used_bytes),
                    Attribute::TimeMetadata(changed),
                    Attribute::TimeModify(modified),
                ],
            ) => {
                let (owner, group) = (owner.to_vec(), group.to_vec());
                Ok(Self {
                    kind,
                    change,
                    size_bytes,
                    fsid,
                    fileid,
                    mode,
                    links,
                    owner,
                    group,
                    used_bytes,
                    changed,
                    modified,
                })
            }
            _ => failed(format!("GETATTR: expected attributes {FACTS:?}, found {numbers:?}")),
        }
    }
}

impl Client {
    /// Attributes of a file.
    pub fn attributes(&mut self, file: &Filehandle, numbers: &[u32]) -> Result<Vec<Attribute>, NotPassed> {
        let reply = self.call([op::put(file), op::attributes(numbers)])?.ok()?;
        let found = take!(reply.last()?, Outcome::GetAttributes);
        found.attributes().map_err(|error| NotPassed::Failed(format!("GETATTR: {error}")))
    }

    /// Facts of a file.
    pub fn facts(&mut self, file: &Filehandle) -> Result<Facts, NotPassed> {
        Facts::new(self.attributes(file, &FACTS)?)
    }

    /// Sets attributes without a stateid.
    pub fn set(&mut self, file: &Filehandle, attributes: impl IntoIterator<Item = Attribute>) -> Verdict {
        let operation = op::set_attributes(&Stateid::ANONYMOUS, Fattr::new(attributes));
        self.call([op::put(file), operation])?.ok().map(drop)
    }

    /// Sets the mode.
    pub fn set_mode(&mut self, file: &Filehandle, mode: u32) -> Verdict {
        self.set(file, [Attribute::Mode(mode)])
    }

    /// Handle of a name.
    pub fn find(&mut self, directory: &Filehandle, name: impl AsRef<[u8]>) -> Result<Filehandle, NotPassed> {
        let reply = self.call([op::put(directory), op::lookup(name), op::get_filehandle()])?.ok()?;
        Ok(take!(reply.last()?, Outcome::GetFilehandle))
    }

    /// Creates what is not a regular file, with mode 0755.
    pub fn make(&mut self, directory: &Filehandle, name: &[u8], kind: CreateType) -> Result<Filehandle, NotPassed> {
        let create = op::create(kind, name, Fattr::new([Attribute::Mode(0o755)]));
        let reply = self.call([op::put(directory), create, op::get_filehandle()])?.ok()?;
        Ok(take!(reply.last()?, Outcome::GetFilehandle))
    }

    /// Creates a directory.
    pub fn make_directory(&mut self, directory: &Filehandle, name: &[u8]) -> Result<Filehandle, NotPassed> {
        self.make(directory, name, CreateType::Directory)
    }

    /// Creates a symbolic link.
    pub fn make_link(&mut self, directory: &Filehandle, name: &[u8], target: &[u8]) -> Result<Filehandle, NotPassed> {
        self.make(directory, name, CreateType::Link(target.into()))
    }

    /// Calls an OPEN in a directory or of a file.
    pub fn open(&mut self, current: &Filehandle, open: Operation) -> Result<Opened, NotPassed> {
        let reply = self.call([op::put(current), open, op::get_filehandle()])?.ok()?;
        let ok = *take!(reply.result(1)?, Outcome::Open);
        let handle = take!(reply.last()?, Outcome::GetFilehandle);
        Ok(Opened { handle, stateid: ok.stateid, ok })
    }

    /// Creates a regular file with mode 0644 and opens it for both, without denying anything.
    pub fn create(&mut self, directory: &Filehandle, name: impl AsRef<[u8]>) -> Result<Opened, NotPassed> {
        self.open(directory, op::open(name, share_access::BOTH, share_deny::NONE, op::unchecked(0o644)))
    }

    /// Creates a file with content.
    pub fn create_with(
        &mut self,
        directory: &Filehandle,
        name: impl AsRef<[u8]>,
        content: &[u8],
    ) -> Result<Opened, NotPassed> {
        let file = self.create(directory, name)?;
        self.write(&file, 0, content)?;
        Ok(file)
    }

    /// Opens an existing file.
    pub fn open_existing(
        &mut self,
        directory: &Filehandle,
        name: impl AsRef<[u8]>,
        access: u32,
    ) -> Result<Opened, NotPassed> {
        self.open(directory, op::open(name, access, share_deny::NONE, OpenHow::NoCreate))
    }

    /// Closes a file.
    pub fn close(&mut self, file: &Opened) -> Verdict {
        self.call([op::put(&file.handle), op::close(&file.stateid)])?.ok().map(drop)
    }

    /// Writes all of the data, durably.
    pub fn write(&mut self, file: &Opened, offset_bytes: u64, data: &[u8]) -> Verdict {
        let (mut at, mut left) = (offset_bytes, data);
        while !left.is_empty() {
            let piece = left.get(..PIECE_BYTES.min(left.len())).unwrap_or(left);
            let write = op::write(&file.stateid, at, Stable::FileSync, piece);
            let reply = self.call([op::put(&file.handle), write])?.ok()?;
            let written = take!(reply.last()?, Outcome::Write).count_bytes as usize;
            if written == 0 || written > piece.len() {
                return failed(format!("WRITE: expected up to {} bytes, found {written}", piece.len()));
            }
            at += written as u64;
            left = left.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// All content of a file, read without an open.
    pub fn content(&mut self, file: &Filehandle) -> Result<Content, NotPassed> {
        let mut content = Vec::new();
        loop {
            let read = op::read(&Stateid::ANONYMOUS, content.len() as u64, PIECE_BYTES as u32);
            let reply = self.call([op::put(file), read])?.ok()?;
            let read = take!(reply.last()?, Outcome::Read);
            content.extend_from_slice(&read.data);
            match read.eof {
                true => return Ok(content),
                false if read.data.is_empty() => return failed("READ: expected data or eof, found neither"),
                false => {}
            }
        }
    }

    /// Compares the content of a file.
    pub fn expect_content(&mut self, file: &Filehandle, expected: &[u8]) -> Verdict {
        expect_bytes("content", &self.content(file)?, expected)
    }

    /// Entries of a directory with type and fileid.
    pub fn list(&mut self, directory: &Filehandle) -> Result<Vec<Entry>, NotPassed> {
        let mut all: Vec<Entry> = Vec::new();
        let (mut cookie, mut verifier) = (0, [0; 8]);
        loop {
            let operation = op::read_directory(cookie, verifier, LISTING_BYTES, &[1, 20]);
            let reply = self.call([op::put(directory), operation])?.ok()?;
            let listed = take!(reply.last()?, Outcome::ReadDirectory);
            all.extend(listed.entries.iter().cloned());
            let last = listed.entries.last().map(|entry| entry.cookie);
            match last {
                _ if listed.eof => return Ok(all),
                Some(last) if last != cookie && all.len() < 1_000_000 => (cookie, verifier) = (last, listed.verifier),
                _ => return failed("READDIR: expected further entries or eof, found neither"),
            }
        }
    }

    /// Names in a directory, sorted.
    pub fn names(&mut self, directory: &Filehandle) -> Result<Vec<Vec<u8>>, NotPassed> {
        let mut names: Vec<_> = self.list(directory)?.iter().map(|entry| entry.name.to_vec()).collect();
        names.sort();
        Ok(names)
    }
}
