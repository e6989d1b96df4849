//! The host's data mover. It offloads cloning, zeroing and freeing to the array if the array can
//! (EXTENDED COPY, WRITE SAME, UNMAP), and reads and writes itself otherwise. For every operation
//! it reports how many bytes the array moved, how many the host moved, and why.
//!
//! [`Device`] is a logical unit as a host sees it; the mover and the locks know no protocol.
//! [`memory::MemoryDevice`] is a device for tests, in memory, from which any primitive can be
//! removed.
#![forbid(unsafe_code)]

mod clock;
mod device;
mod foreground;
mod lock;
pub mod memory;
mod mover;
mod patient;
mod range_lock;
mod settings;
mod tally;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests;
pub mod virtual_time;

pub use clock::Clock;
pub use device::{Compared, CopyDescriptor, Device, DeviceError, Extent, Gate, Identity, LbaStatus, Limits, Sense};
pub use foreground::GuestIo;
pub use lock::{Locking, UpdateError};
pub use mover::DataMover;
pub use patient::{Patient, Permit};
pub use range_lock::{RangeGuard, RangeLock};
pub use settings::Settings;
pub use tally::{Moved, Reason, Tally};
