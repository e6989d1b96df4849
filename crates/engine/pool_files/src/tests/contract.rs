//! The contract of file systems over the pool: with everything in memory, and with so little memory that looks miss.

use super::rig::{Rig, Share};
use vfs::contract::{Fixture, Restart};
use vfs::{FsError, Timestamp};

/// Blocks of the disk.
const DISK_BLOCKS: u64 = 32 << 10;
/// Memory in which everything of a rule has room.
const MUCH: usize = 64 << 20;
/// Memory in which hardly anything has room.
const LITTLE: usize = 64 << 10;

struct OnPool(Rig);

impl Fixture for OnPool {
    type FileSystem = Share;

    fn create(&mut self) -> Share {
        self.0.share()
    }

    fn foreign(&mut self) -> Option<Share> {
        Some(Rig::new(9, DISK_BLOCKS, MUCH).share())
    }

    fn turn(&mut self) {
        self.0.turn();
    }

    fn leave(&mut self, bytes: u64) {
        self.0.leave(bytes);
    }

    fn restart(&mut self, file_system: Share, how: Restart) -> Share {
        self.0.restart(how == Restart::Crash);
        self.0.reopened(&file_system)
    }

    fn snapshot(&mut self, file_system: &Share) -> Result<Share, FsError> {
        self.0.snapshot(file_system)
    }

    fn roll_back(&mut self, file_system: &Share, to: &Share) {
        assert_eq!(self.0.end(file_system.roll_back(to, Timestamp::default())), Ok(()));
    }
}

impl Drop for OnPool {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.assert_clean();
        }
    }
}

vfs::contract_tests!(OnPool(Rig::new(1, DISK_BLOCKS, MUCH)));

mod with_missing_blocks {
    use super::{DISK_BLOCKS, LITTLE, OnPool, Rig};

    vfs::contract_tests!(OnPool(Rig::new(2, DISK_BLOCKS, LITTLE)));
}
