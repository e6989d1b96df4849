//! Offload statistics, and the log of commands without success or benefit, with names of the
//! objects.

use crate::directory::Directory;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::live::OffloadRow;
use crate::page::Listed;
use crate::read::Read;
use pool::ObjectId;
use unit::{Ending, LogEntry, Primitive};

/// Lists the counters of each primitive by volume.
#[derive(Clone, Debug, Default)]
pub struct OffloadStatistics {
    /// Only this volume, by name or id; also one deleted recently, by its last name.
    pub volume: Option<String>,
}

/// Lists commands that were refused, failed, or succeeded without the benefit; oldest first. There
/// are never more than the log holds (`MAX_REFUSALS` of the mirror), so that the list has no parts.
#[derive(Clone, Debug)]
pub struct OffloadLog {
    /// Only commands on this volume, as in [`OffloadStatistics`].
    pub volume: Option<String>,
    /// Only commands with this outcome.
    pub ending: Option<Ending>,
    /// Largest number of entries; the newest are returned.
    pub limit: usize,
}

/// Offload row with the volume's name.
#[derive(Clone, Debug)]
pub struct OffloadView {
    /// Name of the volume; of a deleted volume, its last one.
    pub volume: String,
    /// True if the volume was deleted.
    pub deleted: bool,
    /// Counters.
    pub row: OffloadRow,
}

/// Log entry with names.
#[derive(Clone, Debug)]
pub struct RefusalView {
    /// Name of the volume; of a deleted volume, its name at the time of the command.
    pub volume: String,
    /// True if the volume was deleted.
    pub deleted: bool,
    /// Host of the initiator.
    pub host: Option<String>,
    /// Log entry.
    pub entry: LogEntry,
}

impl Read for OffloadStatistics {
    type Reply = Vec<OffloadView>;
    const NAME: &'static str = "offload-statistics";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<OffloadView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for OffloadStatistics {
    type View = OffloadView;
    type Row = OffloadView;

    /// Keys sort as `order` does. Names of volumes contain no space.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, OffloadView)>, ControlError> {
        let mut views = facts.offload_statistics();
        keep_wanted(facts.directory(), &mut views, self.volume.as_deref(), |view| (view.row.volume, &view.row.name))?;
        let key = |view: &OffloadView| {
            let (deleted, name, object, primitive) = order(view);
            format!("{} {name} {:020} {:02}", u8::from(deleted), object.0, primitive as u8)
        };
        Ok(views.into_iter().map(|view| (key(&view), view)).collect())
    }

    fn views(&self, _facts: &dyn Facts, rows: Vec<OffloadView>) -> Vec<OffloadView> {
        rows
    }
}

impl Read for OffloadLog {
    type Reply = Vec<RefusalView>;
    const NAME: &'static str = "offload-log";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<RefusalView>, ControlError> {
        let directory = facts.directory();
        let mut entries = facts.refusals();
        keep_wanted(directory, &mut entries, self.volume.as_deref(), |entry| (object(entry), &entry.volume_name))?;
        entries.retain(|entry| self.ending.is_none_or(|ending| entry.ending == ending));
        let skipped = entries.len().saturating_sub(self.limit);
        let view = |entry: LogEntry| {
            let (volume, deleted) = name_or_last(directory, object(&entry), &entry.volume_name);
            let host = directory.host_of(&entry.initiator).map(|host| host.name.clone());
            RefusalView { volume, deleted, host, entry }
        };
        Ok(entries.into_iter().skip(skipped).map(view).collect())
    }
}

impl dyn Facts + '_ {
    /// All rows by name; those of deleted volumes last.
    pub(crate) fn offload_statistics(&self) -> Vec<OffloadView> {
        let directory = self.directory();
        let view = |row: OffloadRow| {
            let (volume, deleted) = name_or_last(directory, row.volume, &row.name);
            OffloadView { volume, deleted, row }
        };
        let present = directory.volumes().flat_map(|volume| self.unit(volume.object).offload);
        let deleted = self.deleted_offload().into_iter().filter(|row| directory.volume_of(row.volume).is_none());
        let mut views: Vec<OffloadView> = present.chain(deleted).map(view).collect();
        views.sort_by(|one, other| order(one).cmp(&order(other)));
        views
    }
}

/// Object of the volume that a log entry is about.
const fn object(entry: &LogEntry) -> ObjectId {
    ObjectId(entry.volume.0)
}

/// Sort key of a row.
fn order(view: &OffloadView) -> (bool, &str, ObjectId, Primitive) {
    (view.deleted, &view.volume, view.row.volume, view.row.primitive)
}

/// Name of a volume, and whether it was deleted; a deleted volume keeps the name `last`.
fn name_or_last(directory: &Directory, volume: ObjectId, last: &str) -> (String, bool) {
    match directory.volume_of(volume) {
        Some(volume) => (volume.name.clone(), false),
        None => (last.to_owned(), true),
    }
}

/// Retains the rows of a volume: of an existing one by name or id, else of deleted ones with this
/// last name.
///
/// Errors: `NotFound` if neither exists.
fn keep_wanted<T>(
    directory: &Directory,
    rows: &mut Vec<T>,
    volume: Option<&str>,
    volume_of: impl Fn(&T) -> (ObjectId, &String),
) -> Result<(), ControlError> {
    let Some(name) = volume else { return Ok(()) };
    match directory.volume(name) {
        Ok(volume) => rows.retain(|row| volume_of(row).0 == volume.object),
        Err(unknown) => {
            let is_last_name = |row: &T| {
                let (object, last) = volume_of(row);
                last == name && directory.volume_of(object).is_none()
            };
            rows.retain(is_last_name);
            if rows.is_empty() {
                return Err(unknown);
            }
        }
    }
    Ok(())
}
