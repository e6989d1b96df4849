//! The table of file records as read. A name is a path such as `vm1/disk`.
//!
//! A damaged sector costs only the file that it describes. But it leaves open whether a name is
//! free, or whether a disk has children: callers that need to know get the damage as an error.

use crate::datastore::Datastore;
use crate::error::DatastoreError;
use crate::format::{File, FileId, Heartbeat, Lock, state};
use crate::sector::Loaded;
use data_mover::Device;
use std::collections::BTreeMap;

/// Format of a disk, with vmkfstools' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFormat {
    /// Blocks are allocated when they are written.
    Thin,
    /// All blocks are allocated at creation; each is zeroed before its first write.
    ZeroedThick,
    /// All blocks are allocated and zeroed at creation.
    EagerZeroedThick,
    /// Holds only differences from the disk below.
    Redo,
}

impl DiskFormat {
    pub(crate) fn pack(self) -> u8 {
        match self {
            Self::Thin => 1,
            Self::ZeroedThick => 2,
            Self::EagerZeroedThick => 3,
            Self::Redo => 4,
        }
    }

    pub(crate) fn unpack(value: u8) -> Option<Self> {
        [Self::Thin, Self::ZeroedThick, Self::EagerZeroedThick, Self::Redo].into_iter().find(|f| f.pack() == value)
    }
}

/// A file as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Name of the file.
    pub name: String,
    /// Format of the disk.
    pub format: DiskFormat,
    /// Size in bytes.
    pub size: u64,
    /// Name of the parent disk.
    pub parent: Option<String>,
    /// Whether other disks are, or were, based on it.
    pub frozen: bool,
    /// Creation time, in seconds since 1970.
    pub created: u64,
    /// Modification time, in seconds since 1970.
    pub modified: u64,
    /// Number of touches.
    pub touched: u64,
}

/// All readable records, including free ones.
pub(crate) struct Records {
    records: BTreeMap<u32, Loaded<File>>,
    /// Error of the first damaged sector.
    pub(crate) damaged: Option<DatastoreError>,
}

impl Records {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Loaded<File>> {
        self.records.values()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Loaded<File>> {
        self.records.get(&number)
    }

    /// Finds the file of a name in this state.
    ///
    /// Errors: [`DatastoreError::Damaged`] when no readable record matches, and some record is
    /// damaged.
    pub(crate) fn find(&self, name: &str, of_state: u8) -> Result<Option<&Loaded<File>>, DatastoreError> {
        let found = self.iter().find(|record| record.value.state == of_state && record.value.name() == name);
        match (found, &self.damaged) {
            (None, Some(damaged)) => Err(damaged.clone()),
            (found, _) => Ok(found),
        }
    }

    /// Finds a live file. Errors: [`DatastoreError::NoSuchFile`], and those of [`Self::find`].
    pub(crate) fn live(&self, name: &str) -> Result<&Loaded<File>, DatastoreError> {
        self.find(name, state::LIVE)?.ok_or_else(|| DatastoreError::NoSuchFile(name.into()))
    }

    /// All live files, by name.
    pub(crate) fn files(&self) -> Vec<FileInfo> {
        let names: BTreeMap<FileId, String> = self.iter().map(|record| (id_of(record), record.value.name())).collect();
        let mut files: Vec<FileInfo> = self
            .iter()
            .filter(|record| record.value.state == state::LIVE)
            .filter_map(|record| {
                let file = &record.value;
                Some(FileInfo {
                    name: file.name(),
                    format: DiskFormat::unpack(file.format)?,
                    size: file.size.get(),
                    parent: file.parent().and_then(|id| names.get(&id).cloned()),
                    frozen: file.frozen != 0,
                    created: file.created.get(),
                    modified: file.modified.get(),
                    touched: file.touched.get(),
                })
            })
            .collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files
    }

    /// Disks based on a file, among the readable records.
    pub(crate) fn children(&self, id: FileId) -> Vec<FileId> {
        let child = |record: &&Loaded<File>| record.value.state == state::LIVE && record.value.parent() == Some(id);
        self.iter().filter(child).map(id_of).collect()
    }
}

/// Identity of a record's file; the record's number must match its LBA.
pub(crate) fn id_of(record: &Loaded<File>) -> FileId {
    FileId { record: record.number, generation: record.value.generation.get() }
}

impl<D: Device> Datastore<D> {
    /// All readable files, by name. [`Self::damage`] says whether some are missing.
    pub async fn list(&self) -> Result<Vec<FileInfo>, DatastoreError> {
        Ok(self.readable_records().await?.files())
    }

    /// First damaged sector among the file records, their locks and the heartbeat slots.
    /// [`Self::check`] names the entries that lists omit because of damage.
    pub async fn damage(&self) -> Result<Option<DatastoreError>, DatastoreError> {
        let geometry = self.store.geometry;
        let (_, slots) = self.store.load_readable::<Heartbeat>(geometry.heartbeat(0), geometry.hosts.into()).await?;
        let (_, locks) = self.store.load_readable::<Lock>(geometry.lock(0), geometry.files.into()).await?;
        Ok(self.readable_records().await?.damaged.or(locks).or(slots))
    }

    pub(crate) async fn readable_records(&self) -> Result<Records, DatastoreError> {
        let geometry = self.store.geometry;
        let (loaded, damaged) = self.store.load_readable::<File>(geometry.file(0), geometry.files.into()).await?;
        let records = loaded.into_iter().map(|record| (record.number, record)).collect();
        Ok(Records { records, damaged })
    }

    /// All records, including free ones.
    ///
    /// Errors: [`DatastoreError::Damaged`] when a record is damaged.
    pub(crate) async fn records(&self) -> Result<Vec<Loaded<File>>, DatastoreError> {
        let Records { records, damaged } = self.readable_records().await?;
        damaged.map_or_else(|| Ok(records.into_values().collect()), Err)
    }

    pub(crate) async fn record(&self, number: u32) -> Result<Loaded<File>, DatastoreError> {
        let mut record = self.store.load::<File>(self.store.geometry.file(number)).await?;
        record.number = number;
        Ok(record)
    }

    /// Number of the record of a live file.
    pub(crate) async fn find(&self, name: &str) -> Result<u32, DatastoreError> {
        let is_it = |record: &Loaded<File>| record.value.state == state::LIVE && record.value.name() == name;
        let known = self.names.borrow().get(name).copied();
        if let Some(number) = known
            && self.record(number).await.is_ok_and(|record| is_it(&record))
        {
            return Ok(number);
        }
        let number = self.readable_records().await?.live(name)?.number;
        self.names.borrow_mut().insert(name.into(), number);
        Ok(number)
    }

    /// Disks based on a file.
    ///
    /// Errors: [`DatastoreError::Damaged`] when any record is damaged.
    pub(crate) async fn children(&self, id: FileId) -> Result<Vec<FileId>, DatastoreError> {
        let records = self.readable_records().await?;
        records.damaged.clone().map_or_else(|| Ok(records.children(id)), Err)
    }

    pub(crate) fn format_of(record: &Loaded<File>) -> Result<DiskFormat, DatastoreError> {
        let damaged = DatastoreError::Damaged { lba: record.lba, what: "the format of its file is unknown" };
        DiskFormat::unpack(record.value.format).ok_or(damaged)
    }
}
