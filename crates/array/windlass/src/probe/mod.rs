//! `windlass probe`: reports what a host would conclude about a logical unit, or about a share. Needs
//! neither an array of ours nor root.

mod nfs;

use crate::host_kit::{self, FINDINGS, HostOptions};
use crate::target::Target;
use ::probe::{Options, ProbeError};
use clap::Args;
use cli::Format;
use initiator::url::Url;
use std::io::{self, Write};
use std::process::ExitCode;
use virtual_disk::DiskError;

/// Exit status after a signal.
const CANCELLED: u8 = 130;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN or nfs://HOST[:PORT]/SHARE")]
    url: Target,
    /// Execute each primitive: on 192 KiB near the end of the unit (unmapped ones if possible), whose
    /// content is restored, and no other host may use the unit during the test; or in a new directory
    /// of the share, which is removed
    #[arg(long)]
    write_test: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// Runs the probe. Exit status: 0 if every primitive is there, 9 if one is missing, 130 when
/// interrupted; if the probe failed or the write test ended early, the status that `windlass disk`
/// has for that error.
pub(crate) fn run(arguments: &Arguments, format: Format) -> ExitCode {
    match &arguments.url {
        Target::Iscsi(url) => run_iscsi(arguments, url, format),
        Target::Nfs(url) => nfs::run(arguments, url, format),
    }
}

fn run_iscsi(arguments: &Arguments, url: &Url, format: Format) -> ExitCode {
    if !matches!(format, Format::Table | Format::Wide | Format::Json | Format::Yaml | Format::Esxcli) {
        return host_kit::fail(&DiskError::Usage(
            "probe prints a table, JSON (-o json), YAML (-o yaml) or what esxcli prints (-o esxcli)".into(),
        ));
    }
    let mut options = Options { write_test: arguments.write_test, ..Options::default() };
    options.session.timeout = arguments.host.answer_timeout();
    if let Some(name) = arguments.host.initiator() {
        options.session.initiator_name = name.to_owned();
    }
    let url = match arguments.host.complete(url) {
        Ok(url) => url,
        Err(error) => return host_kit::fail(&error),
    };
    let report = match ::probe::probe(&url, &options) {
        Ok(report) => report,
        Err(ProbeError::Interrupted) => {
            let _closed = writeln!(io::stderr(), "interrupted; the content was restored");
            return ExitCode::from(CANCELLED);
        }
        Err(error) => return fail(&url, error),
    };
    let printed = crate::print(&match format {
        Format::Json | Format::Yaml => crate::reformatted(format, report.json()),
        Format::Esxcli => text::terminal::harmless_lines(&report.esxcli()),
        _ => text::terminal::harmless_lines(&report.table()),
    });
    let complete = report.is_complete();
    match report.failed {
        Some(error) => fail(&url, error),
        None if complete => printed,
        None => ExitCode::from(FINDINGS),
    }
}

/// Reports the error as the other commands of the host kit do, if they know it.
fn fail(url: &Url, error: ProbeError) -> ExitCode {
    let words = error.to_string();
    let known = match error {
        ProbeError::Session(error) => DiskError::Session(error),
        ProbeError::Unit(error) => DiskError::Unit(error),
        ProbeError::Device(error) => DiskError::device(url, error),
        ProbeError::Mounted { datastore, host } => DiskError::Mounted { on: url.to_string(), name: datastore, host },
        ProbeError::ForeignWrite { .. } => {
            let help =
                "stop the other users of the logical unit and repeat the probe; without --write-test it writes nothing";
            return host_kit::failed(&words, "in-use", 4, Some(help));
        }
        error if error.is_full() => {
            let help = "free space in the array's pool, or grow it; the blocks in question now contain test data";
            return host_kit::failed(&words, "no-space", 6, Some(help));
        }
        _ => return host_kit::failed(&words, "failed", 1, None),
    };
    host_kit::fail(&known)
}
