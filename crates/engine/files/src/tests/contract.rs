//! The contract of file systems, over the engine in memory: with everything in memory, and with blocks that are
//! missing at random.

use super::{ROOT_ATTRIBUTES, end, new_share, reopened};
use crate::Files;
use crate::testing::MemoryEngine;
use vfs::contract::{Fixture, Restart};
use vfs::{FsError, SpaceReason, Timestamp};

/// Blocks that are left in a full pool for what is not content.
const SLACK_BLOCKS: u64 = 16;

struct Memory(MemoryEngine);

impl Fixture for Memory {
    type FileSystem = Files<MemoryEngine>;

    fn create(&mut self) -> Self::FileSystem {
        new_share(&self.0)
    }

    fn foreign(&mut self) -> Option<Self::FileSystem> {
        Some(new_share(&MemoryEngine::new(9, false)))
    }

    fn turn(&mut self) {}

    fn leave(&mut self, bytes: u64) {
        self.0.leave(bytes / 4096 + SLACK_BLOCKS);
    }

    fn restart(&mut self, file_system: Self::FileSystem, how: Restart) -> Self::FileSystem {
        self.0.restart(if how == Restart::Crash { 0 } else { usize::MAX });
        reopened(&self.0, &file_system)
    }

    fn snapshot(&mut self, file_system: &Self::FileSystem) -> Result<Self::FileSystem, FsError> {
        let snapshot = self.0.snapshot(file_system.object());
        let snapshot = snapshot.map_err(|_| FsError::NoSpace(SpaceReason::Promise))?;
        Ok(Files::open(self.0.clone(), snapshot, ROOT_ATTRIBUTES, true))
    }

    fn roll_back(&mut self, file_system: &Self::FileSystem, to: &Self::FileSystem) {
        assert_eq!(end(file_system.roll_back(to, Timestamp::default())), Ok(()));
    }
}

vfs::contract_tests!(Memory(MemoryEngine::new(1, false)));

mod with_missing_blocks {
    use super::Memory;
    use crate::testing::MemoryEngine;

    vfs::contract_tests!(Memory(MemoryEngine::new(2, true)));
}
