//! DUMP, RFC 1813 appendix I §5.2.2.

use super::mounts::Mounts;
use super::sees;
use crate::v3::context::Context;
use nfs::mount::MountEntry;
use std::cell::RefCell;

/// The mounts of those shares that the caller may use.
pub(super) fn execute<F>(context: &Context<'_, F>, mounts: &RefCell<Mounts>) -> Vec<MountEntry> {
    let (shares, mounts) = (context.shares(), mounts.borrow());
    let visible = mounts.iter().filter(|mounted| {
        let share = shares.by_object(mounted.object);
        share.is_some_and(|share| sees(context, share))
    });
    visible
        .map(|mounted| MountEntry {
            host: mounted.client.to_string().as_str().into(),
            directory: mounted.path.clone().into(),
        })
        .collect()
}
