//! Verbs of `windlass pool` that work on the file or device of a pool that no array serves. The program runs them itself; they never reach an array.

use std::path::PathBuf;

/// Verbs on a file or device.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum FileVerb {
    /// Rebuild a closed pool's space map, reference counts and superblock copies from its map. Refuses what cannot be proven
    #[command(
        after_help = "Examples:\n  windlass pool repair ./p0.pool --dry-run    shows what would change, and changes nothing\n  windlass pool repair ./p0.pool              shows it and asks\n  windlass pool repair ./p0.pool --yes\n\nExit status: 0 repaired or nothing to repair, 9 a dry run found something, something is left or data cannot be read, 4 in use by an array, 1 refused or cannot be opened."
    )]
    Repair {
        /// File or device; the first one of several
        file: PathBuf,
        /// Only show what would change
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
        /// Repair without asking
        #[arg(long)]
        yes: bool,
    },
    /// Give a copy of a pool an identity of its own: target name, NAA designators and serial numbers
    #[command(
        after_help = "Examples:\n  windlass pool new-identity /srv/copy/p0.pool          shows what changes and asks\n  windlass pool new-identity /srv/copy/p0.pool --yes\n\nVolumes, snapshots, hosts and access stay. Persistent reservations are removed. For hosts the volumes are new disks: ESXi mounts a datastore on one after  esxcli storage vmfs snapshot resignature.\n\nExit status: 0 changed, 1 refused or cannot be opened, 3 no such file, 4 in use by an array, 5 access denied."
    )]
    NewIdentity {
        /// File or device of the copy
        file: PathBuf,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Show structures of a closed pool as they are on disk, for experts
    #[command(
        after_help = "Examples:\n  windlass pool dump ./p0.pool superblock\n  windlass pool dump ./p0.pool object 16 -o json\n  windlass pool dump ./p0.pool page 4711"
    )]
    Dump {
        /// File or device; the first one of several
        file: PathBuf,
        /// What to show
        #[command(subcommand)]
        what: Structure,
    },
}

/// What `pool dump` shows. Addresses are blocks of 4 096 bytes of the pool.
#[derive(Clone, Copy, Debug, clap::Subcommand)]
pub enum Structure {
    /// The four superblock copies
    Superblock,
    /// The root in force
    Root,
    /// Objects, keys of documents and detached trees of the last checkpoint
    Objects,
    /// Frames and records of the log since the last checkpoint
    Log {
        /// Most records to show
        #[arg(long, default_value_t = 1000)]
        limit: usize,
    },
    /// A map page
    Page {
        /// Block of the pool
        address: u64,
    },
    /// A block of the data area: its use, reference count and content
    Block {
        /// Block of the pool
        address: u64,
    },
    /// An object: its map pages, and where its content lies
    Object {
        /// Number of the object
        id: u64,
        /// Most pages and runs to show
        #[arg(long, default_value_t = 1000)]
        limit: usize,
    },
}
