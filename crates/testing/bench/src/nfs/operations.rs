//! Compounds of the loads, as the Linux client sends them: replies of OPEN, CLOSE, SETATTR and REMOVE
//! are kept, those of WRITE and CLONE are not.

use anyhow::{Result, bail};
use bytes::Bytes;
use nfs::v4::attributes::{Attribute, Fattr, GetAttributesArguments, SetAttributesArguments};
use nfs::v4::io::{CommitArguments, ReadArguments, WriteArguments};
use nfs::v4::names::{CreateArguments, CreateType, ReadDirectoryArguments};
use nfs::v4::offload::CloneArguments;
use nfs::v4::open::{CloseArguments, CreateHow, OpenArguments, OpenClaim, OpenHow, share_access, share_deny};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Bitmap, Filehandle, Name, Stable, StateOwner, Stateid, Verifier};
use nfs_client::{Compound, Outcomes};

/// Attributes that the Linux client asks for, but for `suppattr_exclcreat` and the security label.
const WANTED: [u32; 15] = [1, 3, 4, 8, 20, 33, 35, 36, 37, 41, 45, 47, 52, 53, 55];

/// Bytes of entries that one READDIR asks for.
const LISTING_BYTES: u32 = 256 << 10;

/// An open file.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) handle: Filehandle,
    pub(crate) stateid: Stateid,
}

fn wanted() -> Operation {
    Operation::GetAttributes(GetAttributesArguments { wanted: Bitmap::new(WANTED) })
}

/// SEQUENCE alone.
pub(crate) fn sequence() -> Compound {
    Compound::reading([])
}

/// GETATTR of a file.
pub(crate) fn attributes(file: &Filehandle) -> Compound {
    Compound::reading([wanted()]).on(file)
}

/// LOOKUP of a name, its handle and attributes.
pub(crate) fn lookup(directory: &Filehandle, name: &str) -> Compound {
    Compound::reading([Operation::Lookup(Name::from(name)), Operation::GetFilehandle, wanted()]).on(directory)
}

/// Handle below the server's root.
pub(crate) fn from_root(path: &[&str]) -> Compound {
    let lookups = path.iter().map(|name| Operation::Lookup(Name::from(*name)));
    Compound::reading(std::iter::once(Operation::PutRootFilehandle).chain(lookups).chain([Operation::GetFilehandle]))
}

/// A new directory.
pub(crate) fn create_directory(directory: &Filehandle, name: &str) -> Compound {
    let arguments = CreateArguments {
        kind: CreateType::Directory,
        name: Name::from(name),
        attributes: Fattr::new([Attribute::Mode(0o755)]),
    };
    Compound::changing([Operation::Create(Box::new(arguments)), Operation::GetFilehandle]).on(directory)
}

/// OPEN of a name for reading and writing, which is created if `create`, and must not exist then; its
/// handle and attributes.
pub(crate) fn open(directory: &Filehandle, name: &str, create: bool) -> Compound {
    let how = match create {
        true => OpenHow::Create(CreateHow::Guarded(Fattr::new([Attribute::Mode(0o644)]))),
        false => OpenHow::NoCreate,
    };
    let arguments = OpenArguments {
        seqid: 0,
        share_access: share_access::BOTH | share_access::WANT_NO_DELEGATION,
        share_deny: share_deny::NONE,
        owner: StateOwner { client: 0, owner: b"bench".to_vec().into() },
        how,
        claim: OpenClaim::Null(Name::from(name)),
    };
    Compound::changing([Operation::Open(Box::new(arguments)), Operation::GetFilehandle, wanted()]).on(directory)
}

/// CLOSE.
pub(crate) fn close(file: &Opened) -> Compound {
    Compound::changing([Operation::Close(CloseArguments { seqid: 0, stateid: file.stateid })]).on(&file.handle)
}

/// READ.
pub(crate) fn read(file: &Opened, offset_bytes: u64, count_bytes: u32) -> Compound {
    let arguments = ReadArguments { stateid: file.stateid, offset_bytes, count_bytes };
    Compound::reading([Operation::Read(arguments)]).on(&file.handle)
}

/// WRITE.
pub(crate) fn write(file: &Opened, offset_bytes: u64, data: Bytes, stable: Stable) -> Compound {
    let arguments = WriteArguments { stateid: file.stateid, offset_bytes, stable, data: data.into() };
    Compound::reading([Operation::Write(arguments)]).on(&file.handle)
}

/// COMMIT of a whole file.
pub(crate) fn commit(file: &Opened) -> Compound {
    let arguments = CommitArguments { offset_bytes: 0, count_bytes: 0 };
    Compound::reading([Operation::Commit(arguments)]).on(&file.handle)
}

/// SETATTR of the mode.
pub(crate) fn set_mode(file: &Filehandle, mode: u32) -> Compound {
    let attributes = Fattr::new([Attribute::Mode(mode)]);
    let arguments = SetAttributesArguments { stateid: Stateid::ANONYMOUS, attributes };
    Compound::changing([Operation::SetAttributes(arguments)]).on(file)
}

/// REMOVE.
pub(crate) fn remove(directory: &Filehandle, name: &str) -> Compound {
    Compound::changing([Operation::Remove(Name::from(name))]).on(directory)
}

/// CLONE of all of a file.
pub(crate) fn clone(source: &Opened, destination: &Opened) -> Compound {
    let arguments = CloneArguments {
        source_stateid: source.stateid,
        destination_stateid: destination.stateid,
        source_offset_bytes: 0,
        destination_offset_bytes: 0,
        count_bytes: 0,
    };
    let put = Operation::PutFilehandle(destination.handle.clone());
    Compound::reading([Operation::SaveFilehandle, put, Operation::Clone(arguments)]).on(&source.handle)
}

/// READDIR from a cookie on, with the attributes that LOOKUP gets, or with the number of the file alone.
pub(crate) fn list(directory: &Filehandle, cookie: u64, verifier: Verifier, with_attributes: bool) -> Compound {
    let wanted = if with_attributes { Bitmap::new(WANTED) } else { Bitmap::new([20]) };
    let arguments = ReadDirectoryArguments {
        cookie,
        verifier,
        directory_count_bytes: LISTING_BYTES,
        max_count_bytes: LISTING_BYTES,
        wanted,
    };
    Compound::reading([Operation::ReadDirectory(arguments)]).on(directory)
}

/// Handle among the results of GETFH, behind `before` other operations.
pub(crate) fn taken_handle(outcomes: &mut Outcomes, before: usize) -> Result<Filehandle> {
    outcomes.skip(before)?;
    match outcomes.next_success()? {
        Outcome::GetFilehandle(Ok(handle)) => Ok(handle),
        other => bail!("no results of GETFH: {other:?}"),
    }
}

/// Open file from the results of [`open`].
pub(crate) fn taken_open(outcomes: &mut Outcomes) -> Result<Opened> {
    outcomes.skip(1)?;
    let Outcome::Open(Ok(opened)) = outcomes.next_success()? else { bail!("no results of OPEN") };
    let handle = taken_handle(outcomes, 0)?;
    outcomes.skip(1)?;
    Ok(Opened { handle, stateid: opened.stateid })
}

/// Attributes from the results of GETATTR, behind `before` other operations.
pub(crate) fn taken_attributes(outcomes: &mut Outcomes, before: usize) -> Result<Fattr> {
    outcomes.skip(before)?;
    match outcomes.next_success()? {
        Outcome::GetAttributes(Ok(attributes)) => Ok(attributes),
        other => bail!("no results of GETATTR: {other:?}"),
    }
}
