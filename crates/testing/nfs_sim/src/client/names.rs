//! Names in a directory that one actor alone changes: each change happens once, and its results are true.

use crate::shared::SLACK;
use nfs::v4::attributes::{Attribute, Fattr, GetAttributesArguments};
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::names::{CreateArguments, CreateType, ReadDirectoryArguments, ReadDirectoryOk, RenameArguments};
use nfs::v4::open::{CloseArguments, CreateHow, OpenArguments, OpenClaim, OpenHow, share_access};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Bitmap, ChangeInfo, Filehandle, StateOwner, Stateid, Status};
use random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Names that are used.
const NAMES: u64 = 6;
/// Number of the attribute `change`.
const CHANGE: u32 = 3;
/// Length of a part of a listing: some two entries.
const PART_BYTES: u32 = 90;

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Directory,
    /// Regular file, by a number of its own.
    File(u64),
}

type Entries = BTreeMap<String, Kind>;

/// A call about the names.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    MakeDirectory(String),
    /// OPEN that creates, and CLOSE.
    CreateFile(String, u64),
    /// OPEN that creates, REMOVE, and CLOSE: the file goes with its last open.
    Temporary(String, u64),
    Remove(String),
    Rename(String, String),
    Link(String, String),
    /// Reads all of the directory.
    Look,
    /// Reads a part of the directory.
    List,
}

/// A listing in parts, between which the directory changes.
#[derive(Debug)]
struct Listing {
    cookie: u64,
    verifier: [u8; 8],
    seen: Vec<String>,
    /// Names that were there all the time.
    always: BTreeSet<String>,
    /// Names that were there at some time.
    ever: BTreeSet<String>,
}

/// The directory, as its actor knows it.
#[derive(Debug)]
pub(crate) struct Names {
    directory: Filehandle,
    entries: Entries,
    /// Value of its change attribute, if it is known.
    change: Option<u64>,
    /// A change whose outcome is not known.
    unknown: Option<Step>,
    listing: Option<Listing>,
    files: u64,
    /// Whether the last answer was that of a look at all of it.
    compared: bool,
}

impl Names {
    pub fn new(directory: Filehandle) -> Self {
        Self {
            directory,
            entries: Entries::new(),
            change: None,
            unknown: None,
            listing: None,
            files: 0,
            compared: false,
        }
    }

    /// The next call, at random, with its operations.
    pub fn choose(&mut self, random: &Random, owner: &str) -> (Step, Vec<Operation>) {
        let name = |random: &Random| format!("n{}", random.below(NAMES));
        let step = match random.below(13) {
            _ if self.unknown.is_some() || self.change.is_none() => Step::Look,
            _ if self.listing.is_some() && random.chance(30) => Step::List,
            0 => Step::MakeDirectory(name(random)),
            1 | 2 => {
                self.files += 1;
                Step::CreateFile(name(random), self.files)
            }
            12 => Step::Temporary(name(random), 0),
            3 | 4 => Step::Remove(name(random)),
            5 | 6 => Step::Rename(name(random), name(random)),
            7 => Step::Link(name(random), name(random)),
            8 => Step::Look,
            _ => Step::List,
        };
        let operations = self.operations(&step, owner);
        (step, operations)
    }

    /// Whether nothing is open: the last answer was that of a look at all of it.
    pub const fn is_settled(&self) -> bool {
        self.compared && self.unknown.is_none()
    }

    /// A look at the whole directory.
    pub fn look(&mut self) -> (Step, Vec<Operation>) {
        (Step::Look, self.operations(&Step::Look, ""))
    }

    fn operations(&mut self, step: &Step, owner: &str) -> Vec<Operation> {
        let put = || Operation::PutFilehandle(self.directory.clone());
        let attributes = || Fattr::new([Attribute::Mode(0o644)]);
        let rest = match step {
            Step::MakeDirectory(name) => {
                let (kind, name) = (CreateType::Directory, name[..].into());
                vec![Operation::Create(Box::new(CreateArguments { kind, name, attributes: attributes() }))]
            }
            Step::CreateFile(name, _) => vec![creation(name, owner), close()],
            Step::Temporary(name, _) => vec![
                creation(name, owner),
                Operation::SaveFilehandle,
                put(),
                Operation::Remove(name[..].into()),
                Operation::RestoreFilehandle,
                close(),
            ],
            Step::Remove(name) => vec![Operation::Remove(name[..].into())],
            Step::Rename(old, new) => {
                let arguments = RenameArguments { old: old[..].into(), new: new[..].into() };
                vec![Operation::SaveFilehandle, Operation::Rename(arguments)]
            }
            Step::Link(old, new) => vec![
                Operation::Lookup(old[..].into()),
                Operation::SaveFilehandle,
                put(),
                Operation::Link(new[..].into()),
            ],
            Step::Look => {
                let wanted = Bitmap::new([CHANGE]);
                vec![read(0, [0; 8], 32_768), Operation::GetAttributes(GetAttributesArguments { wanted })]
            }
            Step::List => {
                let (cookie, verifier) = self.listing.as_ref().map_or((0, [0; 8]), |list| (list.cookie, list.verifier));
                vec![read(cookie, verifier, PART_BYTES)]
            }
        };
        [put()].into_iter().chain(rest).collect()
    }

    /// The call may or may not have been executed.
    pub fn lost(&mut self, step: Step) {
        match step {
            Step::Look | Step::List => {}
            // Perhaps only the first half of it was executed.
            Step::Temporary(name, number) => self.unknown = Some(Step::CreateFile(name, number)),
            step => self.unknown = Some(step),
        }
        self.listing = None;
        self.compared = false;
    }

    /// Takes the results of a call. `grace_until`: until when a grace period may have lasted. The error says which
    /// property is violated.
    pub fn answered(
        &mut self,
        step: &Step,
        outcomes: &[Outcome],
        (sent, grace_until): (Duration, Duration),
    ) -> Result<(), String> {
        let last = outcomes.last().ok_or("no results")?;
        let status = last.status();
        self.compared = false;
        match step {
            Step::Look => return if status.is_ok() { self.looked(outcomes) } else { tolerate(status) },
            Step::List => return self.listed(last),
            _ => {}
        }
        let mut after = self.entries.clone();
        let expected = apply(&mut after, step);
        match status {
            // The first half was executed.
            Err(Status::DELAY | Status::GRACE) if matches!(outcomes, [.., Outcome::Open(Ok(_)), _, _, _]) => {
                self.lost(step.clone());
                return Ok(());
            }
            Err(Status::DELAY) => return Ok(()),
            Err(Status::GRACE) if self.may_be_grace(step) && sent <= grace_until + SLACK => return Ok(()),
            status if status == expected => {}
            status => return Err(format!("{step:?} of {:?}: {status:?}, not {expected:?}", self.entries)),
        }
        if expected.is_ok() {
            let infos = outcomes.iter().flat_map(changes);
            let changed = after != self.entries || matches!(step, Step::Temporary(..));
            self.entries = after;
            self.note_entries();
            for info in infos {
                self.changed(&info, changed).map_err(|why| format!("{step:?}: {why}"))?;
            }
        }
        Ok(())
    }

    fn may_be_grace(&self, step: &Step) -> bool {
        let is_file = |name: &String| matches!(self.entries.get(name), Some(Kind::File(_)));
        match step {
            Step::CreateFile(..) | Step::Temporary(..) => true,
            Step::Remove(name) | Step::Rename(_, name) => is_file(name),
            _ => false,
        }
    }

    /// Checks what a change says about the directory.
    fn changed(&mut self, info: &ChangeInfo, changed: bool) -> Result<(), String> {
        let known = self.change.replace(info.after);
        if known != Some(info.before) || !info.atomic {
            return Err(format!("{info:?}, but the change attribute was {known:?}"));
        }
        let grows = info.after > info.before;
        if grows == changed { Ok(()) } else { Err(format!("{info:?}, and the directory changed: {changed}")) }
    }

    /// Compares all that there is with what there has to be.
    fn looked(&mut self, outcomes: &[Outcome]) -> Result<(), String> {
        let (mut found, mut change) = (None, None);
        for outcome in outcomes {
            match outcome {
                Outcome::ReadDirectory(Ok(ok)) if ok.eof => found = Some(names_of(ok)?),
                Outcome::GetAttributes(Ok(fattr)) => change = change_of(fattr),
                _ => {}
            }
        }
        let found = found.ok_or("a small directory is not read at once")?;
        let found: BTreeSet<String> = found.into_iter().collect();
        let is = |entries: &Entries| entries.keys().eq(found.iter());
        if let Some(step) = self.unknown.take() {
            let mut after = self.entries.clone();
            let applied = apply(&mut after, &step);
            if applied.is_ok() && is(&after) && !is(&self.entries) {
                self.entries = after;
            }
            self.change = None;
        }
        if !is(&self.entries) {
            return Err(format!("the directory has {found:?}, not {:?}", self.entries));
        }
        let change = change.ok_or("no change attribute")?;
        if self.change.is_some_and(|known| known != change) {
            return Err(format!("the change attribute is {change}, not {:?}", self.change));
        }
        self.change = Some(change);
        self.compared = true;
        Ok(())
    }

    /// Notes the present names for the listing.
    fn note_entries(&mut self) {
        if let Some(listing) = &mut self.listing {
            listing.always.retain(|name| self.entries.contains_key(name));
            listing.ever.extend(self.entries.keys().cloned());
        }
    }

    fn listed(&mut self, outcome: &Outcome) -> Result<(), String> {
        let ok = match outcome {
            Outcome::ReadDirectory(Ok(ok)) => ok,
            other => return tolerate(other.status()),
        };
        let names: BTreeSet<String> = self.entries.keys().cloned().collect();
        let mut listing = self.listing.take().unwrap_or_else(|| Listing {
            cookie: 0,
            verifier: [0; 8],
            seen: Vec::new(),
            always: names.clone(),
            ever: names,
        });
        listing.verifier = ok.verifier;
        listing.cookie = ok.entries.last().map_or(listing.cookie, |entry| entry.cookie);
        listing.seen.extend(names_of(ok)?);
        if !ok.eof {
            self.listing = Some(listing);
            return Ok(());
        }
        let times = |name: &String| listing.seen.iter().filter(|seen| *seen == name).count();
        match listing.always.iter().find(|name| times(name) != 1) {
            Some(name) => Err(format!("a listing names {name} {} times: {:?}", times(name), listing.seen)),
            None if listing.seen.iter().any(|name| !listing.ever.contains(name)) => {
                Err(format!("a listing names {:?}, and there were {:?}", listing.seen, listing.ever))
            }
            None => Ok(()),
        }
    }
}

/// Statuses of calls that cannot fail.
fn tolerate(status: Result<(), Status>) -> Result<(), String> {
    match status {
        Ok(()) | Err(Status::DELAY) => Ok(()),
        Err(status) => Err(format!("a look at the directory fails: {status:?}")),
    }
}

/// What a change makes of the names.
fn apply(entries: &mut Entries, step: &Step) -> Result<(), Status> {
    let found = |entries: &Entries, name: &String| entries.get(name).copied();
    match step {
        Step::MakeDirectory(name) | Step::CreateFile(name, _) | Step::Temporary(name, _)
            if entries.contains_key(name) =>
        {
            return Err(Status::EXIST);
        }
        Step::MakeDirectory(name) => drop(entries.insert(name.clone(), Kind::Directory)),
        Step::CreateFile(name, number) => drop(entries.insert(name.clone(), Kind::File(*number))),
        Step::Remove(name) => drop(entries.remove(name).ok_or(Status::NOENT)?),
        Step::Rename(old, new) => {
            let kind = found(entries, old).ok_or(Status::NOENT)?;
            match (kind, found(entries, new)) {
                (one, Some(other)) if old == new || (one == other && one != Kind::Directory) => return Ok(()),
                (Kind::Directory, Some(Kind::File(_))) | (Kind::File(_), Some(Kind::Directory)) => {
                    return Err(Status::EXIST);
                }
                _ => {}
            }
            entries.remove(old);
            entries.insert(new.clone(), kind);
        }
        Step::Link(old, new) => match found(entries, old).ok_or(Status::NOENT)? {
            Kind::Directory => return Err(Status::ISDIR),
            Kind::File(_) if entries.contains_key(new) => return Err(Status::EXIST),
            kind => drop(entries.insert(new.clone(), kind)),
        },
        Step::Temporary(..) | Step::Look | Step::List => {}
    }
    Ok(())
}

/// OPEN that creates a file.
fn creation(name: &str, owner: &str) -> Operation {
    Operation::Open(Box::new(OpenArguments {
        seqid: 0,
        share_access: share_access::WRITE,
        share_deny: 0,
        owner: StateOwner { client: 0, owner: owner.into() },
        how: OpenHow::Create(CreateHow::Guarded(Fattr::new([Attribute::Mode(0o644)]))),
        claim: OpenClaim::Null(name.into()),
    }))
}

fn close() -> Operation {
    Operation::Close(CloseArguments { seqid: 0, stateid: Stateid::CURRENT })
}

fn read(cookie: u64, verifier: [u8; 8], max_count_bytes: u32) -> Operation {
    Operation::ReadDirectory(ReadDirectoryArguments {
        cookie,
        verifier,
        directory_count_bytes: max_count_bytes,
        max_count_bytes,
        wanted: Bitmap::EMPTY,
    })
}

fn names_of(ok: &ReadDirectoryOk) -> Result<Vec<String>, String> {
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).map_err(|error| error.to_string());
    ok.entries.iter().map(|entry| text(&entry.name)).collect()
}

fn change_of(fattr: &Fattr) -> Option<u64> {
    match fattr.attributes().ok()?[..] {
        [Attribute::Change(change)] => Some(change),
        _ => None,
    }
}

/// Changes of directories that results tell.
fn changes(outcome: &Outcome) -> Vec<ChangeInfo> {
    match outcome {
        Outcome::Create(Ok(ok)) => vec![ok.change.clone()],
        Outcome::Open(Ok(ok)) => vec![ok.change.clone()],
        Outcome::Remove(Ok(info)) | Outcome::Link(Ok(info)) => vec![info.clone()],
        // Both directories are one.
        Outcome::Rename(Ok(ok)) => vec![ok.target.clone()],
        _ => Vec::new(),
    }
}
