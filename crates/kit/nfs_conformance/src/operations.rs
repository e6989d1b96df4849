//! Operations as functions: what checks send, as short as they are read.

use bytes::Bytes;
use nfs::v4::attributes::{Fattr, GetAttributesArguments, SetAttributesArguments};
use nfs::v4::handles::AccessArguments;
use nfs::v4::io::{CommitArguments, Content, ReadArguments, SeekArguments, WriteArguments};
use nfs::v4::locks::{
    ExistingLockOwner, LockArguments, LockTestArguments, LockType, Locker, OpenToLockOwner, UnlockArguments,
};
use nfs::v4::names::{CreateArguments, CreateType, ReadDirectoryArguments, RenameArguments};
use nfs::v4::offload::{CloneArguments, CopyArguments, RangeArguments};
use nfs::v4::open::{CloseArguments, CreateHow, DowngradeArguments, OpenArguments, OpenClaim, OpenHow};
use nfs::v4::operations::Operation;
use nfs::v4::xattr::{ListArguments, SetArguments, SetOption};
use nfs::v4::{Bitmap, Filehandle, Stable, StateOwner, Stateid, Verifier};
use xdr::Writer;

/// Any operation, written word by word. All that is written counts as its arguments.
pub fn raw(code: u32, arguments: impl FnOnce(&mut Writer)) -> Operation {
    let mut writer = Writer::default();
    arguments(&mut writer);
    Operation::Unserved { code, arguments: writer.into_bytes() }
}

macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident $variant:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> Operation {
            Operation::$variant
        }
    )*};
}

plain! {
    /// PUTROOTFH.
    put_root PutRootFilehandle;
    /// PUTPUBFH.
    put_public PutPublicFilehandle;
    /// GETFH.
    get_filehandle GetFilehandle;
    /// SAVEFH.
    save SaveFilehandle;
    /// RESTOREFH.
    restore RestoreFilehandle;
    /// LOOKUPP.
    lookup_parent LookupParent;
    /// READLINK.
    read_link ReadLink;
}

/// PUTFH.
pub fn put(handle: &Filehandle) -> Operation {
    Operation::PutFilehandle(handle.clone())
}

/// LOOKUP.
pub fn lookup(name: impl AsRef<[u8]>) -> Operation {
    Operation::Lookup(name.as_ref().into())
}

/// GETATTR.
pub fn attributes(numbers: &[u32]) -> Operation {
    Operation::GetAttributes(GetAttributesArguments { wanted: Bitmap::new(numbers.iter().copied()) })
}

/// SETATTR.
pub fn set_attributes(stateid: &Stateid, attributes: Fattr) -> Operation {
    Operation::SetAttributes(SetAttributesArguments { stateid: *stateid, attributes })
}

/// ACCESS.
pub fn access(access: u32) -> Operation {
    Operation::Access(AccessArguments { access })
}

/// READ.
pub fn read(stateid: &Stateid, offset_bytes: u64, count_bytes: u32) -> Operation {
    Operation::Read(ReadArguments { stateid: *stateid, offset_bytes, count_bytes })
}

/// READ_PLUS.
pub fn read_plus(stateid: &Stateid, offset_bytes: u64, count_bytes: u32) -> Operation {
    Operation::ReadPlus(ReadArguments { stateid: *stateid, offset_bytes, count_bytes })
}

/// WRITE.
pub fn write(stateid: &Stateid, offset_bytes: u64, stable: Stable, data: &[u8]) -> Operation {
    let data = Bytes::copy_from_slice(data).into();
    Operation::Write(WriteArguments { stateid: *stateid, offset_bytes, stable, data })
}

/// COMMIT.
pub fn commit(offset_bytes: u64, count_bytes: u32) -> Operation {
    Operation::Commit(CommitArguments { offset_bytes, count_bytes })
}

/// CREATE.
pub fn create(kind: CreateType, name: impl AsRef<[u8]>, attributes: Fattr) -> Operation {
    Operation::Create(Box::new(CreateArguments { kind, name: name.as_ref().into(), attributes }))
}

/// REMOVE.
pub fn remove(name: impl AsRef<[u8]>) -> Operation {
    Operation::Remove(name.as_ref().into())
}

/// RENAME.
pub fn rename(old: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Operation {
    Operation::Rename(RenameArguments { old: old.as_ref().into(), new: new.as_ref().into() })
}

/// LINK.
pub fn link(name: impl AsRef<[u8]>) -> Operation {
    Operation::Link(name.as_ref().into())
}

/// READDIR.
pub fn read_directory(cookie: u64, verifier: Verifier, max_count_bytes: u32, numbers: &[u32]) -> Operation {
    let wanted = Bitmap::new(numbers.iter().copied());
    let arguments =
        ReadDirectoryArguments { cookie, verifier, directory_count_bytes: max_count_bytes, max_count_bytes, wanted };
    Operation::ReadDirectory(arguments)
}

/// RECLAIM_COMPLETE.
pub fn reclaim_complete(one_file_system: bool) -> Operation {
    Operation::ReclaimComplete(one_file_system)
}

/// DESTROY_CLIENTID.
pub fn destroy_client(client: u64) -> Operation {
    Operation::DestroyClientId(client)
}

/// Owner of opens or locks. The server takes the client from the session.
pub fn owner(name: &str) -> StateOwner {
    StateOwner { client: 0, owner: name.into() }
}

/// OPEN of a name by the owner `owner`.
pub fn open(name: impl AsRef<[u8]>, share_access: u32, share_deny: u32, how: OpenHow) -> Operation {
    open_as("owner", share_access, share_deny, how, OpenClaim::Null(name.as_ref().into()))
}

/// OPEN.
pub fn open_as(name: &str, share_access: u32, share_deny: u32, how: OpenHow, claim: OpenClaim) -> Operation {
    Operation::Open(Box::new(OpenArguments { seqid: 0, share_access, share_deny, owner: owner(name), how, claim }))
}

/// How OPEN creates a file or uses the one that exists, with a mode.
pub fn unchecked(mode: u32) -> OpenHow {
    OpenHow::Create(CreateHow::Unchecked(Fattr::new([nfs::v4::attributes::Attribute::Mode(mode)])))
}

/// CLOSE.
pub fn close(stateid: &Stateid) -> Operation {
    Operation::Close(CloseArguments { seqid: 0, stateid: *stateid })
}

/// OPEN_DOWNGRADE.
pub fn downgrade(stateid: &Stateid, share_access: u32, share_deny: u32) -> Operation {
    Operation::Downgrade(DowngradeArguments { stateid: *stateid, seqid: 0, share_access, share_deny })
}

/// LOCK by an owner that has no locks of the open.
pub fn lock(open: &Stateid, name: &str, kind: LockType, offset_bytes: u64, length_bytes: u64) -> Operation {
    let new = OpenToLockOwner { open_seqid: 0, open_stateid: *open, lock_seqid: 0, owner: owner(name) };
    lock_with(Locker::New(new), kind, offset_bytes, length_bytes)
}

/// LOCK by an owner that has locks.
pub fn lock_more(stateid: &Stateid, kind: LockType, offset_bytes: u64, length_bytes: u64) -> Operation {
    lock_with(Locker::Existing(ExistingLockOwner { stateid: *stateid, seqid: 0 }), kind, offset_bytes, length_bytes)
}

fn lock_with(locker: Locker, kind: LockType, offset_bytes: u64, length_bytes: u64) -> Operation {
    Operation::Lock(Box::new(LockArguments { kind, reclaim: false, offset_bytes, length_bytes, locker }))
}

/// LOCKT.
pub fn lock_test(name: &str, kind: LockType, offset_bytes: u64, length_bytes: u64) -> Operation {
    Operation::LockTest(LockTestArguments { kind, offset_bytes, length_bytes, owner: owner(name) })
}

/// LOCKU.
pub fn unlock(stateid: &Stateid, offset_bytes: u64, length_bytes: u64) -> Operation {
    let stateid = *stateid;
    Operation::Unlock(UnlockArguments { kind: LockType::Write, seqid: 0, stateid, offset_bytes, length_bytes })
}

/// CLONE from the saved to the current handle.
pub fn clone(source: &Stateid, destination: &Stateid, from: u64, to: u64, count_bytes: u64) -> Operation {
    Operation::Clone(CloneArguments {
        source_stateid: *source,
        destination_stateid: *destination,
        source_offset_bytes: from,
        destination_offset_bytes: to,
        count_bytes,
    })
}

/// Arguments of a synchronous COPY from the saved to the current handle.
pub fn copy_arguments(source: &Stateid, destination: &Stateid, from: u64, to: u64, count_bytes: u64) -> CopyArguments {
    CopyArguments {
        source_stateid: *source,
        destination_stateid: *destination,
        source_offset_bytes: from,
        destination_offset_bytes: to,
        count_bytes,
        consecutive: true,
        synchronous: true,
        source_servers: Vec::new().into(),
    }
}

/// Synchronous COPY from the saved to the current handle.
pub fn copy(source: &Stateid, destination: &Stateid, from: u64, to: u64, count_bytes: u64) -> Operation {
    Operation::Copy(Box::new(copy_arguments(source, destination, from, to, count_bytes)))
}

/// OFFLOAD_STATUS.
pub fn offload_status(copy: &Stateid) -> Operation {
    Operation::OffloadStatus(*copy)
}

/// OFFLOAD_CANCEL.
pub fn offload_cancel(copy: &Stateid) -> Operation {
    Operation::OffloadCancel(*copy)
}

/// ALLOCATE.
pub fn allocate(stateid: &Stateid, offset_bytes: u64, length_bytes: u64) -> Operation {
    Operation::Allocate(RangeArguments { stateid: *stateid, offset_bytes, length_bytes })
}

/// DEALLOCATE.
pub fn deallocate(stateid: &Stateid, offset_bytes: u64, length_bytes: u64) -> Operation {
    Operation::Deallocate(RangeArguments { stateid: *stateid, offset_bytes, length_bytes })
}

/// SEEK.
pub fn seek(stateid: &Stateid, offset_bytes: u64, what: Content) -> Operation {
    Operation::Seek(SeekArguments { stateid: *stateid, offset_bytes, what })
}

/// GETXATTR.
pub fn xattr(name: impl AsRef<[u8]>) -> Operation {
    Operation::GetXattr(name.as_ref().into())
}

/// SETXATTR.
pub fn set_xattr(option: SetOption, name: impl AsRef<[u8]>, value: &[u8]) -> Operation {
    Operation::SetXattr(SetArguments { option, name: name.as_ref().into(), value: value.into() })
}

/// LISTXATTRS.
pub fn list_xattrs(cookie: u64, max_count_bytes: u32) -> Operation {
    Operation::ListXattrs(ListArguments { cookie, max_count_bytes })
}

/// REMOVEXATTR.
pub fn remove_xattr(name: impl AsRef<[u8]>) -> Operation {
    Operation::RemoveXattr(name.as_ref().into())
}
