//! Support bundles: what the array knows of itself, in one file for those who help. Files in `STATE_DIR/bundles`.

mod archive;
mod names;

pub(crate) use archive::{Archive, MAX_MEMBER_BYTES, contents};
pub(crate) use names::Names;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use reactor::state_files::write_private;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// Name of the directory, in the state directory.
const DIRECTORY: &str = "bundles";
/// Name of the file with the key of replaced names, in that directory.
const KEY: &str = "names.key";
/// Time for which a bundle is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24);
/// Time between two looks for what is not kept any more.
const TIDY_INTERVAL: Duration = Duration::from_secs(600);
/// Largest number of bundles.
const MAX_BUNDLES: usize = 3;
/// End of the names of files.
const EXTENSION: &str = ".tar.gz";
/// End of the name of a file that is not complete.
const INCOMPLETE: &str = ".incomplete";

/// A bundle that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bundle {
    pub id: Uuid,
    pub created: Timestamp,
    pub size_bytes: u64,
    /// Names, initiators and addresses were replaced.
    pub is_replaced: bool,
}

/// Bundles of a state directory.
#[derive(Clone)]
pub(crate) struct Bundles {
    directory: PathBuf,
    /// One is made at a time.
    places: Arc<Semaphore>,
}

impl Bundle {
    fn file(&self) -> String {
        let names = if self.is_replaced { "replaced" } else { "real" };
        format!("{}_{}_{names}{EXTENSION}", self.created.as_second(), self.id)
    }

    fn parse(name: &str, size_bytes: u64) -> Option<Self> {
        let mut parts = name.strip_suffix(EXTENSION)?.split('_');
        let (seconds, id, names) = (parts.next()?, parts.next()?, parts.next()?);
        let created = Timestamp::from_second(seconds.parse().ok()?).ok()?;
        Some(Self { id: id.parse().ok()?, created, size_bytes, is_replaced: names == "replaced" })
    }
}

impl Bundles {
    pub(crate) fn of(state_dir: &Path) -> Self {
        Self { directory: state_dir.join(DIRECTORY), places: Arc::new(Semaphore::new(1)) }
    }

    /// Takes the place in which a bundle is made; absent if one is being made.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Bundles, newest first.
    pub(crate) fn list(&self) -> anyhow::Result<Vec<Bundle>> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", self.directory.display())),
        };
        let mut bundles = Vec::new();
        for entry in entries {
            let entry = entry?;
            // It may be removed meanwhile.
            let Ok(found) = entry.metadata() else { continue };
            bundles.extend(entry.file_name().to_str().and_then(|name| Bundle::parse(name, found.len())));
        }
        bundles.sort_unstable_by_key(|bundle| std::cmp::Reverse((bundle.created, bundle.id)));
        Ok(bundles)
    }

    /// Path of a bundle; absent if it is not kept.
    pub(crate) fn path(&self, id: Uuid) -> anyhow::Result<Option<PathBuf>> {
        let found = self.list()?.into_iter().find(|bundle| bundle.id == id);
        Ok(found.map(|bundle| self.directory.join(bundle.file())))
    }

    /// Removes a bundle. Returns whether there was one.
    pub(crate) fn remove(&self, id: Uuid) -> anyhow::Result<bool> {
        let Some(path) = self.path(id)? else { return Ok(false) };
        remove_file(&path)
    }

    /// Removes bundles that are older than a day, and all beyond the newest `most`.
    fn remove_old(&self, now: Timestamp, most: usize) -> anyhow::Result<()> {
        for (at, bundle) in self.list()?.into_iter().enumerate() {
            if at >= most || now.duration_since(bundle.created) > KEPT {
                self.remove(bundle.id)?;
            }
        }
        Ok(())
    }

    /// Removes bundles that are not kept any more.
    pub(crate) fn expire(&self, now: Timestamp) -> anyhow::Result<()> {
        self.remove_old(now, MAX_BUNDLES)
    }

    /// The same, and, unless a bundle is being made, what is left of one that was not finished.
    pub(crate) fn tidy(&self, now: Timestamp) -> anyhow::Result<()> {
        if let Some(_place) = self.place() {
            remove_file(&self.directory.join(INCOMPLETE))?;
        }
        self.expire(now)
    }

    /// Removes what is not kept any more, again and again, until it is aborted.
    pub(crate) async fn keep_tidy(self) {
        let mut ticks = tokio::time::interval(TIDY_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let of = self.clone();
            let tidied = tokio::task::spawn_blocking(move || of.tidy(Timestamp::now())).await;
            if let Err(error) = tidied.map_err(anyhow::Error::from).and_then(|result| result) {
                tracing::warn!(error = format!("{error:#}"), "old support bundles could not be removed");
            }
        }
    }

    /// Begins the file of a new bundle. Also returns the key of replaced names, the same for all bundles of an array.
    pub(crate) fn begin(&self) -> anyhow::Result<(Archive, String)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let key = self.directory.join(KEY);
        if !key.try_exists()? {
            let mut bytes = [0_u8; 32];
            getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
            write_private(&key, &identity::hexadecimal(&bytes))?;
        }
        let digits = std::fs::read_to_string(&key).with_context(|| format!("cannot read {}", key.display()))?;
        let archive = Archive::create(&self.directory.join(INCOMPLETE))?;
        Ok((archive, digits))
    }

    /// Keeps a complete file as a bundle, in the place of the oldest one.
    pub(crate) fn keep(&self, archive: Archive, is_replaced: bool, now: Timestamp) -> anyhow::Result<Bundle> {
        let size_bytes = archive.finish()?;
        self.remove_old(now, MAX_BUNDLES - 1)?;
        let bundle = Bundle { id: Uuid::now_v7(), created: now, size_bytes, is_replaced };
        let path = self.directory.join(bundle.file());
        std::fs::rename(self.directory.join(INCOMPLETE), &path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(bundle)
    }
}

/// Removes a file. Returns whether there was one: others may have removed it.
fn remove_file(path: &Path) -> anyhow::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use crate::memory::TemporaryDirectory;

    #[test]
    fn three_bundles_are_kept_for_a_day() {
        let directory = TemporaryDirectory::new();
        let bundles = Bundles::of(directory.path());
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut keys = Vec::new();
        for hour in 0..5 {
            let (mut archive, key) = bundles.begin().unwrap();
            archive.add("a.txt", "text").unwrap();
            bundles.keep(archive, hour == 4, start + SignedDuration::from_hours(hour)).unwrap();
            keys.push(key);
        }
        assert!(keys.iter().all(|key| *key == keys[0]));
        let kept = bundles.list().unwrap();
        let hours: Vec<i64> = kept.iter().map(|of| of.created.duration_since(start).as_hours()).collect();
        assert_eq!((hours, kept[0].is_replaced, kept[1].is_replaced), (vec![4, 3, 2], true, false));
        let path = bundles.path(kept[0].id).unwrap().unwrap();
        assert_eq!(contents(&path).unwrap(), [("a.txt".to_owned(), 4)]);
        bundles.tidy(start + SignedDuration::from_hours(27)).unwrap();
        assert_eq!(bundles.list().unwrap(), kept[..2]);
        assert!(bundles.remove(kept[0].id).unwrap() && !bundles.remove(kept[0].id).unwrap());
    }

    /// After a crash, an unfinished bundle stayed with up to 64 MiB of real names.
    #[test]
    fn what_is_left_of_an_unfinished_bundle_is_removed() {
        let directory = TemporaryDirectory::new();
        let bundles = Bundles::of(directory.path());
        let incomplete = directory.path().join(DIRECTORY).join(INCOMPLETE);
        let place = bundles.place();
        let (archive, _) = bundles.begin().unwrap();
        bundles.tidy(Timestamp::now()).unwrap();
        assert!(incomplete.exists(), "the file of a bundle that is being made was removed");
        drop((archive, place));
        bundles.tidy(Timestamp::now()).unwrap();
        assert!(!incomplete.exists());
    }

    /// Two readers of the list removed the same file, and one of them failed; a finished bundle counted as failed.
    #[test]
    fn several_can_tidy_at_once() {
        let directory = TemporaryDirectory::new();
        let bundles = Bundles::of(directory.path());
        let now = Timestamp::now();
        for _round in 0..20 {
            let place = bundles.place();
            let (archive, _) = bundles.begin().unwrap();
            bundles.keep(archive, false, now).unwrap();
            drop(place);
            let later = now + SignedDuration::from_hours(25);
            std::thread::scope(|scope| {
                let tidying: Vec<_> = (0..4).map(|_| scope.spawn(|| bundles.tidy(later))).collect();
                tidying.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
            });
            assert_eq!(bundles.list().unwrap(), []);
        }
    }
}
