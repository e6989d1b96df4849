//! Attributes, times and names between the wire and the file system, RFC 1813 §2.5 and §2.6.

use super::failure::Reason;
use nfs::v3::{self, FileType, NewAttributes, Status, WccAttributes, WccData};
use vfs::policy::MODE_BITS;
use vfs::{Attributes, Before, Changed, Encoding, Kind, Name, NameError, SetAttributes, SetTime, Timestamp};

/// Identity of a file system in attributes: both halves of that of NFSv4.
pub(crate) const fn fsid(fsid: &nfs::v4::FileSystemId) -> u64 {
    fsid.major ^ fsid.minor
}

/// Attributes of a file.
pub(crate) fn attributes(file: &Attributes, fsid: u64) -> v3::Attributes {
    v3::Attributes {
        kind: kind(file.kind),
        mode: file.mode.into(),
        links: file.links,
        uid: file.user,
        gid: file.group,
        size_bytes: file.size_bytes,
        used_bytes: file.used_bytes,
        device: v3::Device { major: file.device.major, minor: file.device.minor },
        fsid,
        fileid: file.file.0,
        accessed: time(file.accessed),
        modified: time(file.modified),
        changed: time(file.changed),
    }
}

const fn kind(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::Regular,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Link,
        Kind::BlockDevice => FileType::Block,
        Kind::CharacterDevice => FileType::Character,
        Kind::Fifo => FileType::Fifo,
        Kind::Socket => FileType::Socket,
    }
}

/// Time. Seconds are not signed: an earlier time than 1970 is 1970, a later one than 2106 is the last second of it.
fn time(time: Timestamp) -> v3::Time {
    let seconds = u32::try_from(time.seconds().max(0)).unwrap_or(u32::MAX);
    v3::Time { seconds, nanoseconds: time.nanoseconds() }
}

/// Time of a client. `None`: its nanoseconds are a second or more.
pub(crate) fn timestamp(time: &v3::Time) -> Option<Timestamp> {
    Timestamp::new(time.seconds.into(), time.nanoseconds)
}

/// A file before and after a change.
pub(crate) fn changed(changed: &Changed, fsid: u64) -> WccData {
    WccData { before: Some(before(changed.before)), after: Some(attributes(&changed.after, fsid)) }
}

/// A file that was not changed. Both states are of one instant, so nothing came between them.
pub(crate) fn unchanged(file: &Attributes, fsid: u64) -> WccData {
    WccData { before: Some(before(file.into())), after: Some(attributes(file, fsid)) }
}

fn before(before: Before) -> WccAttributes {
    WccAttributes { size_bytes: before.size_bytes, modified: time(before.modified), changed: time(before.changed) }
}

/// Attributes to set. `INVAL`: a time whose nanoseconds are a second or more.
pub(crate) fn to_set(new: &NewAttributes) -> Result<SetAttributes, Status> {
    // An identifier of all ones leaves the owner as it is.
    let identifier = |id: Option<u32>| id.filter(|id| *id != u32::MAX);
    Ok(SetAttributes {
        mode: new.mode.map(mode),
        user: identifier(new.uid),
        group: identifier(new.gid),
        size_bytes: new.size_bytes,
        accessed: set_time(&new.accessed)?,
        modified: set_time(&new.modified)?,
    })
}

/// Clients send the kind of the file in higher bits; those are ignored.
fn mode(mode: u32) -> u16 {
    u16::try_from(mode & u32::from(MODE_BITS)).unwrap_or(MODE_BITS)
}

fn set_time(new: &v3::SetTime) -> Result<Option<SetTime>, Status> {
    match new {
        v3::SetTime::DontChange => Ok(None),
        v3::SetTime::ServerTime => Ok(Some(SetTime::Now)),
        v3::SetTime::ClientTime(time) => timestamp(time).map(|time| Some(SetTime::To(time))).ok_or(Status::INVAL),
    }
}

/// Name in a directory: any bytes but slash and NUL.
pub(crate) fn name(name: &v3::Name) -> Result<Name, NameError> {
    Name::new(name.as_bytes().clone(), Encoding::Any)
}

/// Name of a file that is created. `EXIST`: `.` and `..` exist in every directory.
pub(crate) fn new_name(new: &v3::Name) -> Result<Name, Reason> {
    match name(new) {
        Err(NameError::Dots) => Err(Status::EXIST.into()),
        other => Ok(other?),
    }
}

/// Name that is removed. `ACCES`: `.` and `..` stay.
pub(crate) fn old_name(old: &v3::Name) -> Result<Name, Reason> {
    match name(old) {
        Err(NameError::Dots) => Err(Status::ACCES.into()),
        other => Ok(other?),
    }
}
