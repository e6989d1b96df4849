//! WRITE SAME (41h, 93h), SBC-3 §5.45 and §5.46.

mod anchor_without_unmap;
mod beyond_the_end;
mod eager_zeroing;
mod no_blocks;
mod pattern;
mod reserved_by_another;
mod ten_byte_command;
mod too_many_blocks;
mod unmap_pattern;
mod unmap_zeros;
mod wrong_length;
mod zeros;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &anchor_without_unmap::CHECK,
    &beyond_the_end::CHECK,
    &eager_zeroing::CHECK,
    &no_blocks::CHECK,
    &pattern::CHECK,
    &reserved_by_another::CHECK,
    &ten_byte_command::CHECK,
    &too_many_blocks::CHECK,
    &unmap_pattern::CHECK,
    &unmap_zeros::CHECK,
    &wrong_length::CHECK,
    &zeros::CHECK,
];
