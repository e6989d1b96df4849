//! Attributes of what a handle names, with all that was asked for.

use super::context::Context;
use super::object::{Export, Object};
use crate::attributes::{Place, Subject, needs_capacity, needs_space};
use crate::pseudo;
use nfs::v4::{Bitmap, FileSystemId, Filehandle};
use vfs::{Attributes, Capacity, FileSystem, FsError, Space};

/// An object's attributes, and what else its attributes on the wire contain.
pub(super) struct Gathered {
    place: Place,
    file: Attributes,
    handle: Filehandle,
    mounted_on: u64,
    space: Space,
}

impl Gathered {
    /// The attributes, for the wire.
    pub fn subject(&self) -> Subject<'_> {
        let Self { place, file, handle, mounted_on, space } = self;
        Subject { place, file, handle, mounted_on: *mounted_on, space: *space }
    }
}

/// Reads the attributes of an object, and what else the wanted ones need.
pub(super) async fn gather<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<F>,
    wanted: &Bitmap,
) -> Result<Gathered, FsError> {
    let handle = object.handle(context.server.handle_key());
    let mounted_on = object.mounted_on().0;
    let Object::File(file) = object else {
        return Ok(Gathered {
            place: pseudo_place(context),
            file: pseudo_attributes(context),
            handle,
            mounted_on,
            space: Space::default(),
        });
    };
    let files = file.export.files();
    let attributes = files.attributes(file.id).await?;
    let space = if needs_space(wanted) { files.space(file.id).await? } else { Space::default() };
    let place = place(context, &file.export, wanted).await?;
    Ok(Gathered { place, file: attributes, handle, mounted_on, space })
}

/// Facts of a share's file system.
pub(super) async fn place<F: FileSystem>(
    context: &Context<'_, F>,
    export: &Export<F>,
    wanted: &Bitmap,
) -> Result<Place, FsError> {
    let files = export.files();
    let capacity = if needs_capacity(wanted) { files.capacity().await? } else { Capacity::default() };
    Ok(Place {
        fsid: export.share.fsid.clone(),
        limits: files.limits(),
        lease_seconds: lease_seconds(context),
        minor: context.minor,
        xattrs: true,
        capacity,
    })
}

/// Facts of the pseudo file system.
fn pseudo_place<F: FileSystem>(context: &Context<'_, F>) -> Place {
    Place {
        fsid: FileSystemId { major: 0, minor: 0 },
        limits: pseudo::LIMITS,
        lease_seconds: lease_seconds(context),
        minor: context.minor,
        xattrs: false,
        capacity: Capacity::default(),
    }
}

/// Attributes of the pseudo root, as this caller sees it.
pub(super) fn pseudo_attributes<F: FileSystem>(context: &Context<'_, F>) -> Attributes {
    let shares = context.server.shares().borrow();
    let visible = pseudo::entries(&shares, context.caller.connection.client, context.caller.credential).len();
    pseudo::attributes(&shares, visible)
}

fn lease_seconds<F: FileSystem>(context: &Context<'_, F>) -> u32 {
    u32::try_from(context.state().lease().as_secs()).unwrap_or(u32::MAX)
}
