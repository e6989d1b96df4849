//! ACCESS, RFC 8881 §18.1; the bits of extended attributes, RFC 8276 §8.3.

use super::context::Context;
use super::object::Object;
use super::row::{HANDLE, Row};
use super::subject::pseudo_attributes;
use crate::failure::Failure;
use crate::permissions::{granted, meaningful};
use nfs::v4::Status;
use nfs::v4::handles::{AccessArguments, AccessOk};
use vfs::{Caller, FileSystem};

pub(super) const ROW: Row = Row { code: 3, statuses: &[HANDLE, &[Status::INVAL]], reply_bytes: 16 };

/// Bits of each minor version.
const BITS: u32 = 0x3f;
const BITS_IN_2: u32 = 0x1ff;

/// Tells which of the wanted permissions the caller has. A bit that the minor version does not have is
/// `INVAL`.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &AccessArguments,
) -> Result<AccessOk, Failure> {
    let wanted = arguments.access;
    if wanted & !(if context.minor >= 2 { BITS_IN_2 } else { BITS }) != 0 {
        return Err(Status::INVAL.into());
    }
    let (kind, has) = match context.current()? {
        Object::PseudoRoot => {
            let root = pseudo_attributes(context);
            (root.kind, granted(&root, &Caller::root(), true))
        }
        Object::File(file) => {
            let attributes = file.export.files().attributes(file.id).await?;
            (attributes.kind, granted(&attributes, &file.export.permit.caller, file.export.read_only()))
        }
    };
    Ok(AccessOk { supported: wanted & meaningful(kind), access: wanted & has })
}
