//! Examination of the array and its machine: what an administrator should mend before it hurts.
//!
//! Each check is a function of [`Evidence`], which is collected first; checks do no I/O.

mod hosts;
mod machine;
mod management;
mod pool;

pub(crate) use machine::{Machine, Places};

use api::{Access, Account, Channel, CheckState, Examined, Export, Host, Schedule, Session, Status, Token};
use jiff::Timestamp;

/// What the checks look at.
pub(crate) struct Evidence {
    pub now: Timestamp,
    pub machine: Machine,
    pub status: Status,
    pub hosts: Vec<Host>,
    pub sessions: Vec<Session>,
    pub grants: Vec<Access>,
    pub exports: Vec<Export>,
    pub schedules: Vec<Schedule>,
    pub users: Vec<Account>,
    pub tokens: Vec<Token>,
    pub channels: Vec<Channel>,
}

/// A check: its name, and the function that makes it.
type Check = (&'static str, fn(&Evidence) -> Result<String, Finding>);

/// All checks, in the order of reports.
const CHECKS: &[Check] = &[
    ("pool", pool::state),
    ("alerts", pool::alerts),
    ("space", pool::space),
    ("over-commitment", pool::over_commitment),
    ("space-below", machine::space_below),
    ("trash", pool::trash),
    ("scrub", pool::scrub),
    ("schedules", pool::schedules),
    ("portals", hosts::portals),
    ("paths", hosts::paths),
    ("strangers", hosts::strangers),
    ("open-access", hosts::open_access),
    ("unused-hosts", hosts::unused),
    ("administrator", management::administrator),
    ("bootstrap-token", management::bootstrap_token),
    ("old-tokens", management::old_tokens),
    ("notification", management::notification),
    ("certificate", management::certificate),
    ("state-directory", machine::state_directory),
    ("private-files", machine::private_files),
    ("input-output", machine::input_output),
    ("kernel", machine::kernel),
    ("memory", machine::memory),
    ("open-files", machine::open_files),
];

/// Something that is not as it should be.
struct Finding {
    state: CheckState,
    finding: String,
    /// What mends it, in words.
    fix: String,
    /// Commands for it, in order.
    commands: Vec<String>,
}

impl Finding {
    /// Adds a command, whose names are quoted for a shell.
    fn enter(mut self, command: impl Into<String>) -> Self {
        self.commands.push(command.into());
        self
    }
}

fn warning(finding: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { state: CheckState::Warning, finding: finding.into(), fix: fix.into(), commands: Vec::new() }
}

fn fail(finding: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { state: CheckState::Fail, finding: finding.into(), fix: fix.into(), commands: Vec::new() }
}

/// Makes all checks.
pub(crate) fn examine(evidence: &Evidence) -> Vec<Examined> {
    let examined = |(check, of): &Check| match of(evidence) {
        Ok(finding) => {
            Examined { check: (*check).to_owned(), state: CheckState::Ok, finding, fix: None, commands: Vec::new() }
        }
        Err(Finding { state, finding, fix, commands }) => {
            Examined { check: (*check).to_owned(), state, finding, fix: Some(fix), commands }
        }
    };
    CHECKS.iter().map(examined).collect()
}

/// The first names of several, and how many others there are.
fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 3;
    let all: Vec<_> = all.into_iter().collect();
    let shown = all.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        others => format!("{shown} and {others} more"),
    }
}

/// A number with its noun.
fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
