//! Power failures of a run: the array opens the pool again, the model goes back to what the log held.

use super::{End, Engine, Run};
use crate::step::{Inside, Request};
use media::{Disk, Fault, FaultEffect, FaultOperation, LocalMedia, SimDisk};
use pool::Core;

impl Run {
    /// Opens the pool on `disk`.
    fn open(&mut self, disk: &SimDisk) -> Result<(Engine, pool::Opened), String> {
        self.incarnation += 1;
        let media = LocalMedia::open(disk.clone()).map_err(|e| format!("superblock: {e}"))?;
        Core::open(media, self.world.engine(self.incarnation), &mut |_| {}).map_err(|e| e.to_string())
    }

    /// Cuts the power, recovers (possibly failing again during it) and compares.
    pub(crate) fn crash(&mut self, inside: &[Inside], full: bool, number: u64) -> Result<(), String> {
        self.report.crashes += 1;
        self.report.checkpoints += self.core.counters().checkpoints;
        let repeated = self.to_repeat(number);
        self.in_flight.clear();
        let mut disk = self.disk.crash();
        let mut least = self.must_survive;
        for Inside { writes, flushes, checkpoint } in inside {
            for (operation, after) in [(FaultOperation::Write, *writes), (FaultOperation::Flush, *flushes)] {
                disk.plant(Fault::sticky(operation, FaultEffect::Error).after(after));
            }
            if let Ok((mut core, _)) = self.open(&disk) {
                least = least.max(core.next_sequence());
                if *checkpoint {
                    // The checkpoint fails when the power fails.
                    let _ = core.checkpoint();
                }
            }
            disk.clear_faults();
            disk = disk.crash();
            self.report.recovery_crashes += 1;
        }
        self.recover(disk, least, full, number)?;
        match repeated.filter(|request| self.end == End::Open && self.fits(request)) {
            Some(request) => self.submit(&request),
            None => Ok(()),
        }
    }

    /// Large write without a reply that a host repeats after the crash, as hosts do: the same data, which may
    /// land in the same blocks.
    fn to_repeat(&self, number: u64) -> Option<Request> {
        let large = |request: &Request| matches!(request, Request::Write { length, .. } if *length > 64);
        let last = self.in_flight.values().rev().find(|flight| large(&flight.request))?;
        number.is_multiple_of(2).then(|| last.request.clone())
    }

    /// Opens the pool on `disk`, which must hold everything below record `least`, and compares.
    pub(crate) fn recover(&mut self, disk: SimDisk, least: u64, full: bool, number: u64) -> Result<(), String> {
        let mut opened = self.open(&disk);
        if opened.is_err() && self.troubled {
            // The program ends, its outstanding disk requests complete, and another one is started.
            disk.clear_faults();
            settle(&disk);
            opened = self.open(&disk);
        }
        self.disk = disk;
        let (core, opened) = match opened {
            Ok(opened) => opened,
            Err(error) if self.damaged => {
                self.end = End::Refused;
                self.report.refused += 1;
                if self.story.is_on() {
                    self.story.tell(format!("        refused: {error}"));
                }
                return Ok(());
            }
            Err(error) => return Err(format!("recovery: {error}")),
        };
        self.core = core;
        self.differences.clear();
        let gave_up = self.see_incidents();
        if gave_up && !self.damaged {
            return Err("a map page was given up although nothing was damaged".into());
        }
        self.report.replayed += opened.records;
        let recovered = self.core.next_sequence();
        if recovered < least && !self.log_damaged {
            return Err(format!("everything below record {least} was acknowledged, but the log ends at {recovered}"));
        }
        let mut lost = 0;
        while let Some(effect) = self.effects.pop_back() {
            if effect.sequence <= recovered {
                break;
            }
            self.model.undo(effect.undo);
            lost += 1;
        }
        self.report.lost += lost;
        if recovered < self.must_survive {
            // Acknowledged changes were lost with the damaged log, and with them the model's
            // ability to return to that state.
            self.end = End::Refused;
            return Ok(());
        }
        self.effects.clear();
        self.must_survive = recovered;
        if self.story.is_on() {
            let records = opened.records;
            self.story
                .tell(format!("        recovered to record {recovered}: {records} replayed, {lost} effects lost"));
        }
        self.core.record_effects();
        // Planted faults stay; without them, and without damage, no operation may fail any more.
        if !self.damaged {
            self.disk.clear_faults();
            // A pool that met a full file system while it opened keeps its writes parked until its next probe.
            self.troubled = self.core.space().full_below;
        }
        self.compare(full, number)
    }
}

/// Lets the disk complete the requests of the ended program.
fn settle(disk: &SimDisk) {
    let mut disk = disk.clone();
    while disk.outstanding() > 0 {
        disk.wait();
        while disk.poll().is_some() {}
    }
}
