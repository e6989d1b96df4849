//! The probe of a share.

use super::{Arguments, CANCELLED};
use crate::host_kit::{self, FINDINGS, nfs_failure};
use ::probe::nfs::{Options, ProbeError, probe};
use cli::Format;
use nfs_client::url::Url;
use std::io::{self, Write};
use std::process::ExitCode;
use virtual_disk::DiskError;

/// Runs the probe, with the exit statuses of a logical unit's.
pub(super) fn run(arguments: &Arguments, url: &Url, format: Format) -> ExitCode {
    if !matches!(format, Format::Table | Format::Wide | Format::Json | Format::Yaml) {
        return host_kit::fail(&DiskError::Usage(
            "the probe of a share prints a table, JSON (-o json) or YAML (-o yaml)".into(),
        ));
    }
    if let Some(option) = arguments.host.given_for_iscsi() {
        return host_kit::fail(&DiskError::Usage(format!("{option} is an option for iscsi:// URLs")));
    }
    let options = Options { write_test: arguments.write_test, timeout: arguments.host.answer_timeout() };
    let report = match probe(url, &options) {
        Ok(report) => report,
        Err(ProbeError::Interrupted) => {
            let _closed = writeln!(io::stderr(), "interrupted; the directory of the probe was removed");
            return ExitCode::from(CANCELLED);
        }
        Err(error) => return fail(url, &error),
    };
    let printed = crate::print(&match format {
        Format::Json | Format::Yaml => crate::reformatted(format, report.json()),
        _ => text::terminal::harmless_lines(&report.table()),
    });
    let complete = report.is_complete();
    match &report.failed {
        Some(error) => fail(url, error),
        None if complete => printed,
        None => ExitCode::from(FINDINGS),
    }
}

fn fail(url: &Url, error: &ProbeError) -> ExitCode {
    match error {
        ProbeError::Client(error) => nfs_failure(url, error),
        ProbeError::NotRemoved { .. } => {
            host_kit::failed(&error.to_string(), "failed", 1, Some("remove the directory, which belongs to the probe"))
        }
        error => host_kit::failed(&error.to_string(), "failed", 1, None),
    }
}
