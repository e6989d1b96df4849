//! What has to be in memory before a change can be executed, and what the change allocates.

/// What planning found missing.
#[derive(Default)]
pub(crate) struct Need {
    pub pages: Vec<(u64, u8, u32)>,
    pub segments: Vec<u32>,
    pub blocks: Vec<(u64, u32)>,
    /// Pages that will be allocated.
    pub allocations: u64,
    /// Those among them that take the place of a page which comes back at the next checkpoint.
    pub passing: u64,
    /// Entries to be written that map nothing yet.
    pub fresh: u64,
    /// Count a page once although several pieces need it. Only for changes that never allocate what they gave back.
    pub once: bool,
    /// Object and number of the page counted last at each level, for `once`.
    pub counted: [(u64, u64); 4],
    /// A contradiction in the stored map.
    pub damaged: Option<String>,
}

impl Need {
    pub fn clear(&mut self) {
        self.pages.clear();
        self.segments.clear();
        self.blocks.clear();
        self.allocations = 0;
        self.passing = 0;
        self.fresh = 0;
        self.counted = Default::default();
        self.damaged = None;
    }
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.segments.is_empty() && self.blocks.is_empty() && self.damaged.is_none()
    }
}
