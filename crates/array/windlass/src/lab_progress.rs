//! `windlass lab run --progress json`: what a run reports, as lines of JSON ([`api::LabProgress`]). The array reads
//! them from the process that it has started for a run of its console.

use ::lab::results::CaseResult;
use ::lab::{Ended, Side, Watch};
use api::{LabProgress, LabSide};
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Shortest time between two lines of progress.
const INTERVAL: Duration = Duration::from_millis(250);

/// Observer that prints a line for each call.
#[derive(Default)]
pub(crate) struct Lines {
    /// Time of the last line of progress.
    shown: Cell<Option<Instant>>,
}

/// Prints a line. Without a reader the run goes on, and its results are saved.
fn print(line: &LabProgress) {
    let Ok(mut text) = serde_json::to_string(line) else { return };
    text.push('\n');
    let mut output = io::stdout().lock();
    let _closed = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl Watch for Lines {
    fn case(&self, at: usize, of: usize, case: &str) {
        print(&LabProgress::Case { number: number(at), of: number(of), case: case.to_owned() });
    }

    fn round(&self, round: u32, side: Side) {
        let side = match side {
            Side::Off => LabSide::Off,
            Side::On => LabSide::On,
        };
        print(&LabProgress::Round { round, side });
    }

    fn step(&self, words: &str) {
        self.shown.set(None);
        print(&LabProgress::Step { step: words.to_owned() });
    }

    fn progress(&self, done: u64, total: u64) {
        if self.shown.get().is_some_and(|shown| shown.elapsed() < INTERVAL) {
            return;
        }
        self.shown.set(Some(Instant::now()));
        print(&LabProgress::Progress { done, total });
    }

    fn point(&self, wire_bytes: u64) {
        print(&LabProgress::Point { wire_bytes_per_second: wire_bytes });
    }

    fn finished(&self, result: &CaseResult) {
        print(&LabProgress::Finished { result: daemon::lab_result(result) });
    }
}

/// Prints the last line.
pub(crate) fn ended(ended: &Ended) {
    print(&LabProgress::Ended {
        cancelled: ended.cancelled,
        reason: ended.run.ended_early.clone(),
        left: ended.left.clone(),
    });
}

/// Ends the process when standard input ends: whoever holds its other end has died, and with it the array. A thread
/// of its own, so that nothing that a run waits for delays it.
pub(crate) fn end_with_input() {
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        while io::stdin().lock().read(&mut rest).is_ok_and(|bytes| bytes > 0) {}
        std::process::exit(1);
    });
}
