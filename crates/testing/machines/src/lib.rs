//! Tests of the array with virtual machines, and beside targets of other projects. `cargo xtask`
//! has a command for each module; none is part of `cargo xtask ci`.
//!
//! * [`power_cut`]: the power of a whole machine is cut; its disk loses writes that were not
//!   flushed.
//! * [`enospc`]: a pool fills up under a guest, which pauses until the pool grows.
//! * [`vm`]: the Linux kernel as a host.
//! * [`targets`]: this array, tgt, istgt and LIO, started alike; [`peers`] runs the host kit
//!   against them.
//! * [`fsx`]: random operations on a file, for hosts and guests.
//!
//! The guests share `qemu`, `initramfs` and `modules`.
#![forbid(unsafe_code)]

mod initramfs;
mod modules;
mod qemu;

pub mod enospc;
pub mod fsx;
pub mod peers;
pub mod power_cut;
pub mod targets;
pub mod vm;

use array_process::{tally, workspace};
