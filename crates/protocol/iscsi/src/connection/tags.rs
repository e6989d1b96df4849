//! Tags that are not those of tasks in progress: Target Transfer Tags that the target assigns, and
//! Initiator Task Tags of commands that have ended.

use crate::pdu::RESERVED_TAG;
use std::collections::VecDeque;

/// Initiator Task Tags remembered to recognise late Data-Out.
const DISCARDED_TAGS: usize = 1024;

/// Tags of one connection.
#[derive(Debug, Default)]
pub(super) struct Tags {
    next_target_transfer_tag: u32,
    /// Initiator Task Tags whose late Data-Out is dropped silently.
    discarded: VecDeque<u32>,
}

impl Tags {
    /// Assigns a Target Transfer Tag, which is never the reserved one.
    pub fn new_target_transfer_tag(&mut self) -> u32 {
        self.next_target_transfer_tag = self.next_target_transfer_tag.wrapping_add(1);
        if self.next_target_transfer_tag == RESERVED_TAG {
            self.next_target_transfer_tag = 0;
        }
        self.next_target_transfer_tag
    }

    /// Remembers a command whose Data-Out may still arrive.
    pub fn discard(&mut self, initiator_task_tag: u32) {
        if self.discarded.len() >= DISCARDED_TAGS {
            self.discarded.pop_front();
        }
        self.discarded.push_back(initiator_task_tag);
    }

    /// Whether Data-Out with this tag may be late.
    pub fn is_discarded(&self, initiator_task_tag: u32) -> bool {
        self.discarded.contains(&initiator_task_tag)
    }
}
