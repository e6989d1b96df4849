//! The file of a bundle: a tar archive, compressed by gzip, of a bounded size.

use anyhow::Context;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Largest file. What would exceed it is left out, and the file says so.
const MAX_BYTES: u64 = 64 << 20;
/// Largest member.
pub(crate) const MAX_MEMBER_BYTES: usize = 16 << 20;
/// Room for the heads of a member, for the list of what was left out, and for the end.
const ROOM: u64 = 256 << 10;

/// File that is being written.
pub(crate) struct Archive {
    tar: tar::Builder<GzEncoder<File>>,
    /// What was cut or left out.
    notes: Vec<String>,
}

impl Archive {
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { tar: tar::Builder::new(GzEncoder::new(file, Compression::fast())), notes: Vec::new() })
    }

    /// Adds a member. Its text is cut at the largest size.
    pub(crate) fn add(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        let mut end = text.len().min(MAX_MEMBER_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let cut = text.get(..end).unwrap_or_default();
        self.tar.get_mut().flush()?;
        let written = self.tar.get_ref().get_ref().metadata()?.len();
        // Compressed text is hardly ever longer than the text.
        if written + u64::try_from(cut.len())? + ROOM > MAX_BYTES {
            self.notes.push(format!("{name}: left out, because the bundle would be larger than {MAX_BYTES} bytes"));
            return Ok(());
        }
        if cut.len() < text.len() {
            self.notes.push(format!("{name}: cut at {end} of {} bytes", text.len()));
        }
        self.append(name, cut)
    }

    fn append(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        let mut head = tar::Header::new_gnu();
        head.set_size(u64::try_from(text.len())?);
        head.set_mode(0o600);
        head.set_mtime(u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0));
        self.tar.append_data(&mut head, name, text.as_bytes())?;
        Ok(())
    }

    /// Notes what could not be added.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Ends the file. Returns its size.
    pub(super) fn finish(mut self) -> anyhow::Result<u64> {
        if !self.notes.is_empty() {
            let notes = self.notes.join("\n") + "\n";
            self.append("left-out.txt", &notes)?;
        }
        let file = self.tar.into_inner()?.finish()?;
        file.sync_all()?;
        Ok(file.metadata()?.len())
    }
}

/// Names and sizes of the members of a file.
pub(crate) fn contents(path: &Path) -> anyhow::Result<Vec<(String, u64)>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(file)));
    let mut members = Vec::new();
    for entry in archive.entries()? {
        let entry = entry?;
        members.push((entry.path()?.display().to_string(), entry.size()));
    }
    Ok(members)
}
