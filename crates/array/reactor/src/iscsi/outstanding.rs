//! Commands of one connection that the reactor has: what the connection side keeps of each until its
//! completion comes.

use block::VolumeId;
use iscsi::connection::{HeldDataOut, TaskHandle};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

/// State of a command in flight on the connection side.
#[derive(Debug)]
pub(super) struct Kept {
    /// Volume that the command addresses.
    pub volume: Option<VolumeId>,
    /// Bytes of Data-In memory that the command holds.
    pub held: usize,
    /// Memory of its Data-Out, until the reactor no longer needs the data.
    #[expect(dead_code, reason = "dropping it gives the memory back")]
    pub data_out: Option<Rc<HeldDataOut>>,
}

/// Outstanding commands: on their way to the reactor, in it, or on their way back.
#[derive(Debug, Default)]
pub(super) struct Outstanding(FxHashMap<TaskHandle, Kept>);

impl Outstanding {
    /// Adds a command.
    pub fn start(&mut self, task: TaskHandle, kept: Kept) {
        self.0.insert(task, kept);
    }

    /// Removes a command whose completion has come. Returns the bytes of Data-In memory that it
    /// holds.
    pub fn complete(&mut self, task: TaskHandle) -> usize {
        self.0.remove(&task).map_or(0, |kept| kept.held)
    }

    /// True if the reactor has no command of the connection.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tasks on the volumes.
    pub fn on_volumes(&self, volumes: &BTreeSet<VolumeId>) -> impl Iterator<Item = TaskHandle> {
        let concerned = |kept: &Kept| kept.volume.is_some_and(|volume| volumes.contains(&volume));
        self.0.iter().filter(move |(_, kept)| concerned(kept)).map(|(task, _)| *task)
    }
}
