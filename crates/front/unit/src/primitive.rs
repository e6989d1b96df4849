//! Offload primitives.

use std::fmt;

/// Offload primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Primitive {
    /// COMPARE AND WRITE.
    Ats,
    /// EXTENDED COPY.
    Xcopy,
    /// WRITE SAME.
    Zero,
    /// UNMAP.
    Unmap,
}

impl Primitive {
    /// Number of primitives.
    pub const COUNT: usize = 4;
    /// All primitives, in the order of every table.
    pub const ALL: [Self; Self::COUNT] = [Self::Ats, Self::Xcopy, Self::Zero, Self::Unmap];

    /// Name in counters, log and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ats => "ats",
            Self::Xcopy => "xcopy",
            Self::Zero => "zero",
            Self::Unmap => "unmap",
        }
    }

    /// Returns the primitive's element of a table.
    pub fn of_mut<T>(self, table: &mut [T; Self::COUNT]) -> &mut T {
        let [ats, xcopy, zero, unmap] = table;
        match self {
            Self::Ats => ats,
            Self::Xcopy => xcopy,
            Self::Zero => zero,
            Self::Unmap => unmap,
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
