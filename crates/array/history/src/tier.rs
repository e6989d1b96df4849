//! Resolutions, and how long each is kept.

use crate::class::Class;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// Resolution of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Rows of 10 seconds, of [`Class::Array`] alone, for a day.
    Seconds,
    /// Rows of 5 minutes, for 30 days.
    Minutes,
    /// Rows of an hour: two years of [`Class::Array`], 90 days of [`Class::Unit`].
    Hours,
}

impl Tier {
    /// All, the finest first.
    pub const ALL: [Self; 3] = [Self::Seconds, Self::Minutes, Self::Hours];

    /// Length of a step.
    pub const fn step_seconds(self) -> u64 {
        match self {
            Self::Seconds => 10,
            Self::Minutes => 300,
            Self::Hours => HOUR,
        }
    }

    /// Time for which rows are kept; 0 if the class has none.
    pub const fn kept_seconds(self, class: Class) -> u64 {
        match (self, class) {
            (Self::Seconds, Class::Array) => DAY,
            (Self::Seconds, Class::Unit) => 0,
            (Self::Minutes, _) => 30 * DAY,
            (Self::Hours, Class::Array) => 730 * DAY,
            (Self::Hours, Class::Unit) => 90 * DAY,
        }
    }

    /// The coarsest tier with steps of at most `step_seconds` that still has `age_seconds`; if there is
    /// none, the finest that has that age; if there is none of these either, the coarsest.
    pub fn for_range(age_seconds: u64, step_seconds: u64, class: Class) -> Self {
        let reaches = |tier: &Self| tier.kept_seconds(class) >= age_seconds && tier.kept_seconds(class) > 0;
        let fits = Self::ALL.into_iter().rev().find(|tier| reaches(tier) && tier.step_seconds() <= step_seconds);
        fits.or_else(|| Self::ALL.into_iter().find(reaches)).unwrap_or(Self::Hours)
    }

    /// Number of the tier in keys of the file.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Seconds => 0,
            Self::Minutes => 1,
            Self::Hours => 2,
        }
    }

    /// Tier with this number in keys of the file.
    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.code() == code)
    }

    /// Step of a time in seconds since 1970.
    pub(crate) fn step_of(self, unix_seconds: i64) -> i64 {
        unix_seconds.div_euclid(i64::try_from(self.step_seconds()).unwrap_or(i64::MAX))
    }
}
