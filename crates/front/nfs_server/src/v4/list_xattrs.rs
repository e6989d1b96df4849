//! LISTXATTRS, RFC 8276 §8.4.3.

use super::context::Context;
use super::get_xattr::supporting_file;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::xattr::{ListArguments, ListOk};
use nfs::v4::{Name, Status};
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 74,
    statuses: &[HANDLE, &[Status::BAD_COOKIE, Status::INVAL, Status::TOOSMALL, Status::WRONG_TYPE]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Length of a `LISTXATTRS4resok` without names: cookie, count, eof.
const OK_BYTES: usize = 16;

/// Lists names of extended attributes in their order. A cookie is the number of names before it.
///
/// * `BAD_COOKIE`: there are not so many names. `TOOSMALL`: no room for one name.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ListArguments,
) -> Result<ListOk, Failure> {
    let file = supporting_file(context)?;
    let names = file.export.files().xattr_names(context.call(&file), file.id).await?;
    let first = usize::try_from(arguments.cookie).unwrap_or(usize::MAX);
    let left = names.get(first..).ok_or(Status::BAD_COOKIE)?;
    let most = usize::try_from(arguments.max_count_bytes).unwrap_or(usize::MAX);
    let most = most.min(context.room_bytes.saturating_sub(NO_RESULTS_BYTES));
    let mut room = most.checked_sub(OK_BYTES).ok_or(Status::TOOSMALL)?;
    let mut listed: Vec<Name> = Vec::new();
    for name in left {
        let name = name.as_bytes();
        let Some(rest) = room.checked_sub(4 + name.len().next_multiple_of(4)) else { break };
        room = rest;
        listed.push(name.into());
    }
    let eof = listed.len() == left.len();
    if listed.is_empty() && !eof {
        return Err(Status::TOOSMALL.into());
    }
    let cookie = arguments.cookie.saturating_add(listed.len() as u64);
    Ok(ListOk { cookie, names: listed.into(), eof })
}
