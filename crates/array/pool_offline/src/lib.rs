//! Commands on the file or device of a pool that no daemon serves: `windlass pool check FILE`,
//! `repair`, `dump`, `new-identity`.
//!
//! Only a confirmed repair or new identity changes a pool. Otherwise the file is opened read-only,
//! under the lock that a daemon takes, and recovery runs in memory over it ([`media::Overlay`]). A
//! check therefore also works on a snapshot or a read-only copy. Only [`dump_served`], which the daemon uses, reads a
//! pool that is served.
#![forbid(unsafe_code)]

mod check;
mod command;
mod dump;
mod error;
mod identity;
mod identity_command;
mod names;
mod outcome;
mod repair;
mod repair_command;
mod served;
#[cfg(test)]
mod tests;
mod verbs;

pub use check::{CheckOptions, CheckStage, check};
pub use command::{CheckArguments, OutputFormat, main_check, run_check};
pub use dump::{Dump, DumpArguments, DumpWhat, dump, main_dump, run_dump};
pub use error::CheckError;
pub use identity::{NewIdentity, VolumeIdentity, change_identity, plan_identity};
pub use identity_command::{IdentityArguments, main_identity, run_identity};
pub use outcome::CheckOutcome;
pub use repair::{RepairOutcome, plan_repair, repair};
pub use repair_command::{RepairArguments, Streams, main_repair, run_repair};
pub use served::{ServedDump, dump_served};
pub use verbs::{Verb, main_verb};

/// Exit status of a check without findings.
pub const EXIT_CLEAN: u8 = 0;
/// Exit status when the pool cannot be opened, or the result cannot be written.
pub const EXIT_FAILED: u8 = 1;
/// Exit status when a change needs a confirmation, and there is no terminal for it.
pub const EXIT_UNCONFIRMED: u8 = 2;
/// Exit status when the file or device does not exist.
pub const EXIT_NOT_FOUND: u8 = 3;
/// Exit status when another process has the pool open.
pub const EXIT_IN_USE: u8 = 4;
/// Exit status when the operating system denies access to the file.
pub const EXIT_DENIED: u8 = 5;
/// Exit status of a check with findings.
pub const EXIT_FINDINGS: u8 = 9;
