//! CREATE, RFC 1813 §3.3.8.

use super::context::{Context, File};
use super::creation;
use super::failure::{Outcome, Reason};
use super::wire;
use crate::reservations::Access;
use nfs::v3::{CreateArguments, CreateHow, CreateOk, WccData};
use vfs::{Exclusive, FileSystem, FsError, Name, New, NewKind, SetAttributes};

/// Creates a regular file. The verifier of an exclusive creation is kept beside the attributes, so that
/// times are ordinary ones.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CreateArguments,
) -> Outcome<CreateOk, WccData> {
    creation::create(context, &arguments.entry, async |directory, name| {
        let (exclusive, attributes) = match &arguments.how {
            CreateHow::Unchecked(attributes) => (Exclusive::No, wire::to_set(attributes)?),
            CreateHow::Guarded(attributes) => (Exclusive::Yes, wire::to_set(attributes)?),
            CreateHow::Exclusive(verifier) => {
                (Exclusive::Verifier(u64::from_be_bytes(*verifier)), SetAttributes::default())
            }
        };
        if exclusive == Exclusive::No && attributes.size_bytes == Some(0) {
            check_truncation(context, directory, name).await?;
        }
        Ok(New { what: NewKind::File { exclusive, hold: false }, attributes })
    })
    .await
}

/// An existing file is truncated, which share reservations may deny.
async fn check_truncation<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &File<'_, F>,
    name: &Name,
) -> Result<(), Reason> {
    match directory.files().lookup(directory.call(), directory.id, name).await {
        Ok(found) => Ok(context.check_reservations(directory, found.file.file, Access::Write)?),
        Err(FsError::NotFound) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
