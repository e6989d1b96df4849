//! Locks of a copy between two units, or within one: EXTENDED COPY of SCSI, Copy of NVMe.

use crate::extents::{ExtentGuard, LockMode};
use crate::unit::Unit;
use block::Extent;

/// Locks the blocks of both ends, the lower volume number first: two copies in opposite
/// directions do not wait for each other. `at_once`: the copy is one step of the device.
pub async fn lock_copy<'a, D>(
    source: &'a Unit<D>,
    from: Extent,
    destination: &'a Unit<D>,
    to: Extent,
    at_once: bool,
) -> [Option<ExtentGuard<'a>>; 2] {
    let (reading, writing) =
        if at_once { (LockMode::Read, LockMode::Write) } else { (LockMode::Scan, LockMode::Update) };
    if source.volume() == destination.volume() {
        return [Some(source.extents.lock(writing, &[from, to]).await), None];
    }
    let read = || source.extents.lock(reading, std::slice::from_ref(&from));
    let write = || destination.extents.lock(writing, std::slice::from_ref(&to));
    if source.volume() < destination.volume() {
        let first = read().await;
        [Some(first), Some(write().await)]
    } else {
        let first = write().await;
        [Some(first), Some(read().await)]
    }
}
