//! ACCESS, RFC 1813 §3.3.4.

use super::context::Context;
use super::failure::{Outcome, Reason};
use crate::permissions::granted;
use nfs::v3::access::{DELETE, EXECUTE, EXTEND, LOOKUP, MODIFY, READ};
use nfs::v3::{AccessArguments, AccessOk, Attributes};
use vfs::FileSystem;

/// Permissions that NFSv3 has.
const ALL: u32 = READ | LOOKUP | MODIFY | EXTEND | DELETE | EXECUTE;

/// Tells which of the wanted permissions the caller has. Unknown ones are those that nobody has.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &AccessArguments,
) -> Outcome<AccessOk, Option<Attributes>> {
    let file = context.file(&arguments.file)?;
    match file.files().attributes(file.id).await {
        Ok(attributes) => {
            let has = granted(&attributes, file.call().caller, file.read_only());
            Ok(AccessOk { attributes: Some(file.wire(&attributes)), access: arguments.access & ALL & has })
        }
        Err(error) => Err(Reason::from(error).with(None)),
    }
}
