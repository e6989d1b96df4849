//! Sizes at, below and above each limit that a target announces; numbers from 224. With
//! `--thorough`, also every power of two below the limit and its neighbours.

mod compare_and_write;
mod lba_status;
mod segments;
pub(super) mod support;
mod unmap;
mod write_same;

use super::check::Check;

pub(super) const CHECKS: &[&Check] =
    &[&compare_and_write::CHECK, &lba_status::CHECK, &segments::CHECK, &unmap::CHECK, &write_same::CHECK];
