//! Command numbering at the target (RFC 7143 §4.2.2.1): ExpCmdSN, the window of CmdSNs, commands
//! that arrived before their turn, and the PDUs that only their turn distinguishes.

use super::{Connection, Directory, Phase, TaskHandle};
use crate::framing::Pdu;
use crate::pdu::{self, BasicHeader, LogoutReason, LogoutRequest, NopOut, Opcode, RejectReason, TextRequest};
use std::collections::VecDeque;

/// Command that arrived before its turn.
#[derive(Debug)]
pub(super) enum Held {
    /// A SCSI command that is already in the task table.
    Task(TaskHandle),
    /// Another command.
    Pdu(Pdu),
    /// A command that was aborted before it arrived.
    Aborted,
}

/// Position of a CmdSN.
pub(super) enum Turn {
    Now,
    /// Distance after ExpCmdSN.
    Later(usize),
    Never,
}

/// Window of CmdSNs, and the commands in it that arrived before their turn.
#[derive(Debug, Default)]
pub(super) struct CommandWindow {
    exp_cmd_sn: u32,
    max_cmd_sn: u32,
    /// Index 0 corresponds to ExpCmdSN and is empty.
    held: VecDeque<Option<Held>>,
}

impl CommandWindow {
    /// Window of a new session, whose first request has this CmdSN.
    pub fn start(&mut self, cmd_sn: u32, width: u32) {
        self.exp_cmd_sn = cmd_sn;
        self.max_cmd_sn = cmd_sn.wrapping_add(width).wrapping_sub(1);
    }

    pub fn exp_cmd_sn(&self) -> u32 {
        self.exp_cmd_sn
    }

    pub fn max_cmd_sn(&self) -> u32 {
        self.max_cmd_sn
    }

    /// Turn of a command.
    pub fn turn(&self, immediate: bool, cmd_sn: u32) -> Turn {
        if immediate {
            return Turn::Now;
        }
        let distance = cmd_sn.wrapping_sub(self.exp_cmd_sn);
        let window = self.max_cmd_sn.wrapping_sub(self.exp_cmd_sn).wrapping_add(1);
        if distance >= window {
            return Turn::Never;
        }
        let taken = |slot: &Option<Held>| slot.is_some();
        if distance == 0 {
            Turn::Now
        } else if self.held.get(distance as usize).is_some_and(taken) {
            Turn::Never
        } else {
            Turn::Later(distance as usize)
        }
    }

    /// Keeps a command until its turn, `distance` after ExpCmdSN.
    pub fn hold(&mut self, distance: usize, held: Held) {
        while self.held.len() <= distance {
            self.held.push_back(None);
        }
        if let Some(slot) = self.held.get_mut(distance) {
            *slot = Some(held);
        }
    }

    /// Bytes of data in held PDUs. SCSI commands are excluded: they are charged as tasks.
    fn held_bytes(&self) -> usize {
        let bytes = |held: &Option<Held>| match held {
            Some(Held::Pdu(pdu)) => pdu.data.len(),
            Some(Held::Task(_) | Held::Aborted) | None => 0,
        };
        self.held.iter().map(bytes).sum()
    }

    /// Whether commands wait for an earlier one.
    pub fn holds_any(&self) -> bool {
        self.held.iter().any(Option::is_some)
    }

    /// Drops the held commands.
    pub fn clear(&mut self) {
        self.held = VecDeque::new();
    }

    /// Records the arrival of ExpCmdSN, and returns the command that was held for it.
    fn advance(&mut self) -> Option<Held> {
        self.exp_cmd_sn = self.exp_cmd_sn.wrapping_add(1);
        self.held.pop_front().flatten()
    }

    /// Whether the next command has arrived already.
    fn next_is_held(&self) -> bool {
        matches!(self.held.front(), Some(Some(_)))
    }

    /// Raises MaxCmdSN to this width; it never decreases.
    fn open(&mut self, width: u32) {
        let candidate = self.exp_cmd_sn.wrapping_add(width).wrapping_sub(1);
        if pdu::sn_before(self.max_cmd_sn, candidate) {
            self.max_cmd_sn = candidate;
        }
    }
}

impl Connection {
    /// Records the arrival of ExpCmdSN.
    pub(super) fn advance_cmd_sn(&mut self) -> Option<Held> {
        let held = self.window.advance();
        self.open_window();
        held
    }

    /// Executes the held commands whose turn has come.
    pub(super) fn drain_held(&mut self, directory: &dyn Directory) {
        while matches!(self.phase, Phase::FullFeature) && self.window.next_is_held() {
            match self.advance_cmd_sn() {
                Some(Held::Task(task)) => self.begin_task(task),
                Some(Held::Pdu(pdu)) => self.execute(pdu, directory),
                Some(Held::Aborted) | None => {}
            }
        }
    }

    /// Raises MaxCmdSN as far as there is room for tasks.
    pub(super) fn open_window(&mut self) {
        self.window.open(self.config.window_width(self.tasks.len()));
    }

    /// Handles NOP-Out, task management, text and logout.
    pub(super) fn handle_numbered(&mut self, pdu: Pdu, directory: &dyn Directory) {
        // All of them have CmdSN in the same place.
        let header = NopOut::from_wire(&pdu.header);
        let immediate = header.opcode & pdu::IMMEDIATE != 0;
        match self.window.turn(immediate, header.cmd_sn.get()) {
            Turn::Never => self.counters.commands_dropped += 1,
            Turn::Later(_) if self.window.held_bytes() + pdu.data.len() > self.config.max_output_bytes => {
                self.fatal(RejectReason::PROTOCOL_ERROR, &pdu.header, "too much data ahead of its turn");
            }
            Turn::Later(distance) => self.window.hold(distance, Held::Pdu(pdu.copied())),
            Turn::Now => {
                if !immediate {
                    self.advance_cmd_sn();
                }
                self.execute(pdu, directory);
                if !immediate {
                    self.drain_held(directory);
                }
            }
        }
    }

    fn execute(&mut self, pdu: Pdu, directory: &dyn Directory) {
        match BasicHeader::from_wire(&pdu.header).opcode() {
            Opcode::NOP_OUT => self.handle_nop_out(&pdu),
            Opcode::TASK_MANAGEMENT_REQUEST => self.handle_task_management(&pdu, directory),
            Opcode::TEXT_REQUEST => self.handle_text(&TextRequest::from_wire(&pdu.header), &pdu, directory),
            _ => {
                let header = LogoutRequest::from_wire(&pdu.header);
                let reason = LogoutReason(header.flags & 0x7F);
                self.begin_logout(header.initiator_task_tag.get(), reason, header.cid.get());
            }
        }
    }
}
