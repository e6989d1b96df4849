//! What READDIR and READDIRPLUS have in common: dots, cookies, their verifier, and the room of the reply.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use nfs::v3::{Filehandle, Status, Verifier};
use vfs::pause;
use vfs::{Attributes, Call, Caller, Cookie, FileId, FileSystem, FsError};

/// Longest results: `dtpref` of FSINFO.
pub(super) const MOST_LISTED_BYTES: u32 = 65_536;

/// Cookies of `.` and `..`, which a file system does not store.
const DOT: u64 = 1;
const DOTS: u64 = 2;

/// Bit that keeps the verifier from being zero, which clients send at the start.
const VERIFIER: u64 = 1 << 63;

/// Bytes on the wire of the results without entries: status, attributes, verifier, end of the list, eof.
const FIXED_BYTES: usize = 4 + (4 + ATTRIBUTES_BYTES) + 8 + 4 + 4;
/// Bytes of `fattr3`.
pub(super) const ATTRIBUTES_BYTES: usize = 84;

/// Where a listing continues, and how long its results may be.
pub(super) struct Wanted<'a> {
    /// Directory.
    pub directory: &'a Filehandle,
    /// Cookie of the last entry that the client has.
    pub cookie: u64,
    /// Verifier of that cookie.
    pub verifier: Verifier,
    /// Longest results.
    pub most_bytes: u32,
    /// Whether entries have attributes.
    pub attributes: bool,
}

/// Entry of a directory, dots included.
pub(super) struct Listed {
    /// Position behind the entry.
    pub cookie: u64,
    /// Name.
    pub name: nfs::v3::Name,
    /// File.
    pub file: FileId,
    /// Attributes, if they were wanted and can be read.
    pub attributes: Option<Attributes>,
}

/// Entries that fit into the results.
pub(super) struct Listing<T> {
    /// Entries.
    pub entries: Vec<T>,
    /// Whether these are the last ones.
    pub end: bool,
    /// Verifier of the cookies.
    pub verifier: Verifier,
    /// The directory.
    pub directory: nfs::v3::Attributes,
}

/// Lists a directory, as many entries as fit. `entry` makes one and tells its length on the wire.
///
/// * `BAD_COOKIE`: the cookie is of another directory listing.
/// * `TOOSMALL`: not even one entry fits.
pub(super) async fn list<F: FileSystem, T>(
    context: &Context<'_, F>,
    wanted: Wanted<'_>,
    entry: impl Fn(&File<'_, F>, Listed) -> (T, usize),
) -> Outcome<Listing<T>, Option<nfs::v3::Attributes>> {
    let directory = context.file(wanted.directory)?;
    match fill(&directory, &wanted, entry).await {
        Ok(listing) => Ok(listing),
        Err(reason) => Err(reason.with(directory.attributes().await)),
    }
}

async fn fill<F: FileSystem, T>(
    directory: &File<'_, F>,
    wanted: &Wanted<'_>,
    entry: impl Fn(&File<'_, F>, Listed) -> (T, usize),
) -> Result<Listing<T>, Reason> {
    // Cookies mean the same whatever happens to the directory, so that the verifier never changes.
    let verifier = (VERIFIER | directory.object()).to_be_bytes();
    if wanted.cookie != 0 && wanted.verifier != verifier && wanted.verifier != [0; 8] {
        return Err(Status::BAD_COOKIE.into());
    }
    let most_bytes = usize::try_from(wanted.most_bytes.min(MOST_LISTED_BYTES)).unwrap_or(usize::MAX);
    let mut room = most_bytes.checked_sub(FIXED_BYTES).ok_or(Status::TOOSMALL)?;
    let (mut entries, mut after) = (Vec::new(), wanted.cookie);
    loop {
        let (listed, end, attributes) = some(directory, after, wanted.attributes).await?;
        let found = listed.len();
        let before = entries.len();
        for listed in listed {
            after = listed.cookie;
            let (entry, bytes) = entry(directory, listed);
            let Some(left) = room.checked_sub(bytes) else { break };
            room = left;
            entries.push(entry);
        }
        let all = entries.len() - before == found;
        if !all && entries.is_empty() {
            return Err(Status::TOOSMALL.into());
        }
        if end || !all {
            let directory = directory.wire(&attributes);
            return Ok(Listing { entries, end: end && all, verifier, directory });
        }
        pause().await;
    }
}

/// The next entries behind a cookie, whether none follow, and the directory.
async fn some<F: FileSystem>(
    directory: &File<'_, F>,
    after: u64,
    with_attributes: bool,
) -> Result<(Vec<Listed>, bool, Attributes), Reason> {
    let limit = directory.limits().listed_entries;
    let behind = Cookie(if after <= DOTS { 0 } else { after });
    let listing = directory.files().read_directory(directory.call(), directory.id, behind, limit, with_attributes);
    let listing = listing.await?;
    let mut listed = Vec::with_capacity(listing.entries.len().saturating_add(2));
    if after < DOT {
        listed.push(dot(DOT, ".", listing.directory));
    }
    if after < DOTS {
        listed.push(dot(DOTS, "..", parent(directory).await?));
    }
    listed.extend(listing.entries.into_iter().map(|entry| Listed {
        cookie: entry.cookie.0,
        name: entry.name.as_bytes().into(),
        file: entry.file,
        attributes: entry.attributes.and_then(Result::ok),
    }));
    Ok((listed, listing.end, listing.directory))
}

fn dot(cookie: u64, name: &str, file: Attributes) -> Listed {
    Listed { cookie, name: name.into(), file: file.file, attributes: Some(file) }
}

/// Parent of the directory. A caller that may list a directory sees `..`, even if it may not look names
/// up.
async fn parent<F: FileSystem>(directory: &File<'_, F>) -> Result<Attributes, FsError> {
    let root = Caller::root();
    directory.files().parent(Call::new(&root, directory.call().now), directory.id).await
}

/// Bytes on the wire of what both kinds of entries have: whether one follows, number, name, cookie.
pub(super) fn entry_bytes(name: &[u8]) -> usize {
    4 + 8 + 4 + name.len().next_multiple_of(4) + 8
}
