//! Archive of files in the "new ASCII" format of cpio, which Linux unpacks as its first root file
//! system (kernel documentation, `driver-api/early-userspace/buffer-format`). Only directories and
//! regular files, owned by root.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::io::Write;

/// `S_IFDIR` and `S_IFREG` with permissions for everyone to read and execute.
const DIRECTORY_MODE: u32 = 0o040_755;
const FILE_MODE: u32 = 0o100_755;

/// Archive being written.
pub(crate) struct Archive<W> {
    output: W,
    entries: u32,
    directories: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    /// Creates an empty archive.
    pub(crate) fn new(output: W) -> Self {
        Self { output, entries: 0, directories: BTreeSet::new() }
    }

    /// Adds a file, after the directories of its path; `path` has no leading `/`.
    pub(crate) fn file(&mut self, path: &str, content: &[u8]) -> Result<()> {
        for (at, _) in path.match_indices('/') {
            let directory = path.get(..at).unwrap_or_default();
            if self.directories.insert(directory.to_owned()) {
                self.entry(directory, DIRECTORY_MODE, 2, &[])?;
            }
        }
        self.entry(path, FILE_MODE, 1, content)
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.entry("TRAILER!!!", 0, 1, &[])?;
        Ok(self.output.flush()?)
    }

    /// Writes a header of 110 characters, the NUL-terminated name, and the content; name and
    /// content are padded to a multiple of four.
    fn entry(&mut self, name: &str, mode: u32, links: u32, content: &[u8]) -> Result<()> {
        self.entries += 1;
        let size = u32::try_from(content.len()).with_context(|| format!("{name} is too large for the archive"))?;
        let name_size = u32::try_from(name.len() + 1).with_context(|| format!("the name {name} is too long"))?;
        // Inode, mode, owner, group, links, time, size, device (4 numbers), length of the name, no checksum.
        let fields = [self.entries, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
        let header = fields.iter().fold("070701".to_owned(), |header, field| format!("{header}{field:08X}"));
        let head = [header.as_bytes(), name.as_bytes(), b"\0"].concat();
        for part in [head.as_slice(), content] {
            self.output.write_all(part)?;
            self.output.write_all(padding(part.len()))?;
        }
        Ok(())
    }
}

/// Zeros up to a multiple of four.
fn padding(length: usize) -> &'static [u8] {
    [&b""[..], &b"\0\0\0"[..], &b"\0\0"[..], &b"\0"[..]].get(length % 4).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn entries_are_aligned_and_directories_come_first_and_once() {
        let mut bytes = Vec::new();
        let mut archive = Archive::new(&mut bytes);
        archive.file("a/b/one", b"12345").unwrap();
        archive.file("a/two", b"").unwrap();
        archive.finish().unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let names: Vec<_> = bytes
            .windows(6)
            .enumerate()
            .filter(|(_, window)| *window == b"070701")
            .map(|(at, _)| {
                assert_eq!(at % 4, 0);
                let rest = &bytes[at + 110..];
                String::from_utf8_lossy(&rest[..rest.iter().position(|byte| *byte == 0).unwrap()]).into_owned()
            })
            .collect();
        assert_eq!(names, ["a", "a/b", "a/b/one", "a/two", "TRAILER!!!"]);
    }
}
