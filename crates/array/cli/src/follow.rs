//! Lists that grow: their start, and following them until Ctrl-C.

use crate::error::CliError;
use crate::output::Output;
use jiff::Timestamp;
use std::time::Duration;

/// Interval between two requests when following.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Start of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// After the entry with this number.
    Id(u64),
    /// Since this many seconds ago.
    Seconds(i64),
}

impl Since {
    /// Number of the entry, of a start that is one.
    pub(crate) const fn id(self) -> Option<u64> {
        match self {
            Self::Id(id) => Some(id),
            Self::Seconds(_) => None,
        }
    }

    /// Time of a start that is one.
    pub(crate) fn time(self) -> Option<Timestamp> {
        match self {
            Self::Id(_) => None,
            Self::Seconds(seconds) => Timestamp::from_second(Timestamp::now().as_second().saturating_sub(seconds)).ok(),
        }
    }
}

/// Reads `1041`, `90s`, `30m`, `2h` or `7d`.
pub(crate) fn parse_since(text: &str) -> Result<Since, String> {
    let wrong = || format!("{text:?} is neither the number of an entry nor a time such as 90s, 30m, 2h, 7d");
    if let Ok(id) = text.parse() {
        return Ok(Since::Id(id));
    }
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let number: u32 = text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| wrong())?;
    Ok(Since::Seconds(i64::from(number) * seconds))
}

/// Runs until the work ends, or the user presses Ctrl-C, which is no error.
pub(crate) async fn until_interrupted(work: impl Future<Output = Result<(), CliError>>) -> Result<(), CliError> {
    tokio::select! {
        result = work => result,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// Waits for the time of the next request; false once the reader of the output has gone.
pub(crate) async fn goes_on(output: &Output<'_, '_>) -> bool {
    tokio::time::sleep(LOOK_INTERVAL).await;
    output.has_reader()
}

#[cfg(test)]
mod tests {
    use super::{Since, parse_since};

    #[test]
    fn a_list_begins_at_an_entry_or_a_time() {
        assert_eq!(parse_since("1041"), Ok(Since::Id(1041)));
        assert_eq!(parse_since("2h"), Ok(Since::Seconds(7200)));
        assert_eq!(parse_since("7d"), Ok(Since::Seconds(604_800)));
        for text in ["", "h", "2w", "-1h", "2hh", "yesterday"] {
            assert!(parse_since(text).is_err(), "{text}");
        }
    }
}
