//! Options of vmkfstools, which `windlass disk` takes without a verb.

use super::clone::CloneDisk;
use super::create::Create;
use super::grow::Grow;
use super::new_name::{self, NewName};
use super::one_disk::{self, OneDisk};
use super::path::DiskPath;
use super::stat::Stat;
use super::unmap::Unmap;
use super::zero::Zero;
use super::{FormatName, Task, parse_size};
use virtual_disk::{DiskError, Location};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of vmkfstools")]
pub(super) struct Vmkfstools {
    /// Create a disk
    #[arg(short = 'c', long = "createvirtualdisk", value_name = "SIZE", value_parser = parse_size, group = "what")]
    create: Option<u64>,
    /// Clone this disk
    #[arg(short = 'i', long = "clonevirtualdisk", value_name = "SOURCE", group = "what")]
    clone: Option<DiskPath>,
    /// Enlarge the disk to this size
    #[arg(short = 'X', long = "extendvirtualdisk", value_name = "SIZE", value_parser = parse_size, group = "what")]
    extend: Option<u64>,
    /// Rename this disk; PATH is the new name
    #[arg(short = 'E', long = "renamevirtualdisk", value_name = "SOURCE", group = "what")]
    rename: Option<Location>,
    /// Delete the disk
    #[arg(short = 'U', long = "deletevirtualdisk", group = "what")]
    delete: bool,
    /// Return blocks of zeros to the datastore
    #[arg(short = 'K', long = "punchzero", group = "what")]
    punch: bool,
    /// Zero every block that has not been written
    #[arg(short = 'k', long = "eagerzero", group = "what")]
    eager: bool,
    /// Make a thin disk eagerzeroedthick
    #[arg(short = 'j', long = "inflatedisk", group = "what")]
    inflate: bool,
    /// Overwrite the whole disk with zeros
    #[arg(short = 'w', long = "writezeros", group = "what")]
    zero: bool,
    /// Print capacity, used and unshared bytes
    #[arg(long = "extendedstat", group = "what")]
    stat: bool,
    /// Format of a new disk [default: zeroedthick; of the clone of a file, that of its source]
    #[arg(short = 'd', long = "diskformat", value_name = "FORMAT", value_enum)]
    format: Option<FormatName>,
    /// Let the host copy: READ and WRITE instead of EXTENDED COPY
    #[arg(short = 'N', long = "avoidnativeclone")]
    by_host: bool,
    /// URL#NAME, or URL for the whole logical unit; the new name with -E
    #[arg(value_name = "PATH", requires = "what")]
    path: Option<String>,
}

impl Vmkfstools {
    /// Returns the task that the options ask for.
    pub(super) fn task(self) -> Result<Box<dyn Task>, DiskError> {
        let Some(path) = self.path.clone() else {
            let words = "no verb is given; windlass disk --help lists the verbs, and the options of vmkfstools";
            return Err(DiskError::Usage(words.into()));
        };
        if let Some(disk) = self.rename.clone() {
            return Ok(Box::new(NewName { verb: new_name::Verb::Rename, disk, name: path }));
        }
        let path = path.parse::<DiskPath>().map_err(DiskError::Usage)?;
        if let Some(size) = self.create {
            let format = self.format.unwrap_or(FormatName::Zeroedthick);
            return Ok(Box::new(Create { size, format, disk: path }));
        }
        if self.stat {
            return Ok(Box::new(Stat { disk: path, extendedstat: true }));
        }
        Ok(if let Some(source) = self.clone.clone() {
            let (format, by_host) = (self.format, self.by_host);
            Box::new(CloneDisk {
                source: None,
                paths: vec![source, path],
                format,
                by_host,
                resume: false,
                destroy_data: None,
            })
        } else {
            self.of_unit(path.location()?.clone())?
        })
    }

    /// The task that the options ask for on a disk of a logical unit.
    fn of_unit(&self, disk: Location) -> Result<Box<dyn Task>, DiskError> {
        Ok(if let Some(size) = self.extend {
            Box::new(Grow { disk, size })
        } else if self.delete {
            Box::new(OneDisk { verb: one_disk::Verb::Delete, disk })
        } else if self.punch {
            Box::new(Unmap { disk, offset: None, length: None, zeros: true, destroy_data: None })
        } else if self.eager || self.inflate {
            Box::new(OneDisk { verb: one_disk::Verb::Inflate, disk })
        } else if self.zero {
            Box::new(Zero { disk, destroy_data: None })
        } else {
            return Err(DiskError::Usage("no verb is given; windlass disk --help lists the verbs".into()));
        })
    }
}
