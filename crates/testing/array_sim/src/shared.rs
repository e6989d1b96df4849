//! What all hosts of a run share: the model, the history, and how each outcome is judged.

use crate::commands::{BLOCK_BYTES, Command, Meaning};
use crate::model::{Tick, Volume, WriteId};
use crate::world::World;
use iscsi::initiator::Completion;
use random::Random;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use tokio::time::Instant;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Commands issued.
    pub commands: u64,
    /// Operations on files of the share, and on their names.
    pub file_operations: u64,
    /// Commands without a response: their connection was cut, or they were aborted.
    pub unanswered: u64,
    /// Commands that failed, other than by a unit attention or a reservation.
    pub failed: u64,
    /// Normal sessions.
    pub logins: u64,
    /// Kills of the array.
    pub kills: u64,
    /// Hash of the whole history.
    pub history: u64,
}

/// A command that was issued.
#[derive(Debug)]
pub(crate) struct Issued {
    pub command: Command,
    pub id: WriteId,
    pub start: Tick,
    pub at: Instant,
}

/// Index of a [`Reset`].
pub(crate) type ResetNumber = usize;

/// LOGICAL UNIT RESET. It takes effect at an instant between its issue and its response. When its session ends
/// before, it may take effect until the nexus logs in again or the array is restarted. Commands of other nexuses that
/// were issued before that instant have no response (SAM-5 §5.6, TAS = 0).
struct Reset {
    volume: usize,
    /// When it could take effect last; `None` while it still can.
    ended: Option<Instant>,
}

impl Reset {
    fn may_end(&self, issued: &Issued) -> bool {
        self.volume == issued.command.volume && self.ended.is_none_or(|ended| ended >= issued.at)
    }
}

pub(crate) struct Shared {
    pub world: World,
    pub volumes: RefCell<Vec<Volume>>,
    /// All files of the share, one behind the other.
    pub files: RefCell<Volume>,
    pub report: Cell<Report>,
    pub designators: RefCell<Vec<[u8; 16]>>,
    pub target: RefCell<String>,
    /// Number of the array's incarnation, and its last disaster.
    pub incarnation: Cell<u64>,
    /// When the array was started last.
    pub up_since: Cell<Instant>,
    /// A fault has struck since the array was started.
    pub troubled: Cell<bool>,
    resets: RefCell<Vec<Reset>>,
    tick: Cell<Tick>,
    swapped: RefCell<BTreeSet<(usize, usize, u64)>>,
    pub story: Option<RefCell<Vec<String>>>,
    started: Instant,
}

impl Shared {
    pub(crate) fn new(world: World, story: bool) -> Self {
        let volumes = (0..world.volumes).map(|_| Volume::new(crate::world::WINDOW as usize)).collect();
        Self {
            world,
            volumes: RefCell::new(volumes),
            files: RefCell::new(Volume::new(crate::world::FILES * crate::world::WINDOW as usize)),
            report: Cell::default(),
            designators: RefCell::default(),
            target: RefCell::default(),
            incarnation: Cell::new(0),
            up_since: Cell::new(Instant::now()),
            troubled: Cell::new(false),
            resets: RefCell::default(),
            tick: Cell::new(1),
            swapped: RefCell::default(),
            story: story.then(RefCell::default),
            started: Instant::now(),
        }
    }

    pub(crate) fn tick(&self) -> Tick {
        self.tick.set(self.tick.get() + 1);
        self.tick.get()
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Report)) {
        let mut report = self.report.get();
        change(&mut report);
        self.report.set(report);
    }

    /// Adds a line to the history.
    pub(crate) fn log(&self, line: std::fmt::Arguments<'_>) {
        let line = format!("{:>9.3} {line}", self.started.elapsed().as_secs_f64());
        let mut report = self.report.get();
        for byte in line.bytes() {
            report.history = (report.history ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.report.set(report);
        if let Some(story) = &self.story {
            story.borrow_mut().push(line);
        }
    }

    /// A stamp that the lock block may have.
    pub(crate) fn lock(&self, volume: usize, block: usize, random: &Random) -> u64 {
        let now = self.tick.get();
        let volumes = self.volumes.borrow();
        let stamps = volumes.get(volume).map(|volume| volume.possible(block, now, now)).unwrap_or_default();
        let at = random.below(stamps.len() as u64);
        stamps.into_iter().nth(usize::try_from(at).unwrap_or(0)).unwrap_or(0)
    }

    fn each(&self, issued: &Issued, mut change: impl FnMut(&mut Volume, usize, usize)) {
        if let Some(volume) = self.volumes.borrow_mut().get_mut(issued.command.volume) {
            for (offset, block) in issued.command.blocks.clone().enumerate() {
                change(volume, offset, block);
            }
        }
    }

    /// A command is issued. Its stamp is its number.
    pub(crate) fn issue(&self, command: Command, id: WriteId) -> Issued {
        self.count(|report| report.commands += 1);
        let start = self.tick();
        let issued = Issued { command, id, start, at: Instant::now() };
        match issued.command.meaning {
            Meaning::Writes { value, certain } => {
                self.each(&issued, |volume, offset, block| volume.begin(id, start, block, value.at(offset), certain));
            }
            Meaning::Swaps { stamp, .. } => self.each(&issued, |volume, _, block| {
                volume.begin(id, start, block, crate::model::Value::Stamp(stamp), true);
            }),
            Meaning::Reads | Meaning::Other => {}
        }
        issued
    }

    /// It can take effect no more, and has no response.
    pub(crate) fn bury(&self, issued: &Issued) {
        self.count(|report| report.unanswered += 1);
        self.end(issued);
    }

    /// It can take effect no more, unless the disk has failed: then a record that was not acknowledged may be found
    /// at the next start.
    fn end(&self, issued: &Issued) {
        let now = self.tick();
        if !self.troubled.get() {
            self.each(issued, |volume, _, block| volume.bury(issued.id, now, block));
        }
    }

    /// A LOGICAL UNIT RESET is issued.
    pub(crate) fn begin_reset(&self, volume: usize) -> ResetNumber {
        let mut resets = self.resets.borrow_mut();
        resets.push(Reset { volume, ended: None });
        resets.len() - 1
    }

    /// It can take effect no more.
    pub(crate) fn end_reset(&self, number: ResetNumber) {
        if let Some(reset) = self.resets.borrow_mut().get_mut(number) {
            reset.ended.get_or_insert_with(Instant::now);
        }
    }

    /// The array is killed: nothing that it was asked for can take effect any more.
    pub(crate) fn end_resets(&self) {
        for reset in self.resets.borrow_mut().iter_mut() {
            reset.ended.get_or_insert_with(Instant::now);
        }
    }

    /// True when the volume may have been reset since the command was issued, by any host.
    pub(crate) fn was_reset(&self, issued: &Issued) -> bool {
        self.resets.borrow().iter().any(|reset| reset.may_end(issued))
    }

    /// When the last reset that may have ended the command took effect at the latest; `None` while one still can.
    pub(crate) fn reset_ended(&self, issued: &Issued) -> Option<Instant> {
        let resets = self.resets.borrow();
        let mut latest = None;
        for reset in resets.iter().filter(|reset| reset.may_end(issued)) {
            latest = latest.max(Some(reset.ended?));
        }
        latest
    }

    /// Judges a response. `aborted`: the host has done something that ends the command.
    pub(crate) fn complete(&self, issued: &Issued, completion: &Completion, aborted: bool) -> Result<(), String> {
        let now = self.tick();
        let (key, asc) = sense(&completion.sense);
        match completion.status {
            0 => self.succeeded(issued, completion, now),
            // CHECK CONDITION with UNIT ATTENTION, BUSY, RESERVATION CONFLICT, TASK SET FULL: not executed.
            2 if key == 6 => self.refused(issued),
            8 | 0x18 | 0x28 => self.refused(issued),
            2 if key == 0xE => self.miscompared(issued, now),
            status => {
                self.count(|report| report.failed += 1);
                self.end(issued);
                // Errors have a reason: a fault of the disk, an invalid reservation, or one that another host made
                // between two steps of a copy.
                let reservation = match issued.command.meaning {
                    Meaning::Other => key == 5,
                    _ => key == 0xA && forwarded_status(&completion.sense) == Some(0x18),
                };
                let aborted = status == 0x40 && (aborted || self.was_reset(issued));
                if self.troubled.get() || reservation || aborted {
                    return Ok(());
                }
                Err(format!("{}: status {status:#x}, sense {key:x}h/{asc:04x}h without a fault", issued.command))
            }
        }
    }

    fn refused(&self, issued: &Issued) -> Result<(), String> {
        self.each(issued, |volume, _, block| volume.refuse(issued.id, block));
        Ok(())
    }

    fn miscompared(&self, issued: &Issued, now: Tick) -> Result<(), String> {
        let Meaning::Swaps { expected, .. } = issued.command.meaning else {
            return Err(format!("{}: MISCOMPARE", issued.command));
        };
        self.refused(issued)?;
        let volumes = self.volumes.borrow();
        let Some(volume) = volumes.get(issued.command.volume) else { return Ok(()) };
        let possible = volume.possible(issued.command.blocks.start, issued.start, now);
        if possible.iter().eq([&expected]) {
            return Err(format!("{}: MISCOMPARE, but the block is {expected:x} and cannot be other", issued.command));
        }
        Ok(())
    }

    fn succeeded(&self, issued: &Issued, completion: &Completion, now: Tick) -> Result<(), String> {
        let command = &issued.command;
        match command.meaning {
            Meaning::Other => Ok(()),
            Meaning::Reads => self.check_read(issued, &completion.data_in, now),
            Meaning::Writes { .. } => {
                self.each(issued, |volume, _, block| volume.acknowledge(issued.id, now, block));
                Ok(())
            }
            Meaning::Swaps { expected, .. } => {
                let block = command.blocks.start;
                let possible = self.volumes.borrow().get(command.volume).map(|v| v.possible(block, issued.start, now));
                if !possible.unwrap_or_default().contains(&expected) {
                    return Err(format!("{command}: compared equal with {expected:x}, which the block cannot be"));
                }
                if !self.swapped.borrow_mut().insert((command.volume, block, expected)) {
                    return Err(format!("{command}: {expected:x} was replaced twice"));
                }
                self.each(issued, |volume, _, block| volume.acknowledge(issued.id, now, block));
                Ok(())
            }
        }
    }

    fn check_read(&self, issued: &Issued, data: &[u8], now: Tick) -> Result<(), String> {
        let command = &issued.command;
        if data.len() != command.blocks.len() * BLOCK_BYTES {
            return Err(format!("{command}: {} bytes of Data-In", data.len()));
        }
        let mut volumes = self.volumes.borrow_mut();
        let Some(volume) = volumes.get_mut(command.volume) else { return Ok(()) };
        for (block, content) in command.blocks.clone().zip(data.chunks_exact(BLOCK_BYTES)) {
            let stamp =
                random::sector::number_of(content).ok_or_else(|| format!("{command}: block {block} is torn"))?;
            let possible = volume.possible(block, issued.start, now);
            if !possible.contains(&stamp) {
                return Err(format!("{command}: block {block} is {stamp:x}, and only {possible:x?} are possible"));
            }
            volume.observe(block, stamp, now);
        }
        Ok(())
    }
}

/// Status that a copy manager met at its source or destination: the COMMAND-SPECIFIC INFORMATION of COPY ABORTED has
/// its place in the sense data (SPC-4 §6.4.4). Fixed format alone, which the array sends for it.
fn forwarded_status(data: &[u8]) -> Option<u8> {
    let places = data.get(8..10)?;
    let place = places.iter().find(|place| **place != 0)?;
    data.get(usize::from(*place)).copied()
}

/// Sense key, and additional sense code with qualifier, of either format (SPC-4 §4.5).
pub(crate) fn sense(data: &[u8]) -> (u8, u16) {
    let at = |index: usize| data.get(index).copied().unwrap_or(0);
    match at(0) & 0x7F {
        0x72 | 0x73 => (at(1) & 0x0F, u16::from_be_bytes([at(2), at(3)])),
        _ => (at(2) & 0x0F, u16::from_be_bytes([at(12), at(13)])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forwarded_status_is_that_of_the_side_with_an_offset() {
        let mut sense = [0_u8; 20];
        sense[0] = 0x70;
        assert_eq!(forwarded_status(&sense), None, "no side has met anything");
        (sense[9], sense[18]) = (18, 0x18);
        assert_eq!(forwarded_status(&sense), Some(0x18), "the destination");
        (sense[8], sense[9], sense[18], sense[19]) = (19, 0, 0, 2);
        assert_eq!(forwarded_status(&sense), Some(2), "the source");
        sense[8] = 20;
        assert_eq!((forwarded_status(&sense), forwarded_status(&[])), (None, None), "past the end");
    }
}
