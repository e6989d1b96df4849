//! READDIR, RFC 8881 §18.23.

use super::context::Context;
use super::object::{File, Object, export};
use super::row::{HANDLE, Row};
use super::subject::{gather, place};
use crate::attributes::{Place, Subject, check_readable, needs_space, read_error};
use crate::failure::Failure;
use crate::pseudo;
use crate::status;
use nfs::v4::attributes::Fattr;
use nfs::v4::names::{Entry, ReadDirectoryArguments, ReadDirectoryOk};
use nfs::v4::{FileSystemId, Status, Verifier};
use vfs::pause;
use vfs::{Call, Cookie, FileSystem, FsError, Space};

pub(super) const ROW: Row = Row {
    code: 26,
    statuses: &[HANDLE, &[Status::BAD_COOKIE, Status::INVAL, Status::NOTDIR, Status::NOT_SAME, Status::TOOSMALL]],
    reply_bytes: NO_RESULTS_BYTES,
};

const NO_RESULTS_BYTES: usize = super::row::NO_RESULTS_BYTES;
/// Length of a `READDIR4resok` without entries: verifier, end of the list, eof.
const OK_BYTES: usize = 16;
/// Length of an entry without name and attributes: its announcement, cookie, three lengths.
const ENTRY_BYTES: usize = 24;

/// Lists the current directory, as many entries as the client and the reply have room for.
///
/// * `BAD_COOKIE`: a cookie that no entry ever has. `NOT_SAME`: the verifier of another directory.
/// * `TOOSMALL`: no room for one entry.
/// * An entry whose attributes cannot be read fails the operation, unless `rdattr_error` is wanted.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReadDirectoryArguments,
) -> Result<ReadDirectoryOk, Failure> {
    check_readable(&arguments.wanted)?;
    let verifier = verifier(context.current()?);
    if arguments.cookie != Cookie::START.0 {
        if arguments.cookie < Cookie::FIRST.0 {
            return Err(Status::BAD_COOKIE.into());
        }
        if arguments.verifier != verifier {
            return Err(Status::NOT_SAME.into());
        }
    }
    let most = usize::try_from(arguments.max_count_bytes).unwrap_or(usize::MAX);
    let room = most.min(context.room_bytes.saturating_sub(NO_RESULTS_BYTES));
    let mut page = Page { room_bytes: room.checked_sub(OK_BYTES).ok_or(Status::TOOSMALL)?, entries: Vec::new() };
    let eof = match context.current()? {
        Object::PseudoRoot => list_shares(context, arguments, &mut page).await?,
        Object::File(directory) => list(context, arguments, directory, &mut page).await?,
    };
    if page.entries.is_empty() && !eof {
        return Err(Status::TOOSMALL.into());
    }
    Ok(ReadDirectoryOk { verifier, entries: page.entries.into(), eof })
}

/// Entries that fit into a reply.
struct Page {
    room_bytes: usize,
    entries: Vec<Entry>,
}

impl Page {
    /// Adds an entry, if it fits.
    fn push(&mut self, cookie: Cookie, name: &[u8], attributes: Fattr) -> bool {
        let words = attributes.mask.iter().last().map_or(0, |last| last as usize / 32 + 1);
        let values = attributes.values.len().next_multiple_of(4);
        let bytes = ENTRY_BYTES + name.len().next_multiple_of(4) + 4 * words + values;
        let Some(left) = self.room_bytes.checked_sub(bytes) else { return false };
        self.room_bytes = left;
        self.entries.push(Entry { cookie: cookie.0, name: name.into(), attributes });
        true
    }
}

/// Adds entries of a directory. Returns true when no entry follows.
async fn list<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReadDirectoryArguments,
    directory: &File<F>,
    page: &mut Page,
) -> Result<bool, Failure> {
    let wanted = &arguments.wanted;
    let files = directory.export.files();
    let place = place(context, &directory.export, wanted).await?;
    let most = files.limits().listed_entries;
    let mut after = Cookie(arguments.cookie);
    // Whether the last part had only names that are left out. Then the next one is listed without attributes.
    let mut skips = false;
    loop {
        let with_attributes = !wanted.is_empty() && !skips;
        let call = Call { counts_used: true, ..context.call(directory) };
        let listing = files.read_directory(call, directory.id, after, most, with_attributes).await?;
        // A name that only NFSv3 can say is left out.
        let shown = listing.entries.iter().position(|entry| entry.name.as_text().is_some());
        skips = shown.is_none();
        if let Some(shown) = shown
            && !wanted.is_empty()
            && !with_attributes
        {
            // The same entries again, from there on, with attributes.
            let skipped = listing.entries.get(..shown).and_then(<[_]>::last);
            after = skipped.map_or(after, |entry| entry.cookie);
            continue;
        }
        for entry in listing.entries {
            after = entry.cookie;
            if entry.name.as_text().is_none() {
                continue;
            }
            let attributes = match entry.attributes {
                None => Fattr::none(),
                Some(Ok(attributes)) => match values(context, directory, &place, &attributes, arguments).await {
                    Ok(fattr) => fattr,
                    Err(error) => error_of_entry(arguments, error)?,
                },
                Some(Err(error)) => error_of_entry(arguments, error)?,
            };
            if !page.push(entry.cookie, entry.name.as_bytes(), attributes) {
                return Ok(false);
            }
        }
        if listing.end {
            return Ok(true);
        }
        pause().await;
    }
}

/// Attributes of an entry.
async fn values<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &File<F>,
    place: &Place,
    attributes: &vfs::Attributes,
    arguments: &ReadDirectoryArguments,
) -> Result<Fattr, FsError> {
    let file = directory.sibling(attributes.file);
    let mut space = Space::default();
    if needs_space(&arguments.wanted) {
        // It may be a walk of everything that is mapped.
        pause().await;
        space = directory.export.files().space(file.id).await?;
    }
    let handle = file.handle(context.server.handle_key());
    let subject = Subject { place, file: attributes, handle: &handle, mounted_on: file.id.0, space };
    Ok(subject.fattr(&arguments.wanted))
}

/// What an entry has whose attributes cannot be read. The error itself, if `rdattr_error` is not wanted.
fn error_of_entry(arguments: &ReadDirectoryArguments, error: FsError) -> Result<Fattr, Failure> {
    let status = status::v4(&error).and_then(|all| all.first().copied());
    status.and_then(|status| read_error(&arguments.wanted, status)).ok_or(Failure::File(error))
}

/// Adds the shares that the caller sees. Returns true when none follows.
async fn list_shares<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReadDirectoryArguments,
    page: &mut Page,
) -> Result<bool, Failure> {
    let caller = &context.caller;
    let shares = pseudo::entries(&context.server.shares().borrow(), caller.connection.client, caller.credential);
    for share in shares {
        let cookie = pseudo::cookie(share.object);
        if cookie <= Cookie(arguments.cookie) {
            continue;
        }
        let attributes = match export(&share, caller) {
            _ if arguments.wanted.is_empty() => Fattr::none(),
            Err(status) => read_error(&arguments.wanted, status).ok_or(status)?,
            Ok(export) => {
                let root = Object::File(File { export, id: share.file_system.root() });
                match gather(context, &root, &arguments.wanted).await {
                    Ok(gathered) => gathered.subject().fattr(&arguments.wanted),
                    Err(error) => error_of_entry(arguments, error)?,
                }
            }
        };
        if !page.push(cookie, share.name.as_bytes(), attributes) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Verifier of cookies. They are valid as long as the share exists, so that it is constant; never 0.
fn verifier<F: FileSystem>(directory: &Object<F>) -> Verifier {
    let fsid = match directory {
        Object::PseudoRoot => FileSystemId { major: 0, minor: 0 },
        Object::File(file) => file.export.share.fsid.clone(),
    };
    (fsid.major ^ fsid.minor).max(1).to_be_bytes()
}
