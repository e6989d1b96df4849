//! Classes of entities, and kinds of values.

/// Class of an entity: how fine and how long its rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Part of the array; there are few.
    Array,
    /// Volume or share; there may be thousands.
    Unit,
}

impl Class {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Array, Self::Unit];

    /// Column of `PRESENCE`, and number in the index.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Array => 0,
            Self::Unit => 1,
        }
    }

    /// Column of `PRESENCE`.
    pub(crate) const fn presence(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Unit => "unit",
        }
    }
}

/// What the absence of a value means while there were observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rate: absent is 0. The mean is over the whole time of a step.
    Rate,
    /// Level: absent is unknown. The mean is over the time in which the value was known.
    Level,
}
