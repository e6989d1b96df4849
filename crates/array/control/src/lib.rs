//! Administration of the array. A [`Request`] is a type in the folder of its noun, with its reply,
//! its execution and its event; [`Control::execute`] runs it.
//!
//! `control` owns the knowledge that the engine and the protocols lack: names of volumes and
//! snapshots, hosts and their authentication, access to volumes and their logical unit numbers, and
//! the designators of logical units. All of it is stored as JSON documents in the pool's catalog,
//! in the same atomic commit as the change of the object that they describe. There is thus no
//! separate state to save, and a crash leaves no contradiction.
//!
//! Reads ([`Read`]) are answered from [`Facts`]. Their copy is the [`Mirror`], which `control`
//! keeps up to date for other threads, so that reads take no time of the thread that owns the pool.
//!
//! Two traits connect `control` to the running array: [`Live`] publishes changes to the running
//! target and returns sessions and counters; [`Environment`] supplies time and randomness. This
//! crate opens no sockets, files or threads, and every call except to the mirror comes from the
//! thread that owns the pool.
#![forbid(unsafe_code)]

mod access;
mod catalog;
mod condition;
mod connect;
mod control;
mod difference;
mod directory;
mod effect;
mod environment;
mod error;
mod events;
mod exports;
mod facts;
mod file_places;
mod files;
mod host_groups;
mod host_primitives;
mod host_warnings;
mod hosts;
mod jobs;
mod live;
mod live_files;
mod logins;
#[cfg(any(test, feature = "memory"))]
pub mod memory;
mod mirror;
mod naa;
mod names;
mod nfs_clients;
mod object_names;
mod offload;
mod page;
mod paths;
mod pools;
mod ports;
mod qos;
mod read;
mod record;
mod request;
mod reservations;
mod revision;
mod samples;
mod sanitize;
mod schedules;
mod scrape;
mod search;
mod sessions;
mod shares;
mod snapshots;
mod system;
#[cfg(test)]
mod tests;
mod text_match;
mod trash;
mod trusted_time;
mod volumes;

pub use crate::qos::*;
pub use access::*;
pub use condition::{Class, Noun, Space, User, UserKind};
pub use connect::*;
pub use control::{ArrayOptions, Control, Loaded};
pub use difference::Difference;
pub use directory::{ConfiguredPorts, Directory, Edit, LogicalUnit, Nexus, SharedDirectory};
pub use effect::{Broken, BrokenKind, DryRun, Effect, Rehearsal, Rehearsed};
pub use environment::{Environment, Secret};
pub use error::ControlError;
pub use events::*;
pub use exports::*;
pub use facts::{Facts, PoolFacts};
pub use files::*;
pub use host_groups::*;
pub use host_primitives::{HostPrimitive, PrimitiveStanding};
pub use host_warnings::HostWarning;
pub use hosts::*;
pub use jobs::*;
pub use live::{
    Change, ClientOffloadRow, ConnectionCounters, Knock, Level, Live, LoginAttempt, LoginAttempts, LoginOutcome,
    NfsClientInfo, NfsClientStanding, NfsGrace, NfsLockInfo, NfsPart, NfsPosition, OffloadRow, Portal, PrimitiveSeen,
    RefusedLogins, Registration, Reservations, SessionInfo, SessionParameters, SessionSeen, ShareRollbackError,
    UnitFacts, UnitSeen, VolumeCounters,
};
pub use live_files::{
    CapturedFile, FileAttributes, FileCall, FileInfo, FileKind, FileListing, FilePart, FilePlace, FileRange,
    FileRefusal, FileSource, FileSpace, LiveFiles,
};
pub use logins::*;
pub use mirror::{Known, Mirror, News, RecordChange};
pub use naa::Naa;
pub use nfs_clients::*;
pub use object_names::ObjectNames;
pub use offload::*;
pub use page::{Column, Key, Listed, Page, Part, Start};
pub use pools::*;
pub use ports::*;
pub use read::Read;
pub use request::{Outcome, Request};
pub use reservations::*;
pub use revision::{Guarded, Tagged, Target};
pub use samples::*;
pub use sanitize::*;
pub use schedules::*;
pub use scrape::*;
pub use search::{Found, Search};
pub use sessions::*;
pub use shares::*;
pub use snapshots::*;
pub use system::*;
pub use trash::*;
pub use unit::{
    AccessState, Ending, IoLatency, IoStatistics, LatencyHistogram, LogEntry, OffloadClient,
    OffloadStatistics as OffloadCounters, Primitive, Reason, ReasonCounts, ReservationHolder, ReservationType,
    StateOrigin, VolumeId,
};
pub use volumes::*;
