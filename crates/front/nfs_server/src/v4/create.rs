//! CREATE, RFC 8881 §18.4: everything but regular files.

use super::context::Context;
use super::names::{change, kept};
use super::object::Object;
use super::row::{CHANGE, GROWTH, HANDLE, NAME, Row};
use crate::attributes::to_set;
use crate::failure::Failure;
use bytes::Bytes;
use nfs::v4::Status;
use nfs::v4::names::{CreateArguments, CreateOk, CreateType};
use vfs::{Device, FileSystem, LinkTarget, New, NewKind};

pub(super) const ROW: Row = Row {
    code: 6,
    statuses: &[
        HANDLE,
        NAME,
        CHANGE,
        GROWTH,
        &[Status::ATTRNOTSUPP, Status::BADOWNER, Status::BADTYPE, Status::EXIST, Status::MLINK, Status::PERM],
    ],
    reply_bytes: 64,
};

/// Creates a file in the current directory and makes it the current one.
///
/// * `BADTYPE`: a regular file, or a kind that there is not.
/// * `INVAL`, `ATTRNOTSUPP`, `BADOWNER`: attributes that cannot be set.
pub(super) async fn execute<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: CreateArguments,
) -> Result<CreateOk, Failure> {
    let CreateArguments { kind, name, attributes } = arguments;
    let directory = context.file()?;
    let what = new_kind(kind)?;
    let name = kept(name)?;
    let new = New { what, attributes: to_set(&attributes, context.minor)? };
    let call = context.call(&directory);
    let created = directory.export.files().create(call, directory.id, &name, &new).await?;
    context.set_current(Object::File(directory.sibling(created.file.file)));
    Ok(CreateOk { change: change(&created.directory), set: attributes.mask })
}

fn new_kind(kind: CreateType) -> Result<NewKind, Failure> {
    Ok(match kind {
        // A copy: the target is kept, the call is not.
        CreateType::Link(target) => NewKind::Symlink(LinkTarget::new(Bytes::copy_from_slice(&target))?),
        CreateType::Block(device) => NewKind::BlockDevice(numbers(&device)),
        CreateType::Character(device) => NewKind::CharacterDevice(numbers(&device)),
        CreateType::Socket => NewKind::Socket,
        CreateType::Fifo => NewKind::Fifo,
        CreateType::Directory => NewKind::Directory,
        CreateType::Other(_) => return Err(Status::BADTYPE.into()),
    })
}

const fn numbers(device: &nfs::v4::Device) -> Device {
    Device { major: device.major, minor: device.minor }
}
