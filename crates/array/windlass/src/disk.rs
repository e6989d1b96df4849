//! `windlass disk`: virtual disks on datastores and whole logical units, with verbs of its own and in the spelling of vmkfstools.

use crate::host_kit::{self, HostOptions, Shown};
use clap::ValueEnum;
use cli::{Format, Globals};
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;
use virtual_disk::load::LoadOptions;
use virtual_disk::settings::{self, SETTINGS, Setting};
use virtual_disk::verbs::clone::CloneOptions;
use virtual_disk::verbs::migrate::MigrateOptions;
use virtual_disk::verbs::{clone, create, migrate, shape, snapshot, stat, zero};
use virtual_disk::{DiskError, DiskFormat, KitOptions, Location, Meter};

/// Shown below the help of the noun.
pub(crate) const NOTES: &str = "A disk on a datastore is URL#NAME, as in iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1/disk; URL alone is the whole logical unit.

In the spelling of vmkfstools:
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
    vmkfstools: Vmkfstools,
}

/// The formats of a disk, with vmkfstools' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// Blocks come when they are written
    Thin,
    /// All blocks at once, each zeroed before it is first written
    Zeroedthick,
    /// All blocks at once, and zeroed
    Eagerzeroedthick,
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

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "In the spelling of vmkfstools")]
struct Vmkfstools {
    /// Create a disk
    #[arg(short = 'c', long = "createvirtualdisk", value_name = "SIZE", value_parser = parse_size, group = "what")]
    create: Option<u64>,
    /// Clone this disk
    #[arg(short = 'i', long = "clonevirtualdisk", value_name = "SOURCE", group = "what")]
    clone: Option<Location>,
    /// Make it larger
    #[arg(short = 'X', long = "extendvirtualdisk", value_name = "SIZE", value_parser = parse_size, group = "what")]
    extend: Option<u64>,
    /// Rename this disk; PATH is the new name
    #[arg(short = 'E', long = "renamevirtualdisk", value_name = "SOURCE", group = "what")]
    rename: Option<Location>,
    /// Delete it
    #[arg(short = 'U', long = "deletevirtualdisk", group = "what")]
    delete: bool,
    /// Give blocks of zeros back
    #[arg(short = 'K', long = "punchzero", group = "what")]
    punch: bool,
    /// Zero every block that is not written
    #[arg(short = 'k', long = "eagerzero", group = "what")]
    eager: bool,
    /// Make a thin disk eagerzeroedthick
    #[arg(short = 'j', long = "inflatedisk", group = "what")]
    inflate: bool,
    /// Zero all of it
    #[arg(short = 'w', long = "writezeros", group = "what")]
    zero: bool,
    /// Print capacity, used and unshared bytes
    #[arg(long = "extendedstat", group = "what")]
    stat: bool,
    /// Format of a new disk
    #[arg(short = 'd', long = "diskformat", value_name = "FORMAT", value_enum, default_value_t = FormatName::Zeroedthick)]
    format: FormatName,
    /// Let the host copy
    #[arg(short = 'N', long = "avoidnativeclone")]
    by_host: bool,
    /// URL#NAME, or URL for the whole logical unit; the new name with -E
    #[arg(value_name = "PATH", requires = "what")]
    path: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Create a disk on a datastore
    #[command(
        after_help = "Examples:\n  windlass disk create -d thin -c 10G iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1/disk\n  windlass disk create -d eagerzeroedthick -c 5G iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#ft -o json"
    )]
    Create {
        /// Size
        #[arg(short = 'c', long, value_name = "SIZE", value_parser = parse_size)]
        size: u64,
        /// Format
        #[arg(short = 'd', long = "format", value_name = "FORMAT", value_enum, default_value_t = FormatName::Zeroedthick)]
        format: FormatName,
        /// URL#NAME
        disk: Location,
    },
    /// Copy a disk or a whole logical unit, by the array if it can
    #[command(
        after_help = "Examples:\n  windlass disk clone -i iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#template iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 -d thin\n  windlass disk clone iscsi://192.0.2.7/iqn.2026-01.org.example:t/1 iscsi://192.0.2.8/iqn.2026-01.org.example:u/0 -N --destroy-data naa.61234…\n\nCtrl-C removes what was made; with --resume it is kept, and the same command goes on from there.\nWhat somebody has put on a whole logical unit since then is not overwritten unless --destroy-data names the unit."
    )]
    Clone {
        /// The source
        #[arg(short = 'i', long, value_name = "SOURCE")]
        source: Option<Location>,
        /// Source, unless -i names it, and destination: URL#NAME, or URL for the whole logical unit
        #[arg(required = true, num_args = 1..=2, value_name = "PATH")]
        paths: Vec<Location>,
        /// Format of a new disk
        #[arg(short = 'd', long = "format", value_name = "FORMAT", value_enum, default_value_t = FormatName::Zeroedthick)]
        format: FormatName,
        /// Let the host copy: READ and WRITE instead of EXTENDED COPY
        #[arg(short = 'N', long)]
        by_host: bool,
        /// Keep what is copied when the copy is interrupted, and go on with a copy that was
        #[arg(long)]
        resume: bool,
        /// The destination is a whole logical unit of this name (naa.…) whose data may go
        #[arg(long, value_name = "NAME")]
        destroy_data: Option<String>,
    },
    /// Move a disk while a guest uses it: writes go to both copies until the guest is switched over
    #[command(
        after_help = "Examples:\n  windlass disk migrate iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 iscsi://192.0.2.7/iqn.2026-01.org.example:t/1#vm1 -d thin\n  windlass disk migrate --load iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#scratch iscsi://192.0.2.7/iqn.2026-01.org.example:t/1#scratch\n\nA guest is a part of the process that has the disk open: here it is a load that overwrites the disk and knows what it wrote (--load), or nobody.\nA disk that another process has open cannot be migrated from outside. After a failure or Ctrl-C the disk is where it was."
    )]
    Migrate {
        /// URL#NAME, or URL for the whole logical unit
        source: Location,
        /// URL#NAME, or URL for the whole logical unit
        destination: Location,
        /// Format of a new disk
        #[arg(short = 'd', long = "format", value_name = "FORMAT", value_enum, default_value_t = FormatName::Thin)]
        format: FormatName,
        /// Let the host copy
        #[arg(short = 'N', long)]
        by_host: bool,
        /// Do not delete the source; a whole logical unit always stays
        #[arg(long)]
        keep_source: bool,
        /// Overwrite the disk with a load that verifies, before, while and after
        #[arg(long)]
        load: bool,
        /// Requests of the load at a time
        #[arg(long, value_name = "N", default_value_t = 4, requires = "load", value_parser = clap::value_parser!(u64).range(1..=64))]
        depth: u64,
        /// Let the load run so many seconds before, and after
        #[arg(long, value_name = "SECONDS", default_value_t = 2, requires = "load", value_parser = clap::value_parser!(u64).range(0..=3600))]
        settle: u64,
        /// A whole logical unit of this name (naa.…) whose data may go
        #[arg(long, value_name = "NAME")]
        destroy_data: Option<String>,
    },
    /// Zero a disk or a whole logical unit
    #[command(
        after_help = "Examples:\n  windlass disk zero iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#scratch\n  windlass disk zero iscsi://192.0.2.7/iqn.2026-01.org.example:t/1 --destroy-data naa.61234…"
    )]
    Zero {
        /// URL#NAME, or URL for the whole logical unit
        disk: Location,
        /// The whole logical unit of this name (naa.…) may lose its data
        #[arg(long, value_name = "NAME")]
        destroy_data: Option<String>,
    },
    /// Tell the array that the data of a disk, a part of it, or a whole logical unit is no longer needed
    #[command(
        after_help = "Examples:\n  windlass disk unmap iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#scratch\n  windlass disk unmap iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 --offset 1G --length 256M\n  windlass disk unmap iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 --zeros"
    )]
    Unmap {
        /// URL#NAME, or URL for the whole logical unit
        disk: Location,
        /// Where it begins
        #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "length")]
        offset: Option<u64>,
        /// How much
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        length: Option<u64>,
        /// Only blocks that hold nothing but zeros, of a thin disk; the host reads them to find out
        #[arg(long, conflicts_with_all = ["offset", "length", "destroy_data"])]
        zeros: bool,
        /// The whole logical unit of this name (naa.…) may lose its data
        #[arg(long, value_name = "NAME")]
        destroy_data: Option<String>,
    },
    /// Enlarge a disk
    #[command(after_help = "Example:\n  windlass disk grow iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 -c 20G")]
    Grow {
        /// URL#NAME
        disk: Location,
        /// Size that it has from then on
        #[arg(short = 'c', long, value_name = "SIZE", value_parser = parse_size)]
        size: u64,
    },
    /// Allocate and zero every block of a disk: it becomes eagerzeroedthick
    #[command(after_help = "Example:\n  windlass disk inflate iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1")]
    Inflate {
        /// URL#NAME
        disk: Location,
    },
    /// Delete a disk; its blocks go back to the datastore and the array
    #[command(after_help = "Example:\n  windlass disk delete iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1")]
    Delete {
        /// URL#NAME
        disk: Location,
    },
    /// Give a disk another name on its datastore
    #[command(after_help = "Example:\n  windlass disk rename iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 vm2")]
    Rename {
        /// URL#NAME
        disk: Location,
        /// The new name
        name: String,
    },
    /// Print capacity, used and unshared bytes
    #[command(
        after_help = "Examples:\n  windlass disk stat iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1\n  windlass disk stat iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 -o json\n\nUsed are the blocks that hold what the disk shows, its own and those of disks below it; unshared are those that would be free without it.\nOf a whole logical unit, used is what it says is mapped; SCSI has no word for unshared."
    )]
    Stat {
        /// URL#NAME, or URL for the whole logical unit
        disk: Location,
    },
    /// Take a snapshot of a disk: the disk stays as it is, and a new disk on top of it takes the writes
    #[command(
        after_help = "Example:\n  windlass disk snapshot iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 vm1-000001"
    )]
    Snapshot {
        /// URL#NAME
        disk: Location,
        /// Name of the disk on top
        name: String,
    },
    /// End a snapshot: the content of a disk moves into the one below it, and the disk is deleted
    #[command(after_help = "Example:\n  windlass disk commit iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1-000001")]
    Commit {
        /// URL#NAME
        disk: Location,
    },
    /// Create a disk that holds only the differences from another one
    #[command(
        after_help = "Example:\n  windlass disk linked-clone iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#template desktop-17"
    )]
    LinkedClone {
        /// URL#NAME of the other one
        base: Location,
        /// Name of the new disk
        name: String,
    },
    /// This host's settings, as ESXi names them: which work is offloaded
    #[command(
        subcommand,
        after_help = "Examples:\n  windlass disk settings list\n  windlass disk settings set /DataMover/HardwareAcceleratedMove 0"
    )]
    Settings(SettingsVerb),
}

#[derive(Debug, clap::Subcommand)]
enum SettingsVerb {
    /// List them
    #[command(after_help = "Examples:\n  windlass disk settings list\n  windlass disk settings list -o esxcli")]
    List,
    /// Change one, for disk, datastore and lab, until it is changed again
    #[command(
        after_help = "Examples:\n  windlass disk settings set /DataMover/HardwareAcceleratedMove 0\n  windlass disk settings set VMFS3.HardwareAcceleratedLocking --default"
    )]
    Set {
        /// Name, with slashes or dots
        name: String,
        /// Value
        #[arg(required_unless_present = "default")]
        value: Option<u32>,
        /// Back to its default
        #[arg(long, conflicts_with = "value")]
        default: bool,
    },
}

/// What to do, whichever way it was spelled.
#[derive(Debug)]
enum Task {
    Create(Location, DiskFormat, u64),
    Clone(Location, Location, CloneOptions),
    Migrate(Location, Location, MigrateOptions),
    Zero(Location, Option<String>),
    Unmap(Location, Option<(u64, u64)>, Option<String>),
    Punch(Location),
    Grow(Location, u64),
    Inflate(Location),
    Delete(Location),
    Rename(Location, String),
    Stat(Location),
    Snapshot(Location, String),
    Commit(Location),
    LinkedClone(Location, String),
}

impl Task {
    /// Where it works.
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        match self {
            Self::Clone(from, to, _) | Self::Migrate(from, to, _) => vec![from, to],
            Self::Create(at, ..)
            | Self::Zero(at, _)
            | Self::Unmap(at, ..)
            | Self::Punch(at)
            | Self::Grow(at, _)
            | Self::Inflate(at)
            | Self::Delete(at)
            | Self::Rename(at, _)
            | Self::Stat(at)
            | Self::Snapshot(at, _)
            | Self::Commit(at)
            | Self::LinkedClone(at, _) => vec![at],
        }
    }

    /// For the line of progress.
    fn words(&self) -> String {
        match self {
            Self::Create(at, ..) => format!("creating {at}"),
            Self::Clone(from, to, _) => format!("cloning {from} → {to}"),
            Self::Migrate(from, to, _) => format!("moving {from} → {to}"),
            Self::Zero(at, _) => format!("zeroing {at}"),
            Self::Unmap(at, ..) => format!("unmapping {at}"),
            Self::Punch(at) => format!("looking for zeros in {at}"),
            Self::Grow(at, _) => format!("growing {at}"),
            Self::Inflate(at) => format!("inflating {at}"),
            Self::Commit(at) => format!("committing {at}"),
            _ => String::new(),
        }
    }
}

/// Runs `windlass disk …`.
pub(crate) fn run(arguments: Arguments, globals: &Globals) -> ExitCode {
    if let Some(Verb::Settings(verb)) = &arguments.verb {
        return match settings(verb, globals) {
            Ok(text) => crate::print(&text),
            Err(error) => host_kit::fail(&error),
        };
    }
    let (task, by_host) = match task(&arguments) {
        Ok(task) => task,
        Err(error) => return host_kit::fail(&error),
    };
    let prepared = prepare(task, &arguments.host, by_host);
    let (task, options) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return host_kit::fail(&error),
    };
    let mut task = task;
    let datastores = task.locations_mut().iter().any(|location| location.disk.is_some());
    host_kit::run(globals, Ok(options), datastores, async |kit| {
        let meter = Meter::new(task.words(), globals.quiet);
        let result = execute(kit, &task, &meter).await;
        meter.end();
        result
    })
}

/// The locations with their secrets, and the kit's options.
fn prepare(mut task: Task, host: &HostOptions, by_host: bool) -> Result<(Task, KitOptions), DiskError> {
    for location in task.locations_mut() {
        *location = host.at(location)?;
    }
    let mut options = host.kit()?;
    if by_host {
        options.settings.hardware_accelerated_move = false;
    }
    Ok((task, options))
}

async fn execute(kit: &virtual_disk::Kit, task: &Task, meter: &Meter) -> Result<Shown, DiskError> {
    let done = match task {
        Task::Create(at, format, size) => create::create(kit, at, *format, *size, meter).await?,
        Task::Clone(from, to, options) => clone::clone(kit, from, to, options, meter).await?,
        Task::Migrate(from, to, options) => migrate::migrate(kit, from, to, options, meter).await?,
        Task::Zero(at, destroy) => zero::zero(kit, at, destroy.as_deref(), meter).await?,
        Task::Unmap(at, range, destroy) => zero::unmap(kit, at, *range, destroy.as_deref(), meter).await?,
        Task::Punch(at) => shape::punch_zeros(kit, at, meter).await?,
        Task::Grow(at, size) => shape::grow(kit, at, *size, meter).await?,
        Task::Inflate(at) => shape::inflate(kit, at, meter).await?,
        Task::Delete(at) => create::delete(kit, at).await?,
        Task::Rename(at, name) => create::rename(kit, at, name).await?,
        Task::Stat(at) => {
            let done = stat::stat(kit, at).await?;
            return Ok(Shown::Text(done.words, done.json, 0));
        }
        Task::Snapshot(at, name) => snapshot::snapshot(kit, at, name).await?,
        Task::Commit(at) => snapshot::commit(kit, at, meter).await?,
        Task::LinkedClone(base, name) => snapshot::linked_clone(kit, base, name).await?,
    };
    Ok(Shown::Done(done))
}

/// What to do, and whether the host is to copy.
fn task(arguments: &Arguments) -> Result<(Task, bool), DiskError> {
    let Some(verb) = &arguments.verb else { return arguments.vmkfstools.task() };
    let by_host = matches!(verb, Verb::Clone { by_host: true, .. } | Verb::Migrate { by_host: true, .. });
    let task = match verb {
        Verb::Create { size, format, disk } => Task::Create(disk.clone(), (*format).into(), *size),
        Verb::Clone { source, paths, format, resume, destroy_data, .. } => {
            let (from, to) = match (source, paths.as_slice()) {
                (Some(from), [to]) | (None, [from, to]) => (from, to),
                _ => {
                    return Err(DiskError::Usage(
                        "a clone has one source, given with -i or first, and one destination".into(),
                    ));
                }
            };
            let options = CloneOptions { format: (*format).into(), resume: *resume, destroy: destroy_data.clone() };
            Task::Clone(from.clone(), to.clone(), options)
        }
        Verb::Migrate { source, destination, format, keep_source, load, depth, settle, destroy_data, .. } => {
            let seed = u64::from(std::process::id());
            let options = MigrateOptions {
                format: (*format).into(),
                keep_source: *keep_source,
                destroy: destroy_data.clone(),
                load: load.then_some(LoadOptions { seed, depth: *depth, ..LoadOptions::default() }),
                settle: Duration::from_secs(*settle),
            };
            Task::Migrate(source.clone(), destination.clone(), options)
        }
        Verb::Zero { disk, destroy_data } => Task::Zero(disk.clone(), destroy_data.clone()),
        Verb::Unmap { disk, zeros: true, .. } => Task::Punch(disk.clone()),
        Verb::Unmap { disk, offset, length, destroy_data, .. } => {
            let range = length.map(|length| (offset.unwrap_or(0), length));
            Task::Unmap(disk.clone(), range, destroy_data.clone())
        }
        Verb::Grow { disk, size } => Task::Grow(disk.clone(), *size),
        Verb::Inflate { disk } => Task::Inflate(disk.clone()),
        Verb::Delete { disk } => Task::Delete(disk.clone()),
        Verb::Rename { disk, name } => Task::Rename(disk.clone(), new_name(disk, name)?),
        Verb::Stat { disk } => Task::Stat(disk.clone()),
        Verb::Snapshot { disk, name } => Task::Snapshot(disk.clone(), new_name(disk, name)?),
        Verb::Commit { disk } => Task::Commit(disk.clone()),
        Verb::LinkedClone { base, name } => Task::LinkedClone(base.clone(), new_name(base, name)?),
        Verb::Settings(_) => return Err(DiskError::Usage("settings have their own verbs".into())),
    };
    Ok((task, by_host))
}

/// A name on the same datastore, given as such or as URL#NAME.
fn new_name(beside: &Location, text: &str) -> Result<String, DiskError> {
    if !text.starts_with("iscsi://") {
        return Ok(text.to_owned());
    }
    let given: Location = text.parse().map_err(|error| DiskError::Usage(format!("{error}")))?;
    match given.disk {
        Some(name) if given.url == beside.url => Ok(name),
        _ => Err(DiskError::Usage(format!("{text} is not on the datastore of {beside}; clone or migrate it"))),
    }
}

impl Vmkfstools {
    fn task(&self) -> Result<(Task, bool), DiskError> {
        let Some(path) = &self.path else {
            let words = "what is to be done? windlass disk --help lists the verbs, and the spelling of vmkfstools";
            return Err(DiskError::Usage(words.into()));
        };
        let at = || path.parse::<Location>().map_err(|error| DiskError::Usage(error.to_string()));
        let task = if let Some(size) = self.create {
            Task::Create(at()?, self.format.into(), size)
        } else if let Some(source) = &self.clone {
            let options = CloneOptions { format: self.format.into(), resume: false, destroy: None };
            Task::Clone(source.clone(), at()?, options)
        } else if let Some(size) = self.extend {
            Task::Grow(at()?, size)
        } else if let Some(source) = &self.rename {
            Task::Rename(source.clone(), new_name(source, path)?)
        } else if self.delete {
            Task::Delete(at()?)
        } else if self.punch {
            Task::Punch(at()?)
        } else if self.eager || self.inflate {
            Task::Inflate(at()?)
        } else if self.zero {
            Task::Zero(at()?, None)
        } else {
            Task::Stat(at()?)
        };
        Ok((task, self.by_host))
    }
}

fn settings(verb: &SettingsVerb, globals: &Globals) -> Result<String, DiskError> {
    let mut current = settings::load()?;
    match verb {
        SettingsVerb::List => Ok(match globals.output {
            Format::Esxcli => settings::esxcli(&current),
            Format::Json => {
                let all = SETTINGS.iter().map(|setting| {
                    json!({
                        "path": setting.path,
                        "value": setting.value(&current),
                        "default": setting.default_value(),
                        "min": setting.min,
                        "max": setting.max,
                        "unit": setting.unit,
                        "description": setting.description,
                    })
                });
                format!("{:#}\n", all.collect::<serde_json::Value>())
            }
            _ => {
                let mut rows: Vec<Vec<String>> = Vec::new();
                if !globals.no_headers {
                    rows.push(["PATH", "VALUE", "DEFAULT", "RANGE", "DESCRIPTION"].map(str::to_owned).to_vec());
                }
                rows.extend(SETTINGS.iter().map(|setting| {
                    let unit = if setting.unit.is_empty() { String::new() } else { format!(" {}", setting.unit) };
                    vec![
                        setting.path.to_owned(),
                        format!("{}{unit}", setting.value(&current)),
                        setting.default_value().to_string(),
                        format!("{}–{}", setting.min, setting.max),
                        setting.description.to_owned(),
                    ]
                }));
                host_kit::columns(&rows)
            }
        }),
        SettingsVerb::Set { name, value, .. } => {
            let setting = Setting::find(name)?;
            let value = value.unwrap_or_else(|| setting.default_value());
            setting.change(&mut current, value)?;
            let path = settings::save(&current)?;
            if !globals.quiet {
                let _closed = writeln!(io::stderr(), "{} is {value}, in {}", setting.path, path.display());
            }
            Ok(String::new())
        }
    }
}
