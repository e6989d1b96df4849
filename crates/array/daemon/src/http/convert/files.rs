//! Files of shares.

use api::{File, FileKind, FileSpace};
use control::{FileInfo, FileRange, FileView};
use std::fmt::Write;

const fn kind(kind: control::FileKind) -> FileKind {
    match kind {
        control::FileKind::File => FileKind::File,
        control::FileKind::Directory => FileKind::Directory,
        control::FileKind::Symlink => FileKind::Symlink,
        control::FileKind::Special => FileKind::Special,
    }
}

pub(in crate::http) fn file(share: String, info: FileInfo, snapshots: Option<u64>) -> File {
    File {
        share,
        path: info.path,
        kind: kind(info.kind),
        size_bytes: info.size_bytes,
        used_bytes: info.used_bytes,
        space: info.space.map(|space| FileSpace {
            mapped_bytes: space.mapped_bytes,
            promised_bytes: space.promised_bytes,
            unshared_bytes: space.unshared_bytes,
        }),
        snapshots,
        owner_uid: info.uid,
        owner_gid: info.gid,
        mode: format!("{:04o}", info.mode),
        links: info.links,
        modified: info.modified,
        damaged: info.damaged,
    }
}

pub(in crate::http) fn file_view(view: FileView) -> File {
    file(view.share, view.info, Some(view.snapshots))
}

pub(in crate::http) fn file_range(range: api::FileRange) -> FileRange {
    FileRange { offset_bytes: range.offset_bytes, length_bytes: range.length_bytes }
}

/// Text as one segment of a path.
pub(in crate::http) fn segment(text: &str) -> String {
    let mut segment = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            segment.push(char::from(byte));
        } else {
            let _infallible = write!(segment, "%{byte:02X}");
        }
    }
    segment
}
