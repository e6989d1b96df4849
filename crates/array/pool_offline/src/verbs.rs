//! Verbs of `windlass pool` that work on a file or device. They never reach an array.

use crate::command::OutputFormat;
use crate::dump::{DumpArguments, main_dump};
use crate::identity_command::{IdentityArguments, main_identity};
use crate::repair_command::{RepairArguments, main_repair};
use clap::Subcommand;
use std::process::ExitCode;

/// Verbs on a file or device. `pool check` is a verb of the array, and of [`crate::main_check`] when
/// it is given a path.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Verb {
    /// Rebuild space map, reference counts and superblock copies of a closed pool from its map;
    /// refuses any repair that cannot be proven correct
    #[command(
        after_help = "Examples:\n  windlass pool repair ./p0.pool --dry-run    shows what would change, and changes nothing\n  windlass pool repair ./p0.pool              shows it and asks\n  windlass pool repair ./p0.pool --yes\n\nExit status: 0 repaired or nothing to repair, 9 a dry run found something, something is left or data cannot be read, 4 in use by an array, 2 no terminal for the question and no --yes, 1 refused or cannot be opened."
    )]
    Repair(RepairArguments),
    /// Give a copy of a pool a new identity: target name, NAA designators and serial numbers
    #[command(
        after_help = "Examples:\n  windlass pool new-identity /srv/copy/p0.pool          shows what changes and asks\n  windlass pool new-identity /srv/copy/p0.pool --yes\n\nVolumes, snapshots, hosts and access stay. Persistent reservations are removed. For hosts the volumes are new disks: ESXi mounts a datastore on one after  esxcli storage vmfs snapshot resignature.\n\nExit status: 0 changed, 1 refused or cannot be opened, 2 no terminal for the question and no --yes, 3 no such file, 4 in use by an array, 5 access denied."
    )]
    NewIdentity(IdentityArguments),
    /// Show the structures of a closed pool on disk, for experts
    #[command(
        after_help = "Examples:\n  windlass pool dump ./p0.pool superblock\n  windlass pool dump ./p0.pool object 16 -o json\n  windlass pool dump ./p0.pool page 4711"
    )]
    Dump(DumpArguments),
}

/// Runs a verb on the standard streams.
pub fn main_verb(verb: &Verb, format: OutputFormat) -> ExitCode {
    match verb {
        Verb::Repair(arguments) => main_repair(arguments, format),
        Verb::NewIdentity(arguments) => main_identity(arguments, format),
        Verb::Dump(arguments) => main_dump(arguments, format),
    }
}
