//! TEST_STATEID, RFC 8881 §18.48.

use super::context::Context;
use super::row::{NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::session::{TestStateidArguments, TestStateidOk};
use vfs::FileSystem;

pub(super) const ROW: Row = Row { code: 55, statuses: &[], reply_bytes: NO_RESULTS_BYTES };

/// Tells the status of each stateid.
pub(super) fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    stateids: &TestStateidArguments,
) -> Result<TestStateidOk, Failure> {
    Ok(context.state().test_stateid(context.client()?, stateids).into())
}
