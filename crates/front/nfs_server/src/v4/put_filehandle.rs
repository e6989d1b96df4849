//! PUTFH, RFC 8881 §18.19.

use super::context::Context;
use super::object::{File, Object, export};
use super::row::{NO_RESULTS_BYTES, Row};
use super::server::{Found, HandleError};
use crate::failure::Failure;
use nfs::v4::{Filehandle, Status};
use vfs::FileSystem;

/// `ACCESS` is not in RFC 8881 §15.2: a caller that lost the permission for a share gets it here, as the
/// handle itself is good.
pub(super) const ROW: Row =
    Row { code: 22, statuses: &[&[Status::ACCESS, Status::BADHANDLE, Status::STALE]], reply_bytes: NO_RESULTS_BYTES };

/// Makes a handle the current one. Whether its file still exists is found by the operation that uses it.
pub(super) fn execute<F: FileSystem>(context: &mut Context<'_, F>, handle: &Filehandle) -> Result<(), Failure> {
    let object = match context.server.resolve(handle) {
        Err(HandleError::Bad) => return Err(Status::BADHANDLE.into()),
        Err(HandleError::Stale) => return Err(Status::STALE.into()),
        Ok(Found::PseudoRoot) => Object::PseudoRoot,
        Ok(Found::File(share, id)) => Object::File(File { export: export(&share, &context.caller)?, id }),
    };
    context.set_current(object);
    Ok(())
}
