//! OPEN, RFC 8881 §18.16. Delegations are never given.

use super::context::Context;
use super::names::{change, kept};
use super::object::{File, Object};
use super::row::{CHANGE, GROWTH, HANDLE, NAME, Row, STATEID};
use crate::attributes::{number, to_set};
use crate::failure::Failure;
use nfs::v4::attributes::Fattr;
use nfs::v4::open::{CreateHow, OpenArguments, OpenClaim, OpenHow, OpenOk, result, share_access};
use nfs::v4::{Bitmap, ChangeInfo, Status};
use nfs_state::{IoAccess, OpenRequest, OpenReservation, Opened, delegation};
use vfs::policy::{Permissions, check_read, check_write};
use vfs::{Attributes, Exclusive, FileSystem, FsError, Name, New, NewKind, Permission, SetAttributes};

pub(super) const ROW: Row = Row {
    code: 18,
    statuses: &[
        HANDLE,
        NAME,
        CHANGE,
        GROWTH,
        STATEID,
        &[
            Status::ATTRNOTSUPP,
            Status::BADOWNER,
            Status::EXIST,
            Status::FBIG,
            Status::ISDIR,
            Status::NO_GRACE,
            Status::PERM,
            Status::RECLAIM_BAD,
            Status::RECLAIM_CONFLICT,
            Status::SHARE_DENIED,
            Status::SYMLINK,
        ],
    ],
    reply_bytes: 88,
};

/// How often a name is looked up again, because it led to another file meanwhile.
const ATTEMPTS: u32 = 8;

/// File to open, of which a hold was taken.
struct Target<F> {
    file: File<F>,
    attributes: Attributes,
    /// Change of the directory.
    change: ChangeInfo,
    /// Attributes that were set.
    set: Bitmap,
    /// What has to be checked and done.
    kind: TargetKind,
    /// Room for the open of a file that was created.
    reserved: Option<OpenReservation>,
}

/// What a target still needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    /// The caller has created it: its mode does not matter.
    Created,
    /// It existed; the caller needs permission.
    Existing,
    /// The same, and it is truncated.
    Truncated,
    /// The caller had it open before a restart.
    Reclaimed,
    /// It was created with the verifier of this creation, perhaps by the caller.
    Recreated,
}

/// Opens a file, which becomes the current one, by a name in the current directory or by the current handle.
pub(super) async fn execute<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &OpenArguments,
) -> Result<Box<OpenOk>, Failure> {
    let client = context.client()?;
    let request = context.state().prepare_open(client, arguments, context.uptime())?;
    let mut target = match &arguments.claim {
        OpenClaim::Null(name) => by_name(context, name, &arguments.how, &request).await?,
        OpenClaim::Previous(_) => by_handle(context, &arguments.how, TargetKind::Reclaimed).await?,
        OpenClaim::Filehandle => by_handle(context, &arguments.how, TargetKind::Existing).await?,
        OpenClaim::DelegateCurrent(_)
        | OpenClaim::DelegatePrevious(_)
        | OpenClaim::DelegateCurrentFilehandle(_)
        | OpenClaim::DelegatePreviousFilehandle => return Err(Status::BAD_STATEID.into()),
    };
    if let Some(reserved) = target.reserved.take() {
        context.state().end_reservation(reserved);
    }
    let opened = grant(context, &request, &target).await?;
    let Target { file, change, set, .. } = target;
    context.set_current(Object::File(file));
    context.stateids.set(opened.stateid);
    Ok(Box::new(OpenOk {
        stateid: opened.stateid,
        change,
        flags: result::LOCKTYPE_POSIX,
        set,
        delegation: delegation(arguments.share_access),
    }))
}

/// Opens a target. Its hold is kept if it is the file's first open.
async fn grant<F: FileSystem>(
    context: &Context<'_, F>,
    request: &OpenRequest,
    target: &Target<F>,
) -> Result<Opened, Failure> {
    let files = target.file.export.files();
    let opened = check_target(context, request, target).and_then(|()| {
        let (client, user) = (context.client()?, target.file.export.permit.caller.user());
        Ok(context.state().open(client, user, request, &target.file.key(), context.uptime())?)
    });
    let opened = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            // An error is the server's: the hold stays due.
            let _kept = context.server.release(target.file.key()).await;
            return Err(failure);
        }
    };
    // Copies of clients without an open may be what it denies, or belong to a client that it revoked.
    context.server.barred_pieces_ended().await;
    if !opened.first {
        let _kept = context.server.release(target.file.key()).await;
    }
    if target.kind == TargetKind::Truncated {
        let set = SetAttributes { size_bytes: Some(0), ..Default::default() };
        let call = context.call(&target.file);
        if let Err(error) = files.set_attributes(call, target.file.id, &set, None).await {
            context.state().undo_open(&opened);
            return Err(error.into());
        }
    }
    Ok(opened)
}

/// Checks kind, export and permissions of a target. Opens of others that deny a truncation are `SHARE_DENIED`.
fn check_target<F: FileSystem>(
    context: &Context<'_, F>,
    request: &OpenRequest,
    target: &Target<F>,
) -> Result<(), Failure> {
    let Target { file, attributes, kind, .. } = target;
    FsError::need_file(attributes.kind)?;
    let (reads, writes) = (request.access() & share_access::READ != 0, request.access() & share_access::WRITE != 0);
    let truncates = *kind == TargetKind::Truncated;
    if (writes || truncates) && file.export.read_only() {
        return Err(Status::ROFS.into());
    }
    let call = context.call(file);
    match kind {
        TargetKind::Created => {}
        // The owner may have taken its own permission away since, or have created the file without it.
        TargetKind::Reclaimed | TargetKind::Recreated => {
            if reads {
                check_read(attributes, call)?;
            }
            if writes {
                check_write(attributes, call)?;
            }
        }
        TargetKind::Existing | TargetKind::Truncated => {
            let permissions = Permissions::of(attributes, call.caller);
            // Programs are read by who executes them.
            if reads && !permissions.execute {
                permissions.check(Permission::Read)?;
            }
            if writes || truncates {
                permissions.check(Permission::Write)?;
            }
        }
    }
    if truncates && !writes {
        let denied = context.state().check_anonymous_io(&file.key(), IoAccess::Write, context.uptime());
        denied.map_err(|_| Status::SHARE_DENIED)?;
    }
    Ok(())
}

/// The current file.
async fn by_handle<F: FileSystem>(
    context: &Context<'_, F>,
    how: &OpenHow,
    kind: TargetKind,
) -> Result<Target<F>, Failure> {
    if *how != OpenHow::NoCreate {
        return Err(Status::INVAL.into());
    }
    let file = context.file()?;
    let attributes = file.export.files().hold(file.id).await?;
    let change = ChangeInfo { atomic: false, before: 0, after: 0 };
    Ok(Target { file, attributes, change, set: Bitmap::EMPTY, kind, reserved: None })
}

/// File of a name in the current directory, which may be created.
async fn by_name<F: FileSystem>(
    context: &Context<'_, F>,
    name: &nfs::v4::Name,
    how: &OpenHow,
    request: &OpenRequest,
) -> Result<Target<F>, Failure> {
    let name = kept(name.clone())?;
    let Object::File(directory) = context.current()? else {
        // Its entries are directories.
        let found = super::lookup::find(context, name.as_bytes().into()).await;
        return Err(match found {
            Ok(_) => Failure::File(FsError::IsDirectory),
            Err(_) if *how != OpenHow::NoCreate => Status::ROFS.into(),
            Err(failure) => failure,
        });
    };
    for _ in 0..ATTEMPTS {
        let attempt = match how {
            OpenHow::NoCreate => existing(context, directory, &name, None).await,
            OpenHow::Create(CreateHow::Unchecked(attributes)) => {
                to_set(attributes, context.minor)?;
                match existing(context, directory, &name, Some(attributes)).await {
                    Err(Failure::File(FsError::NotFound)) => {
                        create(context, directory, &name, attributes, Exclusive::Yes, request).await
                    }
                    found => found,
                }
            }
            OpenHow::Create(CreateHow::Guarded(attributes)) => {
                return create(context, directory, &name, attributes, Exclusive::Yes, request).await;
            }
            OpenHow::Create(CreateHow::Exclusive(verifier)) => {
                let exclusive = Exclusive::Verifier(u64::from_be_bytes(*verifier));
                return create(context, directory, &name, &Fattr::none(), exclusive, request).await;
            }
            OpenHow::Create(CreateHow::ExclusiveWithAttributes(with)) => {
                let exclusive = Exclusive::Verifier(u64::from_be_bytes(with.verifier));
                return create(context, directory, &name, &with.attributes, exclusive, request).await;
            }
        };
        match attempt {
            // The file was removed, or another one created, between two steps.
            Err(Failure::File(FsError::Stale | FsError::Exists { .. })) => {}
            done => return done,
        }
        // A directory that is gone is no such race.
        directory.export.files().attributes(directory.id).await?;
    }
    Err(Status::DELAY.into())
}

/// A file that exists. With `attributes` of an unchecked creation a size of 0 truncates it.
async fn existing<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &File<F>,
    name: &Name,
    attributes: Option<&Fattr>,
) -> Result<Target<F>, Failure> {
    let files = directory.export.files();
    let found = files.lookup(context.call(directory), directory.id, name).await?;
    FsError::need_file(found.file.kind)?;
    let set = attributes.map(|attributes| to_set(attributes, context.minor)).transpose()?;
    let truncates = set.is_some_and(|set| set.size_bytes == Some(0));
    let attributes = files.hold(found.file.file).await?;
    let value = found.directory.change.0;
    Ok(Target {
        file: directory.sibling(attributes.file),
        attributes,
        change: ChangeInfo { atomic: true, before: value, after: value },
        set: if truncates { Bitmap::new([number::SIZE]) } else { Bitmap::EMPTY },
        kind: if truncates { TargetKind::Truncated } else { TargetKind::Existing },
        reserved: None,
    })
}

/// A file that is created, or was created with the same verifier.
async fn create<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &File<F>,
    name: &Name,
    attributes: &Fattr,
    exclusive: Exclusive,
    request: &OpenRequest,
) -> Result<Target<F>, Failure> {
    let set = to_set(attributes, context.minor)?;
    if request.is_reclaim() || directory.export.read_only() {
        return Err(Status::ROFS.into());
    }
    let new = New { what: NewKind::File { exclusive, hold: true }, attributes: set };
    let reserved = context.state().reserve_open(context.client()?, request, context.uptime())?;
    let created = directory.export.files().create(context.call(directory), directory.id, name, &new).await;
    let created = match created {
        Ok(created) => created,
        Err(error) => {
            context.state().end_reservation(reserved);
            return Err(error.into());
        }
    };
    Ok(Target {
        file: directory.sibling(created.file.file),
        attributes: created.file,
        change: change(&created.directory),
        set: attributes.mask,
        kind: if created.created { TargetKind::Created } else { TargetKind::Recreated },
        reserved: Some(reserved),
    })
}
