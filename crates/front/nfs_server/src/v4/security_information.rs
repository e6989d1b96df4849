//! SECINFO and SECINFO_NO_NAME, RFC 8881 §18.29 and §18.45.

use super::context::Context;
use super::row::{HANDLE, NAME, Row};
use super::{lookup, lookup_parent};
use crate::failure::Failure;
use nfs::v4::names::{SecurityFlavor, SecurityFlavors, SecurityStyle};
use nfs::v4::{Name, Status};
use onc_rpc::auth::Flavor;
use vfs::FileSystem;

pub(super) const SECINFO: Row = Row { code: 33, statuses: &[HANDLE, NAME, &[Status::SYMLINK]], reply_bytes: 20 };

pub(super) const SECINFO_NO_NAME: Row =
    Row { code: 52, statuses: &[HANDLE, &[Status::INVAL, Status::NOENT, Status::NOTDIR]], reply_bytes: 20 };

/// Tells the flavors for a name. There is no current handle afterwards.
pub(super) async fn execute<F: FileSystem>(
    context: &mut Context<'_, F>,
    name: Name,
) -> Result<SecurityFlavors, Failure> {
    lookup::find(context, name).await?;
    context.clear_current();
    Ok(flavors())
}

/// Tells the flavors for the current object or its parent. There is no current handle afterwards.
pub(super) async fn execute_no_name<F: FileSystem>(
    context: &mut Context<'_, F>,
    style: SecurityStyle,
) -> Result<SecurityFlavors, Failure> {
    if style == SecurityStyle::Parent {
        lookup_parent::find(context).await?;
    }
    context.clear_current();
    Ok(flavors())
}

/// All flavors, the preferred one first. They are the same everywhere.
fn flavors() -> SecurityFlavors {
    [Flavor::SYS, Flavor::NONE].map(|flavor| SecurityFlavor::Other(flavor.0)).to_vec().into()
}
