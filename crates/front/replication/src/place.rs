//! Places in the volumes of a group.

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 4096;
/// Most blocks of a volume: 2⁶⁰ bytes, the largest object of the engine.
pub const MAX_BLOCKS: u64 = 1 << 48;
/// Most members of a group.
pub const MAX_MEMBERS: usize = 256;

/// A place in a group: a member, by its index in the list of the cycle, and a block of it. Positions are ordered as
/// a cycle goes through the group. They are offsets into the list of the source, and never names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Index of the member.
    pub member: u16,
    /// Block, counted from the start of the volume.
    pub block: u64,
}

impl Position {
    /// The start of a group.
    pub const START: Self = Self { member: 0, block: 0 };

    /// The end of a group of so many members.
    pub const fn end(members: u16) -> Self {
        Self { member: members, block: 0 }
    }

    /// The place so many blocks later in the same member.
    pub const fn after(self, blocks: u64) -> Self {
        Self { member: self.member, block: self.block.saturating_add(blocks) }
    }
}

/// Blocks that follow one another in a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First block.
    pub start: Position,
    /// Blocks, at least 1.
    pub count: u64,
}

impl Range {
    /// The place after the last block, in the same member.
    pub const fn end(&self) -> Position {
        self.start.after(self.count)
    }
}
