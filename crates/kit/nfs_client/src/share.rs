//! Files of a share. One function an operation; paths begin at the root of the share.

use crate::compound::{Compound, Outcomes, take};
use crate::error::ClientError;
use crate::session::Session;
use bytes::Bytes;
use nfs::v4::attributes::{Attribute, Fattr, GetAttributesArguments, SetAttributesArguments};
use nfs::v4::handles::AccessArguments;
use nfs::v4::io::{CommitArguments, ReadArguments, WriteArguments, WriteOk};
use nfs::v4::names::{CreateArguments, CreateType, Entry, ReadDirectoryArguments, RenameArguments};
use nfs::v4::open::{CloseArguments, CreateHow, OpenArguments, OpenClaim, OpenHow, OpenOk, share_access, share_deny};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::xattr::{ListArguments, SetArguments, SetOption};
use nfs::v4::{Bitmap, FileType, Filehandle, Name, Stable, StateOwner, Stateid};

/// Bytes of entries that one READDIR asks for.
const LISTING_BYTES: u32 = 64 << 10;
/// Bytes of names that one LISTXATTRS asks for.
const NAMES_BYTES: u32 = 64 << 10;

/// A share: its root, over a session.
#[derive(Clone)]
pub struct Share {
    session: Session,
    root: Filehandle,
    /// Name of the owner of opens.
    owner: Bytes,
}

/// A file that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Handle.
    pub handle: Filehandle,
    /// Kind.
    pub kind: FileType,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Number of the file in its file system.
    pub fileid: u64,
}

/// A directory.
pub type Directory = Filehandle;

/// An open regular file.
#[derive(Clone, Debug)]
pub struct File {
    /// Handle.
    pub handle: Filehandle,
    /// State of the open.
    pub stateid: Stateid,
}

fn wanted(numbers: &[u32]) -> Operation {
    Operation::GetAttributes(GetAttributesArguments { wanted: Bitmap::new(numbers.iter().copied()) })
}

/// Attributes that [`Found`] has.
fn wanted_of_found() -> Operation {
    wanted(&[1, 4, 20])
}

fn found(outcomes: &mut Outcomes) -> Result<Found, ClientError> {
    let handle = take!(outcomes, Outcome::GetFilehandle);
    let attributes = attributes(&take!(outcomes, Outcome::GetAttributes))?;
    let mut found = Found { handle, kind: FileType::Regular, size_bytes: 0, fileid: 0 };
    let mut seen = 0;
    for attribute in attributes {
        match attribute {
            Attribute::Type(kind) => found.kind = kind,
            Attribute::Size(size_bytes) => found.size_bytes = size_bytes,
            Attribute::Fileid(fileid) => found.fileid = fileid,
            other => return Err(ClientError::Malformed(format!("GETATTR: {other:?} was not asked for"))),
        }
        seen += 1;
    }
    match seen {
        3 => Ok(found),
        _ => Err(ClientError::Malformed("GETATTR: no type, size or fileid".into())),
    }
}

fn attributes(fattr: &Fattr) -> Result<Vec<Attribute>, ClientError> {
    fattr.attributes().map_err(|error| ClientError::Malformed(error.to_string()))
}

fn name(name: &str) -> Name {
    Name::from(name)
}

/// A new value without attributes but the mode.
fn with_mode(mode: u32) -> Fattr {
    Fattr::new([Attribute::Mode(mode)])
}

impl Share {
    /// Finds a share by its name below the server's root.
    pub async fn find(session: &Session, share: &str) -> Result<Self, ClientError> {
        let operations = [Operation::PutRootFilehandle, Operation::Lookup(name(share)), Operation::GetFilehandle];
        let mut outcomes = session.call(&Compound::reading(operations)).await?;
        outcomes.skip(2)?;
        let root = take!(outcomes, Outcome::GetFilehandle);
        let owner = Bytes::copy_from_slice(&session.id());
        Ok(Self { session: session.clone(), root, owner })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The root directory.
    pub fn root(&self) -> &Directory {
        &self.root
    }

    /// The same share for another owner of opens and locks.
    pub fn with_owner(&self, owner: impl Into<Bytes>) -> Self {
        Self { owner: owner.into(), ..self.clone() }
    }

    fn owner(&self) -> StateOwner {
        StateOwner { client: 0, owner: self.owner.clone().into() }
    }

    /// Finds a file by its names from the root.
    pub async fn lookup(&self, path: &[impl AsRef<str>]) -> Result<Found, ClientError> {
        let lookups = path.iter().map(|part| Operation::Lookup(name(part.as_ref())));
        let operations = lookups.chain([Operation::GetFilehandle, wanted_of_found()]);
        let mut outcomes = self.session.call(&Compound::reading(operations).on(&self.root)).await?;
        outcomes.skip(1 + path.len())?;
        found(&mut outcomes)
    }

    /// Attributes of a file.
    pub async fn attributes(&self, file: &Filehandle, numbers: &[u32]) -> Result<Vec<Attribute>, ClientError> {
        let mut outcomes = self.session.call(&Compound::reading([wanted(numbers)]).on(file)).await?;
        outcomes.skip(1)?;
        attributes(&take!(outcomes, Outcome::GetAttributes))
    }

    /// Sets attributes. `stateid`: an open with write access, for the size.
    pub async fn set_attributes(
        &self,
        file: &Filehandle,
        stateid: Stateid,
        attributes: Fattr,
    ) -> Result<(), ClientError> {
        let operation = Operation::SetAttributes(SetAttributesArguments { stateid, attributes });
        self.session.call(&Compound::changing([operation]).on(file)).await?.finish()
    }

    /// Those permissions of `access` that the caller has.
    pub async fn access(&self, file: &Filehandle, access: u32) -> Result<u32, ClientError> {
        let operation = Operation::Access(AccessArguments { access });
        let mut outcomes = self.session.call(&Compound::reading([operation]).on(file)).await?;
        outcomes.skip(1)?;
        Ok(take!(outcomes, Outcome::Access).access)
    }

    /// Creates a directory, a link or a special file.
    pub async fn create(
        &self,
        directory: &Directory,
        new: &str,
        kind: CreateType,
        mode: u32,
    ) -> Result<Found, ClientError> {
        let arguments = CreateArguments { kind, name: name(new), attributes: with_mode(mode) };
        let operations = [Operation::Create(Box::new(arguments)), Operation::GetFilehandle, wanted_of_found()];
        let mut outcomes = self.session.call(&Compound::changing(operations).on(directory)).await?;
        outcomes.skip(2)?;
        found(&mut outcomes)
    }

    /// Opens a regular file in a directory for reading and writing; nothing is denied to others.
    pub async fn open(&self, directory: &Directory, file: &str, how: OpenHow) -> Result<File, ClientError> {
        let arguments = OpenArguments {
            seqid: 0,
            share_access: share_access::BOTH | share_access::WANT_NO_DELEGATION,
            share_deny: share_deny::NONE,
            owner: self.owner(),
            how,
            claim: OpenClaim::Null(name(file)),
        };
        self.open_with(directory, arguments).await.map(|(file, _)| file)
    }

    /// Opens a file as `arguments` say, and returns the results of OPEN too.
    pub async fn open_with(
        &self,
        current: &Filehandle,
        arguments: OpenArguments,
    ) -> Result<(File, OpenOk), ClientError> {
        let operations = [Operation::Open(Box::new(arguments)), Operation::GetFilehandle];
        let mut outcomes = self.session.call(&Compound::changing(operations).on(current)).await?;
        outcomes.skip(1)?;
        let opened = *take!(outcomes, Outcome::Open);
        let handle = take!(outcomes, Outcome::GetFilehandle);
        Ok((File { handle, stateid: opened.stateid }, opened))
    }

    /// Creates a regular file, or opens the one that exists.
    pub async fn create_file(&self, directory: &Directory, file: &str) -> Result<File, ClientError> {
        self.open(directory, file, OpenHow::Create(CreateHow::Unchecked(with_mode(0o644)))).await
    }

    /// Closes a file.
    pub async fn close(&self, file: File) -> Result<(), ClientError> {
        let operation = Operation::Close(CloseArguments { seqid: 0, stateid: file.stateid });
        self.session.call(&Compound::changing([operation]).on(&file.handle)).await?.finish()
    }

    /// Reads up to `count_bytes`; fewer only at the end of the file, or as many as the server likes.
    pub async fn read(&self, file: &File, offset_bytes: u64, count_bytes: u32) -> Result<(Bytes, bool), ClientError> {
        let arguments = ReadArguments { stateid: file.stateid, offset_bytes, count_bytes };
        let mut outcomes = self.session.call(&Compound::reading([Operation::Read(arguments)]).on(&file.handle)).await?;
        outcomes.skip(1)?;
        let read = take!(outcomes, Outcome::Read);
        if read.data.len() as u64 > u64::from(count_bytes) {
            return Err(ClientError::Malformed(format!("READ: {} bytes of {count_bytes}", read.data.len())));
        }
        Ok((read.data.as_bytes().clone(), read.eof))
    }

    /// Writes; the server may take a part of the data.
    pub async fn write(
        &self,
        file: &File,
        offset_bytes: u64,
        data: Bytes,
        stable: Stable,
    ) -> Result<WriteOk, ClientError> {
        let length = data.len();
        let arguments = WriteArguments { stateid: file.stateid, offset_bytes, stable, data: data.into() };
        let compound = Compound::changing([Operation::Write(arguments)]).on(&file.handle);
        let mut outcomes = self.session.call(&compound).await?;
        outcomes.skip(1)?;
        let written = take!(outcomes, Outcome::Write);
        if written.count_bytes as usize > length {
            return Err(ClientError::Malformed(format!("WRITE: {} bytes of {length}", written.count_bytes)));
        }
        Ok(written)
    }

    /// Makes written data durable. Returns the write verifier.
    pub async fn commit(&self, file: &Filehandle) -> Result<nfs::v4::Verifier, ClientError> {
        let operation = Operation::Commit(CommitArguments { offset_bytes: 0, count_bytes: 0 });
        let mut outcomes = self.session.call(&Compound::reading([operation]).on(file)).await?;
        outcomes.skip(1)?;
        Ok(take!(outcomes, Outcome::Commit))
    }

    /// All entries of a directory with attributes. Fails if a cookie comes twice.
    pub async fn list(&self, directory: &Directory, numbers: &[u32]) -> Result<Vec<Entry>, ClientError> {
        let mut all: Vec<Entry> = Vec::new();
        let (mut cookie, mut verifier) = (0, [0; 8]);
        loop {
            let arguments = ReadDirectoryArguments {
                cookie,
                verifier,
                directory_count_bytes: LISTING_BYTES,
                max_count_bytes: LISTING_BYTES,
                wanted: Bitmap::new(numbers.iter().copied()),
            };
            let operation = Operation::ReadDirectory(arguments);
            let mut outcomes = self.session.call(&Compound::reading([operation]).on(directory)).await?;
            outcomes.skip(1)?;
            let listed = take!(outcomes, Outcome::ReadDirectory);
            let entries = listed.entries.0;
            verifier = listed.verifier;
            match entries.last() {
                Some(last) if last.cookie != cookie => cookie = last.cookie,
                Some(_) => return Err(ClientError::Malformed("READDIR: a cookie that does not move".into())),
                None if !listed.eof => return Err(ClientError::Malformed("READDIR: nothing, and not the end".into())),
                None => {}
            }
            all.extend(entries);
            if listed.eof {
                return Ok(all);
            }
        }
    }

    /// Removes a name.
    pub async fn remove(&self, directory: &Directory, file: &str) -> Result<(), ClientError> {
        self.session.call(&Compound::changing([Operation::Remove(name(file))]).on(directory)).await?.finish()
    }

    /// Gives a file another name.
    pub async fn rename(
        &self,
        (from, old): (&Directory, &str),
        (to, new): (&Directory, &str),
    ) -> Result<(), ClientError> {
        let arguments = RenameArguments { old: name(old), new: name(new) };
        self.with_saved(from, to, Operation::Rename(arguments)).await?.finish()
    }

    /// Gives a file one more name.
    pub async fn link(&self, file: &Filehandle, directory: &Directory, new: &str) -> Result<(), ClientError> {
        self.with_saved(file, directory, Operation::Link(name(new))).await?.finish()
    }

    /// Calls an operation about the saved handle and the current one.
    pub(crate) async fn with_saved(
        &self,
        saved: &Filehandle,
        current: &Filehandle,
        operation: Operation,
    ) -> Result<Outcomes, ClientError> {
        let operations = [Operation::SaveFilehandle, Operation::PutFilehandle(current.clone()), operation];
        let mut outcomes = self.session.call(&Compound::changing(operations).on(saved)).await?;
        outcomes.skip(3)?;
        Ok(outcomes)
    }

    /// Value of an extended attribute.
    pub async fn xattr(&self, file: &Filehandle, key: &str) -> Result<Bytes, ClientError> {
        let mut outcomes = self.session.call(&Compound::reading([Operation::GetXattr(name(key))]).on(file)).await?;
        outcomes.skip(1)?;
        Ok(take!(outcomes, Outcome::GetXattr).as_bytes().clone())
    }

    /// Sets an extended attribute.
    pub async fn set_xattr(
        &self,
        file: &Filehandle,
        key: &str,
        value: impl Into<Bytes>,
        option: SetOption,
    ) -> Result<(), ClientError> {
        let operation = Operation::SetXattr(SetArguments { option, name: name(key), value: value.into().into() });
        self.session.call(&Compound::changing([operation]).on(file)).await?.finish()
    }

    /// Removes an extended attribute.
    pub async fn remove_xattr(&self, file: &Filehandle, key: &str) -> Result<(), ClientError> {
        self.session.call(&Compound::changing([Operation::RemoveXattr(name(key))]).on(file)).await?.finish()
    }

    /// Names of all extended attributes.
    pub async fn xattr_names(&self, file: &Filehandle) -> Result<Vec<Name>, ClientError> {
        let mut all = Vec::new();
        let mut cookie = 0;
        loop {
            let operation = Operation::ListXattrs(ListArguments { cookie, max_count_bytes: NAMES_BYTES });
            let mut outcomes = self.session.call(&Compound::reading([operation]).on(file)).await?;
            outcomes.skip(1)?;
            let listed = take!(outcomes, Outcome::ListXattrs);
            let names = listed.names.len();
            all.extend(listed.names.0);
            if listed.eof {
                return Ok(all);
            }
            if names == 0 || listed.cookie == cookie {
                return Err(ClientError::Malformed("LISTXATTRS: a list that does not move".into()));
            }
            cookie = listed.cookie;
        }
    }
}
