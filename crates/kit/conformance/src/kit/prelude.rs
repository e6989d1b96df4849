//! Names that nearly every check uses.

pub(super) use std::time::{Duration, Instant};

pub(super) use ::iscsi::initiator::TransferRequest;
pub(super) use ::iscsi::pdu::TaskManagementFunction;

pub(super) use super::answer::Answer;
pub(super) use super::bench::{A, A2, B, BLOCK, Bench, C, Path, Task};
pub(super) use super::check::{
    Check, Need, NotPassed, Verdict, check, expect, expect_bytes, expect_equal, failed, hex, skipped,
};
pub(super) use super::compare_and_write::support::*;
pub(super) use super::discovery::support::*;
pub(super) use super::extended_copy::support::*;
pub(super) use super::iscsi::support::*;
pub(super) use super::reservations::support as pr;
pub(super) use super::thin::support::*;
pub(super) use super::unmap::support::*;
pub(super) use super::wire::{Pdu, Received, Wire};
pub(super) use crate::cdb::{self, CopySegment};
pub(super) use crate::commands::{Compared, GOOD};
