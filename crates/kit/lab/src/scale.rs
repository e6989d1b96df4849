//! Scale of a run.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The scale of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Sizes for which each case takes about a minute at most.
    Small,
    /// Sizes of the papers.
    Paper,
    /// Size of the case's largest disk in bytes.
    Bytes(u64),
}

/// Disk size to which the times and counts of the small scale belong.
const SMALL_BYTES: u64 = 1 << 30;

impl Size {
    /// Size of a disk in bytes, given those at the small scale and in the paper.
    pub(crate) fn bytes(self, small: u64, paper: u64) -> u64 {
        match self {
            Self::Small => small,
            Self::Paper => paper,
            Self::Bytes(bytes) => bytes,
        }
    }

    /// Duration of a load that takes `small` at the small scale.
    pub(crate) fn time(self, small: Duration) -> Duration {
        match self {
            Self::Small => small,
            Self::Paper => small * 10,
            Self::Bytes(bytes) => {
                let sixteenths = (bytes / (SMALL_BYTES / 16)).clamp(1, 160);
                small * u32::try_from(sixteenths).unwrap_or(160) / 16
            }
        }
    }

    /// Number of things: `full` at the small scale and the paper's, fewer for smaller sizes, but at
    /// least `least`.
    pub(crate) fn count(self, full: u64, least: u64) -> u64 {
        match self {
            Self::Small | Self::Paper => full,
            Self::Bytes(bytes) => {
                let part = u128::from(full) * u128::from(bytes) / u128::from(SMALL_BYTES);
                u64::try_from(part).unwrap_or(full).clamp(least.min(full), full)
            }
        }
    }
}

/// Largest disk of a case, at the small scale and in the papers.
const LARGEST_DISK: (u64, u64) = (3 << 30, 200 << 30);

impl Size {
    /// Size of the largest disk of all cases, in bytes. A run needs about three times as much space.
    pub fn largest_disk_bytes(self) -> u64 {
        self.bytes(LARGEST_DISK.0, LARGEST_DISK.1)
    }

    /// Size of a logical unit on which every case has the disks of this scale, in bytes.
    pub fn unit_bytes(self) -> u64 {
        // Three disks at most, what a case adds to them, and the datastore's own tables.
        self.largest_disk_bytes().saturating_mul(4).saturating_add(128 << 20)
    }
}

impl FromStr for Size {
    type Err = text::size::SizeError;

    fn from_str(text: &str) -> Result<Self, text::size::SizeError> {
        Ok(match text {
            "small" => Self::Small,
            "paper" => Self::Paper,
            // A whole number of the datastore's blocks of 1 MiB.
            text => match text::size::parse(text)? {
                0 => return Err(text::size::SizeError::Malformed(text.to_owned())),
                bytes => Self::Bytes(bytes.next_multiple_of(1 << 20).max(4 << 20)),
            },
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small => f.pad("small"),
            Self::Paper => f.pad("paper"),
            Self::Bytes(bytes) => f.pad(&bytes.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_gives_sizes_times_and_counts() {
        let tiny = Size::Bytes(8 << 20);
        assert_eq!((Size::Small.bytes(5, 7), Size::Paper.bytes(5, 7), tiny.bytes(5, 7)), (5, 7, 8 << 20));
        let second = Duration::from_secs(1);
        assert_eq!(tiny.time(second), Duration::from_micros(62_500));
        assert_eq!(Size::Bytes(1 << 40).time(second), Duration::from_secs(10));
        assert_eq!((tiny.count(512, 8), Size::Bytes(1 << 29).count(512, 8), Size::Small.count(512, 8)), (8, 256, 512));
    }

    #[test]
    fn a_scale_is_a_word_or_a_size() {
        for (text, size) in [("small", Size::Small), ("paper", Size::Paper), ("64M", Size::Bytes(64 << 20))] {
            assert_eq!(text.parse(), Ok(size));
        }
        assert_eq!("1".parse(), Ok(Size::Bytes(4 << 20)));
        assert!("large".parse::<Size>().is_err());
    }
}
