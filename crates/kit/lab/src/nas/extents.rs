//! Space of a file, from three sources: blocks of stat(2), data between holes (SEEK_HOLE), and
//! extents that no other file shares (FIEMAP).
//!
//! FIEMAP has no safe call in Rust; `filefrag` of e2fsprogs calls it and is present on nearly every
//! host. Without it, unshared bytes are unknown.

use super::files::Usage;
use super::{NasError, doing};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Determines all of it. The file must be synced: blocks that are not yet allocated are in none of
/// the numbers.
pub(crate) fn usage(file: &File, path: &Path) -> Result<Usage, NasError> {
    let metadata = file.metadata().map_err(doing("look at", path))?;
    let data = data_bytes(file, metadata.len()).map_err(doing("find the holes of", path))?;
    Ok(Usage { capacity: metadata.len(), used: metadata.blocks() * 512, data, unshared: unshared(path) })
}

fn data_bytes(file: &File, size: u64) -> Result<u64, Errno> {
    let (mut data, mut at) = (0, 0);
    while at < size {
        let begin = match seek(file, SeekFrom::Data(at)) {
            Ok(begin) => begin,
            // No data behind this offset.
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(errno),
        };
        let end = seek(file, SeekFrom::Hole(begin))?;
        data += end.saturating_sub(begin);
        at = end.max(at + 1);
    }
    Ok(data)
}

/// Sum of the extents that are not shared.
fn unshared(path: &Path) -> Option<u64> {
    let program = ["/usr/sbin/filefrag", "/sbin/filefrag", "/usr/bin/filefrag"]
        .into_iter()
        .find(|program| Path::new(program).is_file())?;
    let output = Command::new(program).arg("-v").arg(path).stdin(Stdio::null()).env("LC_ALL", "C").output().ok()?;
    if !output.status.success() {
        return None;
    }
    sum_unshared(&String::from_utf8_lossy(&output.stdout))
}

/// Parses lines of the form `   0:        0..    8191:      34816..     43007:   8192:
/// last,shared,eof`; the second line has the block size.
fn sum_unshared(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(" blocks of ").or_else(|| text.split_once(" block of "))?;
    let block_bytes: u64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
    let mut blocks = 0;
    for line in text.lines() {
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        let [index, logical, physical, length, flags @ ..] = fields.as_slice() else { continue };
        if index.parse::<u64>().is_err() || !logical.contains("..") || !physical.contains("..") {
            continue;
        }
        let shared = flags.last().is_some_and(|flags| flags.split([',', ' ']).any(|flag| flag == "shared"));
        if !shared {
            blocks += length.parse::<u64>().ok()?;
        }
    }
    Some(blocks * block_bytes)
}

#[cfg(test)]
mod tests {
    use super::sum_unshared;

    #[test]
    fn shared_extents_do_not_count() {
        let text = "Filesystem type is: 58465342\nFile size of clone is 67108864 (16384 blocks of 4096 bytes)\n \
                    ext:     logical_offset:        physical_offset: length:   expected: flags:\n   \
                    0:        0..    4095:      34816..     38911:   4096:             shared\n   \
                    1:     4096..    8191:      51200..     55295:   4096:      38912:\n   \
                    2:     8192..   16383:      43008..     51199:   8192:      55296: last,shared,eof\n\
                    clone: 3 extents found\n";
        assert_eq!(sum_unshared(text), Some(4096 * 4096));
        assert_eq!(sum_unshared("File size of empty is 0 (0 blocks of 4096 bytes)\nempty: 0 extents found\n"), Some(0));
        assert_eq!(sum_unshared("nothing of the kind"), None);
    }
}
