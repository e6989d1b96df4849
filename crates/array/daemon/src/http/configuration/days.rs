//! An export a day, in `STATE_DIR/configuration/`.

use crate::http::Surroundings;
use crate::http::configuration::present::present;
use crate::http::problem::Fault;
use api::ConfigurationDay;
use configuration::Format;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use reactor::ArrayHandle;
use reactor::state_files::write_private;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the directory, in the state directory.
const DIRECTORY: &str = "configuration";
/// Number of days that are kept.
const KEPT: usize = 30;
/// Time between two looks whether an export is due.
const LOOK_INTERVAL: Duration = Duration::from_secs(600);
/// End of the names of files.
const EXTENSION: &str = ".toml";

/// Files of a state directory.
#[derive(Clone)]
pub(super) struct Days(PathBuf);

impl Days {
    pub(super) fn of(state_dir: &Path) -> Self {
        Self(state_dir.join(DIRECTORY))
    }

    fn path(&self, day: Date) -> PathBuf {
        self.0.join(format!("{day}{EXTENSION}"))
    }

    /// Days with an export, newest first.
    pub(super) fn list(&self) -> std::io::Result<Vec<ConfigurationDay>> {
        let entries = match std::fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut days = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let day = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)?.parse().ok());
            if let Some(day) = day {
                days.push(ConfigurationDay { day, size_bytes: entry.metadata()?.len() });
            }
        }
        days.sort_unstable_by_key(|of| std::cmp::Reverse(of.day));
        Ok(days)
    }

    /// Export of a day; absent if there is none.
    pub(super) fn read(&self, day: Date) -> std::io::Result<Option<String>> {
        match std::fs::read_to_string(self.path(day)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the export of a day, and removes old ones.
    pub(super) fn write(&self, day: Date, text: &str) -> anyhow::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        write_private(&self.path(day), text)?;
        for old in self.list()?.into_iter().skip(KEPT) {
            std::fs::remove_file(self.path(old.day))?;
        }
        Ok(())
    }
}

/// Keeps an export of each day, until it is aborted.
pub(crate) async fn keep_days(surroundings: Surroundings, array: ArrayHandle) {
    let days = Days::of(&surroundings.places.state_directory);
    let mut ticks = tokio::time::interval(LOOK_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = keep_day(&days, &surroundings, &array, Timestamp::now()).await {
            tracing::warn!(error = format!("{error:#}"), "the export of the day could not be written");
        }
    }
}

/// Writes the export of a day, if there is none.
async fn keep_day(days: &Days, surroundings: &Surroundings, array: &ArrayHandle, now: Timestamp) -> anyhow::Result<()> {
    let day = now.to_zoned(TimeZone::UTC).date();
    let of_day = days.clone();
    if tokio::task::spawn_blocking(move || of_day.read(day)).await??.is_some() {
        return Ok(());
    }
    let refused = |fault: Fault| anyhow::anyhow!("{}", fault.detail());
    let (configuration, _) = present(array, &surroundings.gate, &surroundings.desk).await.map_err(refused)?;
    let days = days.clone();
    tokio::task::spawn_blocking(move || days.write(day, &configuration.write(Format::Toml)?)).await?
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use crate::memory::{TemporaryDirectory, spawn};

    #[tokio::test]
    async fn thirty_days_are_kept() {
        let directory = TemporaryDirectory::new();
        let surroundings = Surroundings::of(directory.path(), false);
        let (days, array) = (Days::of(directory.path()), spawn(|_, _, _| {}));
        assert_eq!(days.list().unwrap(), []);
        let start: Timestamp = "2026-01-30T12:00:00Z".parse().unwrap();
        for at in 0..40 {
            let now = start + jiff::SignedDuration::from_hours(24 * at);
            keep_day(&days, &surroundings, &array, now).await.unwrap();
            keep_day(&days, &surroundings, &array, now + jiff::SignedDuration::from_hours(11)).await.unwrap();
        }
        std::fs::write(directory.path().join("configuration/notes"), "mine").unwrap();
        let kept = days.list().unwrap();
        assert_eq!((kept.len(), kept[0].day.to_string().as_str()), (30, "2026-03-10"));
        assert_eq!(days.read("2026-02-08".parse().unwrap()).unwrap(), None);
        assert!(days.read(kept[29].day).unwrap().unwrap().contains("format = 1"));
    }
}
