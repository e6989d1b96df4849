//! The file system of a directory: its type, its room, and the traffic to its server.

use super::files::Room;
use crate::results::Subject;
use rustix::fs::statvfs;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    point: PathBuf,
    kind: String,
    source: String,
}

/// Determines the room; `None` when the file system does not report it.
pub(crate) fn room(directory: &Path) -> Option<Room> {
    let found = statvfs(directory).ok()?;
    Some(Room {
        size: found.f_blocks * found.f_frsize,
        free: found.f_bavail * found.f_frsize,
        unused: found.f_bfree * found.f_frsize,
    })
}

/// Decodes octal escapes of `proc(5)`: a space is `\040`.
fn unescaped(field: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail
            .get(..3)
            .and_then(|digits| str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (first, code) {
            (b'\\', Some(code)) => {
                bytes.push(code);
                rest = tail.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

/// Parses `36 35 98:0 /root /mount/point options optional - type source super-options`.
fn parse(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let point = left.split(' ').nth(4)?;
    let mut right = right.split(' ');
    let point = PathBuf::from(OsStr::from_bytes(&unescaped(point)));
    let [kind, source] =
        [right.next()?, right.next()?].map(|field| String::from_utf8_lossy(&unescaped(field)).into_owned());
    Some(Mount { point, kind, source })
}

/// Mount that a directory is on: of the mounts above it the deepest, and of these the last, which
/// covers the earlier ones.
fn mount_of(directory: &Path) -> Option<Mount> {
    let directory = directory.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let above = mounts.lines().filter_map(parse).filter(|mount| directory.starts_with(&mount.point));
    above.max_by_key(|mount| mount.point.components().count())
}

/// Describes a directory for a run.
pub(crate) fn subject(directory: &Path) -> Subject {
    let mount = mount_of(directory);
    Subject {
        url: directory.display().to_string(),
        vendor: mount.as_ref().map(|mount| mount.kind.clone()).unwrap_or_default(),
        product: mount.map(|mount| mount.source).unwrap_or_default(),
        size_bytes: room(directory).map_or(0, |room| room.size),
        ..Subject::default()
    }
}

/// Describes the file system of a directory in a sentence.
pub(crate) fn sentence(directory: &Path) -> String {
    match mount_of(directory) {
        Some(mount) => format!("The directory is on {} ({}).", mount.kind, mount.source),
        None => "The file system of the directory is not known.".into(),
    }
}

/// Bytes that this host has read from and written to the server of an NFS mount; `None` for a file
/// system without a server.
pub(crate) fn server_bytes(directory: &Path) -> Option<u64> {
    let mount = mount_of(directory).filter(|mount| mount.kind.starts_with("nfs"))?;
    of_mountstats(&fs::read_to_string("/proc/self/mountstats").ok()?, &mount.point)
}

/// Reads `bytes:`, which has eight numbers: the fifth and the sixth were read from and written to
/// the server.
fn of_mountstats(text: &str, point: &Path) -> Option<u64> {
    let start = format!(" mounted on {} with fstype nfs", point.display());
    let mut lines =
        text.lines().skip_while(|line| !line.contains(&start)).skip(1).take_while(|line| !line.starts_with("device "));
    let numbers = lines.find_map(|line| line.trim_start().strip_prefix("bytes:"))?;
    let mut numbers = numbers.split_ascii_whitespace().skip(4);
    let mut next = || numbers.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo() {
        let mount = parse("36 35 98:0 / /mnt/a\\040b rw,noatime shared:1 master:2 - xfs /dev/loop0 rw,attr2");
        assert_eq!(mount, Some(Mount { point: "/mnt/a b".into(), kind: "xfs".into(), source: "/dev/loop0".into() }));
        assert_eq!(parse("nonsense"), None);
        assert_eq!(unescaped("a\\zz"), b"a\\zz");
    }

    #[test]
    fn every_directory_is_on_something() {
        let found = subject(&std::env::temp_dir());
        assert!(!found.vendor.is_empty() && found.size_bytes > 0, "{found:?}");
        assert_eq!(subject(Path::new("/no/such/directory")).vendor, "");
    }

    #[test]
    fn bytes_of_an_nfs_mount() {
        let text = "device proc mounted on /proc with fstype proc\ndevice h:/e mounted on /mnt/n with fstype nfs4 statvers=1.1\n\topts:\trw\n\
                    \tbytes:\t1 2 3 4 500 60 7 8\ndevice x mounted on /y with fstype nfs statvers=1.1\n\tbytes:\t0 0 0 0 1 1 0 0\n";
        assert_eq!(of_mountstats(text, Path::new("/mnt/n")), Some(560));
        assert_eq!(of_mountstats(text, Path::new("/mnt/other")), None);
    }
}
