//! Targets of the comparison: this array, tgt, istgt and LIO, each with two logical units of one
//! size in memory.
//!
//! tgt and istgt are Debian's packages, run on this machine; LIO is the kernel's, in the guest of
//! `cargo xtask vm`. Where there is no KVM, the guest's processor is emulated; then its responses
//! count, but not their speed.

mod here;

use crate::{vm, workspace};
use anyhow::{Result, ensure};
use here::Here;
use std::path::{Path, PathBuf};

/// Names of all targets, in table order.
pub const ALL: [&str; 4] = ["windlass", "tgt", "istgt", "lio"];

/// Returns the targets with the given names, or all, after installing their packages.
pub fn chosen(only: &[String]) -> Result<Vec<&'static str>> {
    for name in only {
        ensure!(ALL.contains(&name.as_str()), "there is no target {name}; there are {}", ALL.join(", "));
    }
    workspace::need("scorecard")?;
    Ok(ALL.into_iter().filter(|target| only.is_empty() || only.iter().any(|name| name == target)).collect())
}

/// Running target. Dropping it ends it.
pub struct Target {
    name: &'static str,
    windlass: PathBuf,
    size_mib: u64,
    place: Place,
}

enum Place {
    Here(Box<Here>),
    /// LIO in a guest, which is kept, because a guest takes too long to start.
    Guest(Box<vm::Lio>),
}

impl Target {
    /// Starts the target of this name, one of [`ALL`], with two logical units of `size_mib` MiB.
    pub fn start(windlass: &Path, name: &'static str, size_mib: u64) -> Result<Self> {
        let place = match name {
            "lio" => Place::Guest(Box::new(vm::Lio::start(windlass, size_mib)?)),
            name => Place::Here(Box::new(Here::start(windlass, name, size_mib)?)),
        };
        Ok(Self { name, windlass: windlass.to_path_buf(), size_mib, place })
    }

    /// Restarts the target without its state, where that is quick.
    pub fn restarted(self) -> Result<Self> {
        match self.place {
            Place::Here(here) => {
                drop(here);
                Self::start(&self.windlass, self.name, self.size_mib)
            }
            Place::Guest(_) => Ok(self),
        }
    }

    /// URL of the first logical unit.
    pub fn url(&self) -> String {
        match &self.place {
            Place::Here(here) => here.url(),
            Place::Guest(guest) => guest.url(),
        }
    }

    /// LUN of the second logical unit.
    pub fn second_lun(&self) -> u16 {
        match &self.place {
            Place::Here(here) => here.second_lun(),
            Place::Guest(_) => 1,
        }
    }

    /// URL of the second logical unit.
    pub fn second_url(&self) -> String {
        let url = self.url();
        let target = url.rsplit_once('/').map_or(url.as_str(), |(target, _)| target);
        format!("{target}/{}", self.second_lun())
    }
}
