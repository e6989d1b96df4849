//! The template disk: a raw image with an ext4 file system that holds copies of files of this machine.

use crate::tools::Tools;
use anyhow::{Context, Result, ensure};
use array_process::program;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Directories from which real files are copied, in this order.
const SOURCES: [&str; 4] = ["/usr/share", "/usr/lib", "/usr/bin", "/usr/include"];
/// Largest number of files: an image with very many tiny files takes long to create.
const MOST_FILES: u64 = 20_000;
/// Largest file that is copied; larger ones would leave no room for others.
const LARGEST_FILE_BYTES: u64 = 64 << 20;

/// The image and its content.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// The raw image.
    pub(crate) image: PathBuf,
    /// Number of files in it.
    pub(crate) files: u64,
    /// Bytes in those files.
    pub(crate) bytes: u64,
}

/// Creates the image, `size_bytes` long, with about `content_bytes` of files in it.
pub(crate) fn create(tools: &Tools, directory: &Path, size_bytes: u64, content_bytes: u64) -> Result<Template> {
    let tree = directory.join("tree");
    std::fs::create_dir_all(&tree)?;
    let mut harvest = Harvest { files: 0, bytes: 0, wanted_bytes: content_bytes };
    for source in SOURCES {
        let source = Path::new(source);
        harvest.copy_directory(source, &tree.join(source.strip_prefix("/").unwrap_or(source)))?;
    }
    ensure!(harvest.files > 0, "found no readable file under {}", SOURCES.join(", "));
    let image = directory.join("template.img");
    File::create(&image)?.set_len(size_bytes)?;
    let (image_name, tree_name) = (image.display().to_string(), tree.display().to_string());
    let arguments = ["-q", "-F", "-L", "template", "-d", &tree_name, &image_name];
    program::require(&tools.mkfs_ext4, &arguments, Duration::from_secs(120)).context("cannot make the file system")?;
    std::fs::remove_dir_all(&tree)?;
    Ok(Template { image, files: harvest.files, bytes: harvest.bytes })
}

/// Files copied so far, and the number of bytes to reach.
struct Harvest {
    files: u64,
    bytes: u64,
    wanted_bytes: u64,
}

impl Harvest {
    fn enough(&self) -> bool {
        self.bytes >= self.wanted_bytes || self.files >= MOST_FILES
    }

    /// Copies the regular files under `from`. Links, devices and unreadable files are left out: any
    /// content will do.
    fn copy_directory(&mut self, from: &Path, to: &Path) -> Result<()> {
        let Ok(entries) = std::fs::read_dir(from) else { return Ok(()) };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            if self.enough() {
                return Ok(());
            }
            let Ok(metadata) = entry.metadata() else { continue };
            let target = to.join(entry.file_name());
            if metadata.is_dir() {
                self.copy_directory(&entry.path(), &target)?;
            } else if metadata.is_file() && metadata.len() <= LARGEST_FILE_BYTES {
                let Ok(mut source) = File::open(entry.path()) else { continue };
                std::fs::create_dir_all(to)?;
                let mut copy = File::create(&target)?;
                self.bytes += std::io::copy(&mut source, &mut copy)
                    .with_context(|| format!("cannot copy {} to {}", entry.path().display(), target.display()))?;
                self.files += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn the_harvest_stops_when_it_has_enough() {
        let from = tempfile::tempdir().unwrap();
        let to = tempfile::tempdir().unwrap();
        std::fs::create_dir(from.path().join("a")).unwrap();
        for name in ["a/1", "a/2", "b", "c"] {
            std::fs::write(from.path().join(name), [7; 100]).unwrap();
        }
        std::os::unix::fs::symlink("b", from.path().join("0link")).unwrap();
        let mut harvest = Harvest { files: 0, bytes: 0, wanted_bytes: 250 };
        harvest.copy_directory(from.path(), to.path()).unwrap();
        assert_eq!((harvest.files, harvest.bytes), (3, 300));
        assert!(to.path().join("a/2").exists() && to.path().join("b").exists());
        assert!(!to.path().join("c").exists() && !to.path().join("0link").exists());
    }
}
