//! PUTROOTFH and PUTPUBFH, RFC 8881 §18.21 and §18.20: the public handle is the root.

use super::context::Context;
use super::object::Object;
use super::row::{NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use vfs::FileSystem;

pub(super) const PUTPUBFH: Row = Row { code: 23, statuses: &[], reply_bytes: NO_RESULTS_BYTES };

pub(super) const PUTROOTFH: Row = Row { code: 24, statuses: &[], reply_bytes: NO_RESULTS_BYTES };

/// Makes the pseudo root the current object.
pub(super) fn execute<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Failure> {
    context.set_current(Object::PseudoRoot);
    Ok(())
}
