//! Files as administration sees them: descriptions and lists.

use super::path::locate;
use super::refusal::refused;
use control::{FileInfo, FileKind, FileListing, FilePart, FilePlace, FileRefusal, FileSpace};
use vfs::{Attributes, Call, Cookie, Entry, FileSystem, FsError, Kind};

const fn kind(kind: Kind) -> FileKind {
    match kind {
        Kind::File => FileKind::File,
        Kind::Directory => FileKind::Directory,
        Kind::Symlink => FileKind::Symlink,
        Kind::BlockDevice | Kind::CharacterDevice | Kind::Fifo | Kind::Socket => FileKind::Special,
    }
}

fn described(path: String, attributes: &Attributes) -> FileInfo {
    let kind = kind(attributes.kind);
    let modified = attributes.modified;
    let nanoseconds = i32::try_from(modified.nanoseconds()).unwrap_or_default();
    FileInfo {
        path,
        kind,
        size_bytes: if matches!(kind, FileKind::File | FileKind::Symlink) { attributes.size_bytes } else { 0 },
        used_bytes: attributes.used_bytes,
        mode: attributes.mode,
        uid: attributes.user,
        gid: attributes.group,
        links: attributes.links,
        modified: jiff::Timestamp::new(modified.seconds(), nanoseconds).unwrap_or_default(),
        space: None,
        damaged: false,
    }
}

async fn space<F: FileSystem>(files: &F, attributes: &Attributes) -> Result<FileSpace, FsError> {
    let space = files.space(attributes.file).await?;
    Ok(FileSpace {
        mapped_bytes: space.mapped_bytes,
        promised_bytes: space.promised_bytes,
        unshared_bytes: space.freed_bytes,
    })
}

/// Description of a file, with its space if it has been asked for.
pub(super) async fn info<F: FileSystem>(
    files: &F,
    at: &FilePlace,
    attributes: &Attributes,
    with_space: bool,
) -> Result<FileInfo, FileRefusal> {
    let described = described(at.path.clone(), attributes);
    let space = match with_space {
        true => Some(space(files, attributes).await.map_err(|error| refused(error, &at.shown))?),
        false => None,
    };
    Ok(FileInfo { space, ..described })
}

/// Lists a part of a directory, or another file alone.
pub(super) async fn list<F: FileSystem>(
    files: &F,
    call: Call<'_>,
    at: &FilePlace,
    part: FilePart,
) -> Result<FileListing, FileRefusal> {
    let found = locate(files, call, at).await?;
    if found.kind != Kind::Directory {
        return Ok(FileListing { files: vec![info(files, at, &found, part.space).await?], next: None });
    }
    let mut listing = FileListing::default();
    let mut after = Cookie(part.after);
    while listing.files.len() < part.most {
        let most = part.most - listing.files.len();
        let entries = files.read_directory(call, found.file, after, most, true).await;
        let entries = entries.map_err(|error| refused(error, &at.shown))?;
        for entry in &entries.entries {
            after = entry.cookie;
            listing.files.extend(listed(files, at, entry, part.space).await?);
        }
        if entries.end {
            return Ok(listing);
        }
        // Hosts are served between the parts.
        tokio::task::yield_now().await;
    }
    listing.next = Some(after.0);
    Ok(listing)
}

/// Description of an entry; `None` if its file was removed meanwhile.
async fn listed<F: FileSystem>(
    files: &F,
    at: &FilePlace,
    entry: &Entry,
    with_space: bool,
) -> Result<Option<FileInfo>, FileRefusal> {
    let name = String::from_utf8_lossy(entry.name.as_bytes());
    let path = if at.path.is_empty() { name.into_owned() } else { format!("{}/{name}", at.path) };
    let shown = format!("{}/{}", at.shown, String::from_utf8_lossy(entry.name.as_bytes()));
    let attributes = match &entry.attributes {
        Some(Ok(attributes)) => *attributes,
        Some(Err(FsError::ReadFailed { .. })) => return Ok(Some(damaged(path, entry.kind))),
        Some(Err(error)) => return Err(refused(error.clone(), &shown)),
        None => return Ok(None),
    };
    let described = described(path.clone(), &attributes);
    if !with_space {
        return Ok(Some(described));
    }
    match space(files, &attributes).await {
        Ok(space) => Ok(Some(FileInfo { space: Some(space), ..described })),
        Err(FsError::Stale) => Ok(None),
        Err(FsError::ReadFailed { .. }) => Ok(Some(damaged(path, entry.kind))),
        Err(error) => Err(refused(error, &shown)),
    }
}

/// Description of a file that cannot be read.
fn damaged(path: String, of: Kind) -> FileInfo {
    FileInfo {
        path,
        kind: kind(of),
        size_bytes: 0,
        used_bytes: 0,
        mode: 0,
        uid: 0,
        gid: 0,
        links: 0,
        modified: jiff::Timestamp::UNIX_EPOCH,
        space: None,
        damaged: true,
    }
}
