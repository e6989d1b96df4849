//! Rows: each a call, or the calls of one operation.

use crate::data::BLOCK_BYTES;
use crate::load::{End, Load};
use crate::nfs::load::{self, Calls, Work, done};
use crate::nfs::operations::{self, Opened, taken_attributes, taken_handle, taken_open};
use crate::nfs::session::Session;
use crate::nfs::tree::{self, Content, DESTINATIONS, SOURCES, Tree};
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use nfs::v4::Stable;
use nfs::v4::operations::Outcome;
use nfs_client::Outcomes;
use random::Random;
use std::time::Duration;

/// Row of the table.
#[derive(Clone, Copy)]
pub(in crate::questions) struct Row {
    pub(in crate::questions) name: &'static str,
    /// Most processor time of the array, in µs an operation.
    pub(super) limit_us: f64,
    /// Outstanding operations.
    pub(in crate::questions) depth: usize,
    kind: Kind,
}

/// What a row does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sequence,
    Attributes,
    Lookup,
    Read { length_bytes: u32, cached: bool },
    Create,
    Write { length_bytes: u32, stable: Stable },
    SetMode,
    Remove,
    Clone,
}

const SMALL: u32 = BLOCK_BYTES as u32;
const LARGE: u32 = 128 << 10;

/// All rows, in execution order: REMOVE takes away what OPEN created in the same turn.
pub(super) const ROWS: [Row; 12] = [
    Row::new("SEQUENCE", 4.5, Kind::Sequence),
    Row::new("GETATTR", 6.0, Kind::Attributes),
    Row::new("LOOKUP GETFH GETATTR", 9.0, Kind::Lookup),
    Row::new("READ 4k cached", 8.0, Kind::Read { length_bytes: SMALL, cached: true }),
    Row { depth: 8, ..Row::new("READ 128k", 60.0, Kind::Read { length_bytes: LARGE, cached: false }) },
    Row::new("OPEN (create) + CLOSE", 25.0, Kind::Create),
    Row::new("REMOVE", 12.0, Kind::Remove),
    Row::new("WRITE 4k UNSTABLE", 8.0, Kind::Write { length_bytes: SMALL, stable: Stable::Unstable }),
    Row::new("WRITE 4k FILE_SYNC", 10.0, Kind::Write { length_bytes: SMALL, stable: Stable::FileSync }),
    Row {
        depth: 8,
        ..Row::new("WRITE 128k UNSTABLE", 58.0, Kind::Write { length_bytes: LARGE, stable: Stable::Unstable })
    },
    Row::new("SETATTR mode", 9.0, Kind::SetMode),
    Row::new("CLONE 64M", 15.0, Kind::Clone),
];

/// A run of a row.
struct Turn<'a> {
    sessions: &'a mut [Session; 1],
    pid: u32,
    tree: &'a Tree,
    depth: usize,
    end: End,
    random: Random,
}

impl Row {
    const fn new(name: &'static str, limit_us: f64, kind: Kind) -> Self {
        Self { name, limit_us, depth: 32, kind }
    }

    /// The row with this name, with another number of outstanding operations.
    pub(in crate::questions) fn named(name: &str, depth: usize) -> Result<Self> {
        let row = ROWS.iter().find(|row| row.name == name).with_context(|| format!("there is no row {name}"))?;
        Ok(Self { depth, ..*row })
    }

    /// Whether it needs a server with CLONE.
    pub(super) fn clones(&self) -> bool {
        self.kind == Kind::Clone
    }

    /// Loads a server. `created`: the number of files that the rows of this turn have created and not removed.
    pub(super) fn run(
        &self,
        sessions: &mut [Session; 1],
        pid: u32,
        tree: &Tree,
        time: Duration,
        seed: u64,
        created: &mut u64,
    ) -> Result<Load> {
        let random = Random::new(seed);
        let turn = Turn { sessions, pid, tree, depth: self.depth, end: End::After(time), random };
        match self.kind {
            Kind::Sequence => turn.sequence(),
            Kind::Attributes => turn.attributes(),
            Kind::Lookup => turn.lookup(),
            Kind::Read { length_bytes, cached } => turn.read(length_bytes, cached),
            Kind::Create => {
                let load = turn.create()?;
                *created = load.operations;
                Ok(load)
            }
            Kind::Write { length_bytes, stable } => turn.write(length_bytes, stable),
            Kind::SetMode => turn.set_mode(),
            Kind::Remove => turn.remove(std::mem::take(created)),
            Kind::Clone => turn.clone(),
        }
    }
}

impl Turn<'_> {
    fn load(&mut self, work: &mut dyn Work) -> Result<Load> {
        load::run(self.sessions, self.pid, self.depth, self.end, work)
    }

    /// Opens files of the root, runs `load` with them and closes them.
    fn with_files(
        &mut self,
        names: impl Iterator<Item = String>,
        load: impl FnOnce(&mut Self, &[Opened]) -> Result<Load>,
    ) -> Result<Load> {
        let root = &self.tree.root;
        let files = names.map(|name| tree::open(&mut self.sessions[0], root, &name, false));
        let files = files.collect::<Result<Vec<_>>>()?;
        let result = load(self, &files)?;
        tree::close(&mut self.sessions[0], &files)?;
        Ok(result)
    }

    fn sequence(mut self) -> Result<Load> {
        self.load(&mut Calls { first: |_| Some(operations::sequence()), then: done, last: None })
    }

    fn attributes(mut self) -> Result<Load> {
        let files = &self.tree.files;
        let chosen = choice(&self.random, files.len() as u64);
        let mut work = Calls {
            first: |number| Some(operations::attributes(&files.get(chosen(number) as usize)?.handle)),
            then: |number, mut outcomes: Outcomes| {
                let known = files.get(chosen(number) as usize).context("no such file")?;
                let attributes = taken_attributes(&mut outcomes, 1)?.attributes()?;
                let fileid = attributes.iter().find_map(tree::as_fileid);
                ensure!(fileid == Some(known.fileid), "GETATTR of {}: fileid {fileid:?}", known.fileid);
                Ok(None)
            },
            last: None,
        };
        self.load(&mut work)
    }

    fn lookup(mut self) -> Result<Load> {
        let (directory, files) = (&self.tree.many, &self.tree.files);
        let chosen = choice(&self.random, files.len() as u64);
        let mut work = Calls {
            first: |number| Some(operations::lookup(directory, &tree::name(chosen(number)))),
            then: |number, mut outcomes: Outcomes| {
                let known = files.get(chosen(number) as usize).context("no such file")?;
                let handle = taken_handle(&mut outcomes, 2)?;
                ensure!(handle == known.handle, "LOOKUP found another file than {}", tree::name(chosen(number)));
                outcomes.finish()?;
                Ok(None)
            },
            last: None,
        };
        self.load(&mut work)
    }

    fn read(mut self, length_bytes: u32, cached: bool) -> Result<Load> {
        let sizes = self.tree.sizes;
        let (name, size_bytes) = if cached { ("cached", sizes.cached_bytes) } else { ("large", sizes.large_bytes) };
        let offset = offsets(&self.random, size_bytes, length_bytes);
        self.with_files(std::iter::once(name.to_owned()), |turn, files| {
            let [file] = files else { bail!("no file") };
            let mut work = Calls {
                first: |number| Some(operations::read(file, offset(number), length_bytes)),
                then: |number, mut outcomes: Outcomes| {
                    tree::check(offset(number), length_bytes, &taken_data(&mut outcomes)?)?;
                    Ok(None)
                },
                last: None,
            };
            turn.load(&mut work)
        })
    }

    fn write(mut self, length_bytes: u32, stable: Stable) -> Result<Load> {
        let offset = offsets(&self.random, self.tree.sizes.large_bytes, length_bytes);
        let content = Content::new(self.random.next(), length_bytes);
        self.with_files(std::iter::once("large".to_owned()), |turn, files| {
            let [file] = files else { bail!("no file") };
            let mut work = Calls {
                first: |number| {
                    let offset = offset(number);
                    Some(operations::write(file, offset, content.at(offset), stable))
                },
                then: |_, mut outcomes: Outcomes| {
                    outcomes.skip(1)?;
                    let Outcome::Write(Ok(written)) = outcomes.next_success()? else { bail!("no results of WRITE") };
                    ensure!(written.count_bytes == length_bytes, "{} bytes were written", written.count_bytes);
                    let durable = stable == Stable::Unstable || written.committed == Stable::FileSync;
                    ensure!(durable, "FILE_SYNC was answered with {:?}", written.committed);
                    Ok(None)
                },
                last: (stable == Stable::Unstable).then(|| operations::commit(file)),
            };
            turn.load(&mut work)
        })
    }

    fn create(mut self) -> Result<Load> {
        let directory = &self.tree.scratch;
        let mut open = std::collections::HashSet::new();
        let mut work = Calls {
            first: |number| Some(operations::open(directory, &tree::name(number), true)),
            then: |number, mut outcomes: Outcomes| {
                if !open.insert(number) {
                    open.remove(&number);
                    return done(number, outcomes);
                }
                Ok(Some(operations::close(&taken_open(&mut outcomes)?)))
            },
            last: None,
        };
        self.load(&mut work)
    }

    fn remove(mut self, count: u64) -> Result<Load> {
        let directory = &self.tree.scratch;
        self.end = End::WhenDone;
        let mut work = Calls {
            first: |number| (number < count).then(|| operations::remove(directory, &tree::name(number))),
            then: done,
            last: None,
        };
        self.load(&mut work)
    }

    fn set_mode(mut self) -> Result<Load> {
        let files = &self.tree.files;
        let chosen = choice(&self.random, files.len() as u64);
        let mode = |number: u64| 0o600 | (number & 0o77) as u32;
        let mut work = Calls {
            first: |number| Some(operations::set_mode(&files.get(chosen(number) as usize)?.handle, mode(number))),
            then: done,
            last: None,
        };
        self.load(&mut work)
    }

    fn clone(mut self) -> Result<Load> {
        let sources = (0..SOURCES).map(tree::source_name);
        let names = sources.chain((0..DESTINATIONS).map(tree::destination_name));
        self.with_files(names, |turn, files| {
            let (sources, destinations) = files.split_at(SOURCES as usize);
            let mut work = Calls {
                first: |number| {
                    let source = sources.get((number / DESTINATIONS % SOURCES) as usize)?;
                    let destination = destinations.get((number % DESTINATIONS) as usize)?;
                    Some(operations::clone(source, destination))
                },
                then: done,
                last: None,
            };
            let load = turn.load(&mut work)?;
            turn.check_clones(destinations, load.operations)?;
            Ok(load)
        })
    }

    /// Reads a block of each destination that the load has reached: without CLONE they are empty.
    fn check_clones(&mut self, destinations: &[Opened], operations: u64) -> Result<()> {
        let offset = offsets(&self.random, self.tree.sizes.source_bytes, SMALL);
        for (number, file) in (0..operations).zip(destinations) {
            let mut outcomes = self.sessions[0].call(&operations::read(file, offset(number), SMALL))?;
            tree::check(offset(number), SMALL, &taken_data(&mut outcomes)?).context("after CLONE")?;
        }
        Ok(())
    }
}

/// Data from the results of READ.
fn taken_data(outcomes: &mut Outcomes) -> Result<Bytes> {
    outcomes.skip(1)?;
    match outcomes.next_success()? {
        Outcome::Read(Ok(read)) => Ok(read.data.as_bytes().clone()),
        other => bail!("no results of READ: {other:?}"),
    }
}

/// Numbers below `count`, each a function of the operation's.
fn choice(random: &Random, count: u64) -> impl Fn(u64) -> u64 + use<> {
    let seed = random.clone().next();
    move |number| Random::new(seed ^ number).next() % count.max(1)
}

/// Offsets of whole lengths within a file, each a function of the operation's number.
fn offsets(random: &Random, size_bytes: u64, length_bytes: u32) -> impl Fn(u64) -> u64 + use<> {
    let chosen = choice(random, size_bytes / u64::from(length_bytes));
    move |number| chosen(number) * u64::from(length_bytes)
}
