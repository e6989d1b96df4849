//! SETATTR, RFC 8881 §18.30.

use super::context::Context;
use super::row::{CHANGE, GROWTH, HANDLE, Row, STATEID};
use super::stateids::{Use, state_check};
use crate::attributes::to_set;
use crate::failure::Failure;
use nfs::v4::attributes::{SetAttributesArguments, SetAttributesResults};
use nfs::v4::{Bitmap, HasStatus, Status};
use vfs::{Call, FileSystem};

pub(super) const ROW: Row = Row {
    code: 34,
    statuses: &[
        HANDLE,
        STATEID,
        CHANGE,
        GROWTH,
        &[Status::ATTRNOTSUPP, Status::BADCHAR, Status::BADOWNER, Status::FBIG, Status::PERM],
    ],
    reply_bytes: 24,
};

/// Sets attributes, all or none, and returns their numbers. The stateid is of interest to the size alone.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &SetAttributesArguments,
) -> Result<Bitmap, Failure> {
    let file = context.file()?;
    let set = to_set(&arguments.attributes, context.minor)?;
    let mut call = context.call(&file);
    if set.size_bytes.is_some() {
        let right = state_check(context, &arguments.stateid, Use::Write)?;
        call = Call { right, ..call };
    }
    file.export.files().set_attributes(call, file.id, &set, None).await?;
    Ok(arguments.attributes.mask)
}

/// The set is there in failures, too.
pub(super) fn results(set: Result<Bitmap, Status>) -> SetAttributesResults {
    match set {
        Ok(set) => SetAttributesResults { status: Ok(()), set },
        Err(status) => SetAttributesResults::failed(status),
    }
}
