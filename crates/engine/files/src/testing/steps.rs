//! Steps of a simulation, drawn at random.

use super::world::Handle;
use bytes::Bytes;
use random::Random;
use vfs::{Kind, Timestamp};

/// A step at a time.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) now: Timestamp,
    pub(crate) target: Target,
}

/// What a step does. Files are named by handles.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Create {
        directory: Handle,
        name: u8,
        kind: Kind,
        handle: Handle,
    },
    Link {
        file: Handle,
        directory: Handle,
        name: u8,
    },
    Remove {
        directory: Handle,
        name: u8,
    },
    Rename {
        from: (Handle, u8),
        to: (Handle, u8),
    },
    Write {
        file: Handle,
        offset: u64,
        data: Bytes,
        durable: bool,
    },
    Size {
        file: Handle,
        size: u64,
    },
    Mode {
        file: Handle,
        mode: u16,
    },
    Zero {
        file: Handle,
        offset: u64,
        length: u64,
    },
    Allocate {
        file: Handle,
        offset: u64,
        length: u64,
    },
    Deallocate {
        file: Handle,
        offset: u64,
        length: u64,
    },
    Clone {
        from: Handle,
        to: Handle,
        offset: u64,
        length: Option<u64>,
        at: u64,
    },
    Copy {
        from: Handle,
        to: Handle,
        offset: u64,
        length: Option<u64>,
        at: u64,
    },
    SetXattr {
        file: Handle,
        name: u8,
        value: Bytes,
    },
    RemoveXattr {
        file: Handle,
        name: u8,
    },
    Hold {
        file: Handle,
    },
    Release {
        file: Handle,
    },
    Commit {
        file: Handle,
    },
    DropUnheld,
    /// A start after a crash: holds end.
    Restart,
}

impl Step {
    /// True if the step is durable once it was acknowledged.
    pub(crate) const fn is_durable(&self) -> bool {
        !matches!(self.target, Target::Write { durable: false, .. } | Target::Hold { .. })
    }

    /// True if the step may be given up at any point: it changes nothing, or all at one instant, and nothing in
    /// memory alone.
    pub(crate) const fn is_one_change(&self) -> bool {
        use Target::{Commit, DropUnheld, Hold, Release, Restart};
        !matches!(self.target, Hold { .. } | Release { .. } | DropUnheld | Restart | Commit { .. })
    }
}

/// Draws steps.
pub(crate) struct Steps<'a> {
    random: &'a Random,
    /// Handles of files that may be directories, and of those that may be regular files.
    directories: Vec<Handle>,
    files: Vec<Handle>,
    next: Handle,
    seconds: i64,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(random: &'a Random) -> Self {
        Self { random, directories: vec![0], files: Vec::new(), next: 1, seconds: 1000 }
    }

    fn pick(&self, from: &[Handle]) -> Handle {
        // Mostly one of the last ones, which still exist.
        let back =
            if self.random.chance(80) { self.random.index(8.min(from.len())) } else { self.random.index(from.len()) };
        from.len().checked_sub(back + 1).and_then(|at| from.get(at)).copied().unwrap_or(0)
    }

    fn directory(&self) -> Handle {
        if self.random.chance(40) { 0 } else { self.pick(&self.directories) }
    }

    fn file(&self) -> Handle {
        if self.random.chance(5) { self.pick(&self.directories) } else { self.pick(&self.files) }
    }

    fn name(&self) -> u8 {
        self.random.below(24) as u8
    }

    /// An offset: near the start, around the ends of the classes, sometimes aligned.
    fn offset(&self) -> u64 {
        let random = self.random;
        let offset = match random.below(8) {
            0 => (1 << 28) - 8192 + random.below(16_384),
            1 => (1 << 20) - 8192 + random.below(16_384),
            2 | 3 => 65_536 - 8192 + random.below(16_384),
            _ => random.below(20_000),
        };
        if random.chance(40) { offset / 4096 * 4096 } else { offset }
    }

    fn length(&self) -> u64 {
        let length = match self.random.below(6) {
            0 => self.random.below(300_000),
            _ => self.random.below(12_000),
        };
        if self.random.chance(40) { (length / 4096 + 1) * 4096 } else { length }
    }

    fn data(&self) -> Bytes {
        let mut data = vec![0; self.length() as usize];
        if self.random.chance(85) {
            self.random.fill(&mut data);
        }
        data.into()
    }

    /// The next step.
    pub(crate) fn draw(&mut self) -> Step {
        // Sometimes the clock stands still, or goes back.
        self.seconds += self.random.below(4) as i64 - 1;
        let now = Timestamp::new(self.seconds, 0).unwrap_or_default();
        let target = if self.random.chance(50) { self.draw_name() } else { self.draw_content() };
        Step { now, target }
    }

    fn draw_name(&mut self) -> Target {
        let (directory, name) = (self.directory(), self.name());
        match self.random.below(16) {
            0..=5 => {
                let kind = match self.random.below(10) {
                    0..=2 => Kind::Directory,
                    3 => Kind::Symlink,
                    4 => Kind::Fifo,
                    _ => Kind::File,
                };
                let handle = self.next;
                self.next += 1;
                let list = if kind == Kind::Directory { &mut self.directories } else { &mut self.files };
                list.push(handle);
                Target::Create { directory, name, kind, handle }
            }
            6 => Target::Link { file: self.file(), directory, name },
            7..=9 => Target::Remove { directory, name },
            10..=12 => Target::Rename { from: (directory, name), to: (self.directory(), self.name()) },
            13 => Target::Hold { file: self.file() },
            14 => Target::Release { file: self.file() },
            _ => Target::DropUnheld,
        }
    }

    fn draw_content(&self) -> Target {
        let (file, offset, length) = (self.file(), self.offset(), self.length());
        match self.random.below(20) {
            0..=6 => Target::Write { file, offset, data: self.data(), durable: self.random.chance(40) },
            7 | 8 => Target::Size { file, size: if self.random.chance(30) { 0 } else { offset } },
            9 => Target::Mode { file, mode: self.random.below(0o1000) as u16 },
            10 => Target::Zero { file, offset, length },
            11 => Target::Allocate { file, offset, length },
            12 => Target::Deallocate { file, offset, length },
            13 | 14 => {
                let aligned = |bytes: u64| if self.random.chance(90) { bytes / 4096 * 4096 } else { bytes };
                let length = self.random.chance(40).then(|| aligned(length));
                let (offset, at) = (if self.random.chance(50) { 0 } else { aligned(offset) }, aligned(self.offset()));
                Target::Clone { from: self.file(), to: file, offset, length, at }
            }
            15 => {
                let (offset, at) = (self.random.below(20_000), self.offset());
                Target::Copy { from: self.file(), to: file, offset, length: Some(length), at }
            }
            16 | 17 => {
                let value = if self.random.chance(20) { Bytes::from_static(b"v") } else { Bytes::from(vec![7; 900]) };
                Target::SetXattr { file, name: self.random.below(9) as u8, value }
            }
            18 => Target::RemoveXattr { file, name: self.random.below(9) as u8 },
            _ => Target::Commit { file },
        }
    }
}
