//! `windlass pool new-identity FILE [--yes] [-o json]`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use uuid::Uuid;

use crate::EXIT_CLEAN;
use crate::command::{OutputFormat, print, report_error};
use crate::identity::{NewIdentity, change_identity, plan_identity};
use crate::repair_command::{Streams, ask, with_progress, with_standard_streams};

/// Arguments of `windlass pool new-identity`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct IdentityArguments {
    /// File or device of the copy
    pub file: PathBuf,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// Runs the command on the standard streams.
pub fn main_identity(arguments: &IdentityArguments, format: OutputFormat) -> ExitCode {
    ExitCode::from(with_standard_streams(|streams| run_identity(arguments, format, streams)))
}

/// Runs the command and returns its exit status.
pub fn run_identity(arguments: &IdentityArguments, format: OutputFormat, streams: &mut Streams<'_>) -> u8 {
    let new_id = Uuid::new_v4();
    if !arguments.yes {
        let planned = with_progress(streams, |progress| plan_identity(&arguments.file, new_id, progress));
        match planned {
            Ok(planned) => {
                if let Err(status) = agreed(&planned, streams) {
                    return status;
                }
            }
            Err(error) => return report_error(&error, streams.errors),
        }
    }
    match with_progress(streams, |progress| change_identity(&arguments.file, new_id, progress)) {
        Ok(changed) => {
            let status = print(&changed, format, EXIT_CLEAN, streams.output, streams.errors);
            let _ = writeln!(
                streams.errors,
                "note: give the copy a state directory of its own, and another [iscsi] name if its configuration has one"
            );
            status
        }
        Err(error) => report_error(&error, streams.errors),
    }
}

/// Shows the plan and asks for confirmation. Refuses without a terminal.
fn agreed(planned: &NewIdentity, streams: &mut Streams<'_>) -> Result<(), u8> {
    let question =
        "Hosts of the pool will not find its volumes again; that is right for a copy only. Change the identity?";
    let refusal = format!(
        "error: {}: identity not changed without agreement (code: unconfirmed)\nhelp: give --yes to change it, for a copy and not for the original",
        planned.file
    );
    ask(planned, question, &refusal, "identity not changed", streams)
}
