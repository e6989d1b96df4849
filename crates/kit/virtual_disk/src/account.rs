//! Account of a command: who moved how many bytes, and why, and the traffic on the wire.

use crate::kit::Kit;
use data_mover::{Moved, Reason, Tally};
use initiator::Counters;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Snapshot of all counters, against which later work is counted.
#[derive(Clone, Debug)]
pub struct Account {
    started: Instant,
    tally: Tally,
    counters: Counters,
}

/// Work done since an [`Account`] was opened.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    /// Elapsed time.
    pub time: Duration,
    /// Work of the data mover and the locks.
    pub tally: Tally,
    /// SCSI commands sent.
    pub commands: u64,
    /// TCP payload sent, in bytes.
    pub sent_bytes: u64,
    /// TCP payload received, in bytes.
    pub received_bytes: u64,
}

fn since(now: &BTreeMap<Reason, u64>, then: &BTreeMap<Reason, u64>) -> BTreeMap<Reason, u64> {
    let bytes = now.iter().map(|(reason, bytes)| {
        let before = then.get(reason).copied().unwrap_or(0);
        (*reason, bytes.saturating_sub(before))
    });
    bytes.filter(|(_, bytes)| *bytes > 0).collect()
}

fn moved_since(now: &Moved, then: &Moved) -> Moved {
    Moved {
        offloaded_bytes: now.offloaded_bytes.saturating_sub(then.offloaded_bytes),
        by_host: since(&now.by_host, &then.by_host),
    }
}

fn by_reason(bytes: &BTreeMap<Reason, u64>) -> Vec<Value> {
    bytes.iter().map(|(reason, bytes)| json!({"reason": reason.to_string(), "bytes": bytes})).collect()
}

impl Account {
    /// Begins to count.
    pub fn open(kit: &Kit) -> Self {
        Self { started: Instant::now(), tally: kit.mover().tally(), counters: kit.counters() }
    }

    /// Work done since the account was opened.
    pub fn spent(&self, kit: &Kit) -> Spent {
        let (now, then) = (kit.mover().tally(), &self.tally);
        let counters = kit.counters();
        Spent {
            time: self.started.elapsed(),
            tally: Tally {
                copied: moved_since(&now.copied, &then.copied),
                zeroed: moved_since(&now.zeroed, &then.zeroed),
                unmapped_bytes: now.unmapped_bytes.saturating_sub(then.unmapped_bytes),
                not_unmapped: since(&now.not_unmapped, &then.not_unmapped),
                atomic_updates: now.atomic_updates.saturating_sub(then.atomic_updates),
                reserved_updates: now.reserved_updates.saturating_sub(then.reserved_updates),
                miscompares: now.miscompares.saturating_sub(then.miscompares),
                reservation_conflicts: now.reservation_conflicts.saturating_sub(then.reservation_conflicts),
                reservations_broken: now.reservations_broken.saturating_sub(then.reservations_broken),
            },
            commands: counters.commands.saturating_sub(self.counters.commands),
            sent_bytes: counters.sent_bytes.saturating_sub(self.counters.sent_bytes),
            received_bytes: counters.received_bytes.saturating_sub(self.counters.received_bytes),
        }
    }
}

/// Describes a reason for display, with the switch behind it.
fn words(reason: Reason, switch: &str) -> String {
    match reason {
        Reason::SwitchedOff => format!("switched off on this host: {switch}, or -N"),
        reason => reason.to_string(),
    }
}

impl Spent {
    /// Table with one line for each kind of work that was done, and one for the wire. Sizes are in
    /// exact bytes if `bytes` is set.
    pub fn table(&self, bytes: bool) -> String {
        let size = |number: u64| if bytes { number.to_string() } else { text::size::format(number) };
        let mut out = String::new();
        for (name, moved, switch) in [
            ("copied", &self.tally.copied, "/DataMover/HardwareAcceleratedMove"),
            ("zeroed", &self.tally.zeroed, "/DataMover/HardwareAcceleratedInit"),
        ] {
            if moved.offloaded_bytes == 0 && moved.by_host.is_empty() {
                continue;
            }
            // Writing to a string does not fail.
            let _ = writeln!(
                out,
                "{name:9} {} by the array, {} by the host",
                size(moved.offloaded_bytes),
                size(moved.host_bytes())
            );
            for (reason, number) in &moved.by_host {
                let _ = writeln!(out, "          {} by the host: {}", size(*number), words(*reason, switch));
            }
        }
        let tally = &self.tally;
        if tally.unmapped_bytes > 0 {
            let _ = writeln!(out, "unmapped  {}", size(tally.unmapped_bytes));
        }
        for (reason, number) in &tally.not_unmapped {
            let _ = writeln!(out, "unmapped  not {}: {reason}", size(*number));
        }
        if tally.atomic_updates + tally.reserved_updates > 0 {
            let _ = writeln!(
                out,
                "metadata  {} updates by COMPARE AND WRITE ({} miscompares), {} under reservations ({} conflicts)",
                tally.atomic_updates, tally.miscompares, tally.reserved_updates, tally.reservation_conflicts
            );
        }
        if tally.reservations_broken > 0 {
            let _ = writeln!(
                out,
                "reset     the logical unit {} times, because a hanging host had it reserved",
                tally.reservations_broken
            );
        }
        let _ = writeln!(
            out,
            "wire      {} sent, {} received, {} commands, {:.2} s",
            size(self.sent_bytes),
            size(self.received_bytes),
            self.commands,
            self.time.as_secs_f64()
        );
        out
    }

    /// Numbers for programs.
    pub fn json(&self) -> Value {
        let moved = |moved: &Moved| {
            json!({
                "offloaded_bytes": moved.offloaded_bytes,
                "host_bytes": moved.host_bytes(),
                "by_host": by_reason(&moved.by_host),
            })
        };
        let tally = &self.tally;
        json!({
            "seconds": self.time.as_secs_f64(),
            "copied": moved(&tally.copied),
            "zeroed": moved(&tally.zeroed),
            "unmapped_bytes": tally.unmapped_bytes,
            "not_unmapped": by_reason(&tally.not_unmapped),
            "atomic_updates": tally.atomic_updates,
            "miscompares": tally.miscompares,
            "reserved_updates": tally.reserved_updates,
            "reservation_conflicts": tally.reservation_conflicts,
            "reservations_broken": tally.reservations_broken,
            "commands": self.commands,
            "sent_bytes": self.sent_bytes,
            "received_bytes": self.received_bytes,
        })
    }
}
