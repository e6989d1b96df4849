//! Files that the loads use, the same on every server: a directory of many, and some with content.
//!
//! Each block of 4 KiB of content states its offset, so that every read can be checked.

use super::load::{self, Calls, done};
use super::operations::{self, Opened, taken_attributes, taken_handle, taken_open};
use super::session::Session;
use crate::data::BLOCK_BYTES;
use crate::load::{End, Load};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use nfs::v4::attributes::Attribute;
use nfs::v4::{Filehandle, Stable};
use random::sector::{self, Stamp};
use std::net::SocketAddr;

/// Files that CLONE replaces.
pub(crate) const DESTINATIONS: u64 = 64;
/// Files that CLONE takes in turn, so that each one changes its destination.
pub(crate) const SOURCES: u64 = 2;
/// Bytes of a WRITE that fills a file.
const FILL_BYTES: u32 = 128 << 10;
/// Operations outstanding while the tree is built.
const DEPTH: usize = 32;

/// Server with a share.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Name of its rows.
    pub(crate) name: &'static str,
    /// Process id.
    pub(crate) pid: u32,
    /// Address.
    pub(crate) address: SocketAddr,
    /// Name of the share below the server's root.
    pub(crate) share: &'static str,
}

/// Sizes of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Files of the directory of many.
    pub(crate) files: u64,
    /// Bytes of the large file.
    pub(crate) large_bytes: u64,
    /// Bytes of the file that caches hold.
    pub(crate) cached_bytes: u64,
    /// Bytes of a source of CLONE.
    pub(crate) source_bytes: u64,
}

/// File of the directory of many.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) handle: Filehandle,
    pub(crate) fileid: u64,
}

/// Handles of the files.
pub(crate) struct Tree {
    pub(crate) sizes: Sizes,
    /// Root of the share: `large`, `cached`, sources and destinations of CLONE.
    pub(crate) root: Filehandle,
    /// Directory of many.
    pub(crate) many: Filehandle,
    /// Its files, by number.
    pub(crate) files: Vec<Known>,
    /// Directory for files that come and go.
    pub(crate) scratch: Filehandle,
}

/// Name of a file with a number.
pub(crate) fn name(number: u64) -> String {
    format!("file-{number:08}.img")
}

/// Content of a call, but for what states the offset.
pub(crate) struct Content(Vec<u8>);

impl Content {
    pub(crate) fn new(seed: u64, length_bytes: u32) -> Self {
        Self(sector::stamped(seed, 0, u64::from(length_bytes), 0))
    }

    /// Data for this offset. The first sector of each block is enough: its reader looks at no other.
    pub(crate) fn at(&self, offset_bytes: u64) -> Bytes {
        let mut data = self.0.clone();
        for (block, offset) in data.chunks_mut(BLOCK_BYTES as usize).zip((offset_bytes..).step_by(BLOCK_BYTES as usize))
        {
            if let Some(word) = block.get_mut(8..16) {
                word.copy_from_slice(&offset.to_be_bytes());
            }
        }
        data.into()
    }
}

/// Checks that data were written at this offset, and how many they are.
pub(crate) fn check(offset_bytes: u64, length_bytes: u32, data: &[u8]) -> Result<()> {
    ensure!(data.len() == length_bytes as usize, "{} bytes were read of {length_bytes}", data.len());
    for (block, wanted) in data.chunks(BLOCK_BYTES as usize).zip((offset_bytes..).step_by(BLOCK_BYTES as usize)) {
        let stamp = Stamp::stated(block).with_context(|| format!("the block at {wanted} has no content of ours"))?;
        ensure!(
            stamp.offset == wanted,
            "the block at {wanted} was read with the content of the one at {}",
            stamp.offset
        );
    }
    Ok(())
}

/// Opens a file, which is created if `create`.
pub(crate) fn open(session: &mut Session, directory: &Filehandle, name: &str, create: bool) -> Result<Opened> {
    let mut outcomes = session.call(&operations::open(directory, name, create))?;
    taken_open(&mut outcomes).with_context(|| format!("OPEN of {name}"))
}

/// Closes files.
pub(crate) fn close(session: &mut Session, files: &[Opened]) -> Result<()> {
    files.iter().try_for_each(|file| Ok(session.call(&operations::close(file))?.finish()?))
}

/// Creates a directory.
pub(crate) fn directory(session: &mut Session, parent: &Filehandle, name: &str) -> Result<Filehandle> {
    let mut outcomes = session.call(&operations::create_directory(parent, name))?;
    taken_handle(&mut outcomes, 2).with_context(|| format!("CREATE of {name}"))
}

fn fileid(mut outcomes: nfs_client::Outcomes) -> Result<u64> {
    let attributes = taken_attributes(&mut outcomes, 1)?.attributes()?;
    attributes.iter().find_map(as_fileid).context("GETATTR without fileid")
}

/// The number of a file, if the attribute is that.
pub(crate) fn as_fileid(attribute: &Attribute) -> Option<u64> {
    match attribute {
        Attribute::Fileid(fileid) => Some(*fileid),
        _ => None,
    }
}

/// Root of the share of a server.
pub(crate) fn root(session: &mut Session, server: &Server) -> Result<Filehandle> {
    let mut outcomes = session.call(&operations::from_root(&[server.share]))?;
    taken_handle(&mut outcomes, 2).with_context(|| format!("LOOKUP of the share {}", server.share))
}

impl Tree {
    /// Builds the tree in the empty share of a server.
    pub(crate) fn build(server: &Server, sizes: Sizes) -> Result<Self> {
        let mut session = Session::connect(server.address, DEPTH as u32)?;
        let root = root(&mut session, server)?;
        let many = directory(&mut session, &root, "many")?;
        let scratch = directory(&mut session, &root, "scratch")?;
        let mut sessions = [session];
        let (_, handles) = create_files(&mut sessions, server.pid, &many, sizes.files)?;
        let [session] = &mut sessions;
        let mut files = Vec::new();
        for handle in handles {
            let fileid = fileid(session.call(&operations::attributes(&handle))?)?;
            files.push(Known { handle, fileid });
        }
        let contents = [("large".to_owned(), sizes.large_bytes), ("cached".to_owned(), sizes.cached_bytes)];
        let sources = (0..SOURCES).map(|number| (source_name(number), sizes.source_bytes));
        for (seed, (name, size_bytes)) in (1..).zip(contents.into_iter().chain(sources)) {
            let [session] = &mut sessions;
            let file = open(session, &root, &name, true)?;
            fill(&mut sessions, server.pid, &file, seed, size_bytes).with_context(|| format!("filling {name}"))?;
            close(&mut sessions[0], &[file])?;
        }
        let [mut session] = sessions;
        for number in 0..DESTINATIONS {
            let file = open(&mut session, &root, &destination_name(number), true)?;
            close(&mut session, &[file])?;
        }
        session.end()?;
        Ok(Self { sizes, root, many, files, scratch })
    }
}

/// Name of a source of CLONE.
pub(crate) fn source_name(number: u64) -> String {
    format!("source-{number}")
}

/// Name of a destination of CLONE.
pub(crate) fn destination_name(number: u64) -> String {
    format!("destination-{number}")
}

/// Creates files by OPEN and CLOSE; returns their handles too.
pub(crate) fn create_files(
    sessions: &mut [Session],
    pid: u32,
    directory: &Filehandle,
    count: u64,
) -> Result<(Load, Vec<Filehandle>)> {
    let mut handles: Vec<Option<Filehandle>> = vec![None; usize::try_from(count)?];
    let mut work = Calls {
        first: |number| (number < count).then(|| operations::open(directory, &name(number), true)),
        then: |number, mut outcomes: nfs_client::Outcomes| {
            let place = handles.get_mut(number as usize).context("no such file")?;
            if place.is_some() {
                return done(number, outcomes);
            }
            let file = taken_open(&mut outcomes)?;
            let close = operations::close(&file);
            *place = Some(file.handle);
            Ok(Some(close))
        },
        last: None,
    };
    let load = load::run(sessions, pid, DEPTH, End::WhenDone, &mut work)?;
    let handles = handles.into_iter().collect::<Option<_>>().context("a file was not created")?;
    Ok((load, handles))
}

/// Writes all of a file.
fn fill(sessions: &mut [Session], pid: u32, file: &Opened, seed: u64, size_bytes: u64) -> Result<()> {
    let content = Content::new(seed, FILL_BYTES);
    let mut work = Calls {
        first: |number| {
            let offset = number * u64::from(FILL_BYTES);
            (offset < size_bytes).then(|| operations::write(file, offset, content.at(offset), Stable::Unstable))
        },
        then: done,
        last: Some(operations::commit(file)),
    };
    load::run(sessions, pid, 8, End::WhenDone, &mut work)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_states_its_place() {
        let content = Content::new(1, 8192);
        let data = content.at(40_960);
        assert!(check(40_960, 8192, &data).is_ok());
        assert!(check(36_864, 8192, &data).is_err(), "of another place");
        assert!(check(40_960, 8192, &data[..4096]).is_err(), "too short");
        assert!(check(40_960, 4096, &[0; 4096]).is_err(), "zeros");
    }
}
