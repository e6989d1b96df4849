//! The file system in memory keeps the contract, and the contract's tests notice each lie.

use super::{Lie, MemoryEngine, MemoryFileSystem};
use crate::contract::{Fixture, Restart};
use crate::{FsError, Timestamp};

/// Engine in memory, which waits in each call if told to.
struct Memory(MemoryEngine);

impl Memory {
    fn new(lie: Option<Lie>) -> Self {
        let engine = MemoryEngine::new(lie);
        engine.expect_crashes();
        Self(engine)
    }

    fn stuttering() -> Self {
        let memory = Self::new(None);
        memory.0.stutter();
        memory
    }
}

impl Fixture for Memory {
    type FileSystem = MemoryFileSystem;

    fn create(&mut self) -> MemoryFileSystem {
        self.0.create(Timestamp::default())
    }

    fn foreign(&mut self) -> Option<MemoryFileSystem> {
        Some(MemoryEngine::default().create(Timestamp::default()))
    }

    fn turn(&mut self) {}

    fn leave(&mut self, bytes: u64) {
        self.0.leave(bytes);
    }

    fn restart(&mut self, file_system: MemoryFileSystem, how: Restart) -> MemoryFileSystem {
        self.0.restart(how == Restart::Crash);
        file_system
    }

    fn snapshot(&mut self, file_system: &MemoryFileSystem) -> Result<MemoryFileSystem, FsError> {
        file_system.snapshot()
    }

    fn roll_back(&mut self, file_system: &MemoryFileSystem, to: &MemoryFileSystem) {
        assert_eq!(file_system.roll_back(to), Ok(()));
    }
}

crate::contract_tests!(Memory::new(None));

mod that_waits {
    use super::Memory;

    crate::contract_tests!(Memory::stuttering());
}
