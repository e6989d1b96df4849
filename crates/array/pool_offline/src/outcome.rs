//! Result of a check, as a value, as JSON and as text.

use std::fmt::{Display, Formatter, Result};

use serde::Serialize;
use uuid::Uuid;

/// Result of a check. Serializes to the JSON of `windlass pool check -o json`, whose fields are
/// only ever added to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckOutcome {
    /// Path of the file or device, as given.
    pub file: String,
    /// Identity of the pool.
    pub uuid: Uuid,
    /// True if there are no findings.
    pub clean: bool,
    /// Size of the pool in bytes.
    pub size_bytes: u64,
    /// Bytes that cannot take new data.
    pub used_bytes: u64,
    /// Bytes that can take new data.
    pub free_bytes: u64,
    /// Log, superblocks, space map and map pages; part of `used_bytes`.
    pub metadata_bytes: u64,
    /// Number of volumes.
    pub volumes: usize,
    /// Number of snapshots.
    pub snapshots: usize,
    /// Number of documents in the catalog.
    pub documents: usize,
    /// Number of map pages verified.
    pub map_pages: u64,
    /// Blocks of 4 KiB that the map reaches, each counted once, blocks of the catalog included.
    pub data_blocks: u64,
    /// True if the content of these blocks was read and verified.
    pub data_verified: bool,
    /// Log records replayed in memory: those after the last checkpoint.
    pub replayed_records: u64,
    /// Bytes of these records in the log.
    pub replayed_bytes: u64,
    /// Number of findings.
    pub finding_count: u64,
    /// Findings, a sentence each: damaged superblock copies, then the first hundred others.
    pub findings: Vec<String>,
}

impl Display for CheckOutcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let verdict = match self.finding_count {
            0 => "clean".to_owned(),
            count => format!("damaged, {}", counted(count, "finding")),
        };
        writeln!(f, "{}: {verdict}", self.file)?;
        writeln!(
            f,
            "  pool      {}, {}, {} used, {} free",
            self.uuid,
            text::size::format(self.size_bytes),
            text::size::format(self.used_bytes),
            text::size::format(self.free_bytes)
        )?;
        writeln!(
            f,
            "  objects   {}, {}, {}",
            counted(self.volumes, "volume"),
            counted(self.snapshots, "snapshot"),
            counted(self.documents, "document")
        )?;
        let data = match self.data_verified {
            true => "verified",
            false => "reached, their content not read (--quick)",
        };
        writeln!(
            f,
            "  checked   {}, reference counts, {} {data}",
            counted(self.map_pages, "map page"),
            counted(self.data_blocks, "data block"),
        )?;
        writeln!(
            f,
            "  log       {} ({}) replayed in memory; the file was not changed",
            counted(self.replayed_records, "record"),
            text::size::format(self.replayed_bytes)
        )?;
        if self.clean {
            return Ok(());
        }
        writeln!(f, "findings:")?;
        for finding in &self.findings {
            writeln!(f, "  {finding}")?;
        }
        let listed = u64::try_from(self.findings.len()).unwrap_or(u64::MAX);
        match self.finding_count.saturating_sub(listed) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more"),
        }
    }
}

/// Formats a count with its noun: `1 volume`, `2 volumes`.
pub(crate) fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}
