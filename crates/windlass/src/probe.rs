//! `windlass probe`: what would a VMware host conclude about a logical unit? No array of ours is needed, and no root.

use crate::host_kit::{self, HostOptions};
use ::disk::DiskError;
use ::probe::{Options, ProbeError};
use clap::Args;
use cli::Format;
use iscsi_initiator::url::Url;
use std::io::{self, Write};
use std::process::ExitCode;

/// A primitive that a host needs is missing.
const INCOMPLETE: u8 = 9;
/// Ended by a signal.
const CANCELLED: u8 = 130;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
    url: Url,
    /// Prove each primitive: 192 KiB near the end of the unit, unmapped ones if there are, are written and put back as they were
    #[arg(long)]
    write_test: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// 0 when everything is there, 9 when something is missing, 130 when interrupted; when nothing can be said, the status of `windlass disk` for that
/// error.
pub(crate) fn run(arguments: &Arguments, format: Format) -> ExitCode {
    if !matches!(format, Format::Table | Format::Wide | Format::Json | Format::Esxcli) {
        return host_kit::fail(&DiskError::Usage(
            "probe prints a table, JSON (-o json) or what esxcli prints (-o esxcli)".into(),
        ));
    }
    let mut options = Options { write_test: arguments.write_test, ..Options::default() };
    options.session.timeout = arguments.host.answer_timeout();
    if let Some(name) = arguments.host.initiator() {
        options.session.initiator_name = name.to_owned();
    }
    let url = match arguments.host.complete(&arguments.url) {
        Ok(url) => url,
        Err(error) => return host_kit::fail(&error),
    };
    let report = match ::probe::probe(&url, &options) {
        Ok(report) => report,
        Err(ProbeError::Interrupted) => {
            let _closed = writeln!(io::stderr(), "interrupted; what was written has been put back");
            return ExitCode::from(CANCELLED);
        }
        Err(ProbeError::Session(error)) => return host_kit::fail(&DiskError::Session(error)),
        Err(ProbeError::Unit(error)) => return host_kit::fail(&DiskError::Unit(error)),
        Err(ProbeError::Device(error)) => return host_kit::fail(&DiskError::device(&url, error)),
        Err(error) => return host_kit::failed(&error.to_string(), "failed", 1, None),
    };
    let printed = crate::print(&match format {
        Format::Json => report.json(),
        Format::Esxcli => report.esxcli(),
        _ => report.table(),
    });
    if report.is_complete() { printed } else { ExitCode::from(INCOMPLETE) }
}
