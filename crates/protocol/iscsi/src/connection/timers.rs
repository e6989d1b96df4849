//! Timers of a connection: login, pings of a silent initiator (NOP-In, RFC 7143 §11.19), and a
//! requested logout.

use super::{CloseReason, Config, Connection, Phase};
use crate::framing::Pdu;
use crate::pdu::{self, LoginStatus, NopIn, NopOut, Opcode, RESERVED_TAG};
use std::time::{Duration, Instant};

/// Deadlines, and the time of the last input.
#[derive(Debug)]
pub(super) struct Timers {
    login_deadline: Option<Instant>,
    logout_deadline: Option<Instant>,
    last_received: Instant,
    ping: Option<Ping>,
}

#[derive(Clone, Copy, Debug)]
struct Ping {
    target_transfer_tag: u32,
    sent: Instant,
}

impl Timers {
    /// Timers of a new connection.
    pub fn new(now: Instant, config: &Config) -> Self {
        let login_deadline = now.checked_add(config.login_timeout);
        Self { login_deadline, logout_deadline: None, last_received: now, ping: None }
    }

    pub fn received(&mut self, now: Instant) {
        self.last_received = now;
    }

    pub fn login_ended(&mut self) {
        self.login_deadline = None;
    }

    pub fn set_logout_deadline(&mut self, now: Instant, seconds: u16) {
        self.logout_deadline = now.checked_add(Duration::from_secs(u64::from(seconds)));
    }

    /// Withdraws all deadlines.
    pub fn clear(&mut self) {
        self.login_deadline = None;
        self.logout_deadline = None;
    }

    fn login_is_late(&self, now: Instant) -> bool {
        self.login_deadline.is_some_and(|deadline| now >= deadline)
    }

    fn logout_is_late(&self, now: Instant) -> bool {
        self.logout_deadline.is_some_and(|deadline| now >= deadline)
    }

    /// Whether nothing was received since the last ping.
    fn awaits_pong(&self) -> bool {
        self.ping.is_some_and(|ping| self.last_received < ping.sent)
    }

    /// End of the silence that is permitted now.
    fn keepalive_due(&self, config: &Config) -> Option<Instant> {
        match self.ping {
            Some(ping) if self.last_received < ping.sent => ping.sent.checked_add(config.keepalive_timeout),
            _ => self.last_received.checked_add(config.keepalive_interval),
        }
    }

    /// Records the answer to a ping.
    fn pong(&mut self, target_transfer_tag: u32) {
        if self.ping.is_some_and(|ping| ping.target_transfer_tag == target_transfer_tag) {
            self.ping = None;
        }
    }
}

impl Connection {
    /// Executes the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.is_closed() {
            return;
        }
        if self.timers.login_is_late(now) {
            return match self.phase {
                // The initiator is not late: the session before this one has not ended yet.
                Phase::Opening(_) => self.reject_login(LoginStatus::SERVICE_UNAVAILABLE),
                _ => self.end(CloseReason::LoginTimeout),
            };
        }
        if self.timers.logout_is_late(now) {
            return self.end(CloseReason::LogoutTimeout);
        }
        if self.keepalive_due().is_none_or(|due| now < due) {
            return;
        }
        if self.is_input_held_back() {
            // PDUs may wait in the transport, and only the transport can detect whether output
            // still flows.
            self.timers.received(now);
            return;
        }
        if self.timers.awaits_pong() {
            return self.end(CloseReason::KeepaliveTimeout);
        }
        let target_transfer_tag = self.tags.new_target_transfer_tag();
        self.timers.ping = Some(Ping { target_transfer_tag, sent: now });
        let mut header = NopIn::from_wire(&pdu::blank(Opcode::NOP_IN.0, pdu::FINAL, RESERVED_TAG));
        header.target_transfer_tag = target_transfer_tag.into();
        header.stat_sn = self.outbound.stat_sn().into();
        header.exp_cmd_sn = self.window.exp_cmd_sn().into();
        header.max_cmd_sn = self.window.max_cmd_sn().into();
        self.outbound.push_header(header.to_wire());
    }

    /// Time at which [`Self::handle_timeout`] is due. Every call of another method may change it.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_closed() {
            return None;
        }
        [self.timers.login_deadline, self.timers.logout_deadline, self.keepalive_due()].into_iter().flatten().min()
    }

    fn keepalive_due(&self) -> Option<Instant> {
        if !self.is_full_feature() || self.config.keepalive_interval.is_zero() {
            return None;
        }
        self.timers.keepalive_due(&self.config)
    }

    pub(super) fn handle_nop_out(&mut self, pdu: &Pdu) {
        let header = NopOut::from_wire(&pdu.header);
        self.timers.pong(header.target_transfer_tag.get());
        let initiator_task_tag = header.initiator_task_tag.get();
        if initiator_task_tag == RESERVED_TAG {
            return;
        }
        let most = self.parameters.initiator_max_recv_data_segment_length as usize;
        let data = pdu.data.get(..most).unwrap_or(&pdu.data);
        let mut answer = NopIn::from_wire(&pdu::blank(Opcode::NOP_IN.0, pdu::FINAL, initiator_task_tag));
        answer.target_transfer_tag = RESERVED_TAG.into();
        answer.lun = header.lun;
        answer.stat_sn = self.outbound.advance_stat_sn().into();
        answer.exp_cmd_sn = self.window.exp_cmd_sn().into();
        answer.max_cmd_sn = self.window.max_cmd_sn().into();
        // Copied, so that the counted size is the kept size: the receive buffer is larger than the
        // ping.
        self.outbound.push_slice(answer.to_wire(), data);
    }
}
