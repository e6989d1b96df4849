//! `windlass disk`: virtual disks on datastores and whole logical units, with its own verbs and with
//! the options of vmkfstools. A verb has its own file; verbs with the same arguments share one.

mod clone;
mod create;
mod grow;
mod migrate;
mod new_name;
mod one_disk;
mod path;
mod range;
mod settings;
mod stat;
mod unmap;
mod vmkfstools;
mod zero;

use crate::host_kit::{self, HostOptions, Shown};
use clap::ValueEnum;
use cli::Globals;
use futures_util::future::LocalBoxFuture;
use new_name::DiskAndName;
use one_disk::Disk;
use range::FileRange;
use std::process::ExitCode;
use virtual_disk::files::{self, Work};
use virtual_disk::{DiskError, DiskFormat, Kit, KitOptions, Location, Meter};

/// Notes below the help of the noun.
pub(crate) const NOTES: &str = "A disk on a datastore is URL#NAME, as in iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1/disk; URL alone is the whole logical unit.
A disk that is a file of a share is nfs://HOST[:PORT]/SHARE/PATH: create, clone, stat, reserve and punch take it, over NFSv4.2 and without a mount.

With the options of vmkfstools:
  windlass disk -c 10G -d thin URL#NAME           create
  windlass disk -i URL#A -d thin URL#B            clone; -N lets the host copy
  windlass disk -X 20G URL#NAME                   grow
  windlass disk -E URL#A B                        rename
  windlass disk -U URL#NAME                       delete
  windlass disk -K URL#NAME                       give blocks of zeros back
  windlass disk -k URL#NAME, -j URL#NAME          zero every block that is not written, which makes it eagerzeroedthick
  windlass disk -w URL#NAME                       zero all of it
  windlass disk --extendedstat URL#NAME           capacity, used and unshared bytes

Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 in use or in the way, 5 denied, 6 no space, 7 unreachable, 8 timed out, 130 interrupted";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    host: HostOptions,
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    vmkfstools: vmkfstools::Vmkfstools,
}

/// Verbs. A new one is a variant here, a line in [`Verb::task`], and a file unless another verb has
/// its arguments.
#[derive(Debug, clap::Subcommand)]
enum Verb {
    Create(create::Create),
    Clone(clone::CloneDisk),
    Migrate(migrate::Migrate),
    Zero(zero::Zero),
    Unmap(unmap::Unmap),
    Grow(grow::Grow),
    /// Allocate and zero every block of a disk: it becomes eagerzeroedthick
    #[command(after_help = "Example:\n  windlass disk inflate iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1")]
    Inflate(Disk),
    /// Delete a disk; its blocks go back to the datastore and the array
    #[command(after_help = "Example:\n  windlass disk delete iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1")]
    Delete(Disk),
    /// Rename a disk; it stays on its datastore
    #[command(after_help = "Example:\n  windlass disk rename iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 vm2")]
    Rename(DiskAndName),
    Stat(stat::Stat),
    /// Create a snapshot of a disk: the disk stays as it is, and a new disk on top of it takes the
    /// writes
    #[command(
        mut_arg("name", |name| name.help("Name of the disk on top")),
        after_help = "Example:\n  windlass disk snapshot iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 vm1-000001"
    )]
    Snapshot(DiskAndName),
    /// End a snapshot: copy the content of a disk into the disk below it, and delete the upper disk
    #[command(after_help = "Example:\n  windlass disk commit iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1-000001")]
    Commit(Disk),
    /// Create a disk that holds only its differences from a base disk
    #[command(
        mut_arg("disk", |disk| disk.value_name("BASE").help("URL#NAME of the base disk")),
        mut_arg("name", |name| name.help("Name of the new disk")),
        after_help = "Example:\n  windlass disk linked-clone iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#template desktop-17"
    )]
    LinkedClone(DiskAndName),
    /// Reserve the space of a file, or of a part of it
    #[command(
        after_help = "Examples:\n  windlass disk reserve nfs://192.0.2.7/vms/a.img\n  windlass disk reserve nfs://192.0.2.7/vms/a.img --offset 1G --length 256M"
    )]
    Reserve(FileRange),
    /// Free the space of a file, or of a part of it, which then reads as zeros
    #[command(
        after_help = "Examples:\n  windlass disk punch nfs://192.0.2.7/vms/a.img --offset 1G --length 256M\n  windlass disk punch nfs://192.0.2.7/vms/a.img"
    )]
    Punch(FileRange),
    #[command(subcommand)]
    Settings(settings::Verb),
}

impl Verb {
    /// Returns the task; `Err`: settings, which concern no disk.
    fn task(self) -> Result<Box<dyn Task>, settings::Verb> {
        Ok(match self {
            Self::Create(verb) => Box::new(verb),
            Self::Clone(verb) => Box::new(verb),
            Self::Migrate(verb) => Box::new(verb),
            Self::Zero(verb) => Box::new(verb),
            Self::Unmap(verb) => Box::new(verb),
            Self::Grow(verb) => Box::new(verb),
            Self::Inflate(arguments) => Box::new(arguments.task(one_disk::Verb::Inflate)),
            Self::Delete(arguments) => Box::new(arguments.task(one_disk::Verb::Delete)),
            Self::Rename(arguments) => Box::new(arguments.task(new_name::Verb::Rename)),
            Self::Stat(verb) => Box::new(verb),
            Self::Snapshot(arguments) => Box::new(arguments.task(new_name::Verb::Snapshot)),
            Self::Commit(arguments) => Box::new(arguments.task(one_disk::Verb::Commit)),
            Self::LinkedClone(arguments) => Box::new(arguments.task(new_name::Verb::LinkedClone)),
            Self::Reserve(arguments) => Box::new(arguments.task(range::Verb::Reserve)),
            Self::Punch(arguments) => Box::new(arguments.task(range::Verb::Punch)),
            Self::Settings(verb) => return Err(verb),
        })
    }
}

/// Work to do, from a verb or from options of vmkfstools.
trait Task {
    /// Checks options that depend on each other.
    fn check(&mut self) -> Result<(), DiskError> {
        Ok(())
    }

    /// Locations that the task works on.
    fn locations_mut(&mut self) -> Vec<&mut Location>;

    /// The work, if its disks are files of a share.
    fn file_work(&self) -> Result<Option<Work>, DiskError> {
        Ok(None)
    }

    /// True when the host must copy, without EXTENDED COPY.
    fn by_host(&self) -> bool {
        false
    }

    /// Text for the progress line; empty for tasks that show none.
    fn words(&self) -> String {
        String::new()
    }

    /// Does the work.
    fn run<'a>(&'a self, kit: &'a Kit, meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>>;
}

/// Formats of a disk, with the names that vmkfstools uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// Allocates blocks when they are first written
    Thin,
    /// Allocates all blocks at creation, and zeroes each before its first write
    Zeroedthick,
    /// Allocates and zeroes all blocks at creation
    Eagerzeroedthick,
}

impl From<FormatName> for files::Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Thin => Self::Thin,
            FormatName::Zeroedthick => Self::ZeroedThick,
            FormatName::Eagerzeroedthick => Self::EagerZeroedThick,
        }
    }
}

impl From<FormatName> for DiskFormat {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Thin => Self::Thin,
            FormatName::Zeroedthick => Self::ZeroedThick,
            FormatName::Eagerzeroedthick => Self::EagerZeroedThick,
        }
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    virtual_disk::parse_size(text).map_err(|error| error.to_string())
}

/// Runs `windlass disk …`.
pub(crate) fn run(arguments: Arguments, globals: &Globals) -> ExitCode {
    let Arguments { host, verb, vmkfstools } = arguments;
    let task = match verb.map(Verb::task) {
        Some(Ok(task)) => Ok(task),
        Some(Err(settings)) => return settings::run(&settings, globals),
        None => vmkfstools.task(),
    };
    let prepared = task.and_then(|mut task| {
        task.check()?;
        match task.file_work()? {
            Some(work) => Ok(Prepared::Files(task, work)),
            None => {
                let datastores = prepare(&mut *task, &host)?;
                Ok(Prepared::Units(task, datastores, host.kit()?))
            }
        }
    });
    let (task, datastores, mut options) = match prepared {
        Ok(Prepared::Files(task, work)) => {
            if let Some(option) = host.given_for_iscsi() {
                return host_kit::fail(&DiskError::Usage(format!("{option} is an option for iscsi:// URLs")));
            }
            let meter = Meter::new(task.words(), globals.quiet);
            let result = files::run(&work, host.answer_timeout(), &meter);
            meter.end();
            return host_kit::finish(globals, result);
        }
        Ok(Prepared::Units(task, datastores, options)) => (task, datastores, options),
        Err(error) => return host_kit::fail(&error),
    };
    if task.by_host() {
        options.settings.hardware_accelerated_move = false;
    }
    host_kit::run(globals, Ok(options), datastores, async |kit| {
        let meter = Meter::new(task.words(), globals.quiet);
        let result = task.run(kit, &meter).await;
        meter.end();
        result
    })
}

/// A task that was checked.
enum Prepared {
    /// On files, with its work.
    Files(Box<dyn Task>, Work),
    /// On logical units; whether a datastore may be mounted, and the options of the kit.
    Units(Box<dyn Task>, bool, KitOptions),
}

/// Gives the locations of a task their secrets. True when a datastore may be mounted.
fn prepare(task: &mut dyn Task, host: &HostOptions) -> Result<bool, DiskError> {
    let mut datastores = false;
    for location in task.locations_mut() {
        *location = host.at(location)?;
        datastores |= location.disk.is_some();
    }
    Ok(datastores)
}
