//! The kit for iSCSI and SCSI, with its options.

use super::{Find, Listed};
use ::conformance::kit::{self, Check, Report};
use ::conformance::url::Url;
use clap::Args;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Options for iscsi:// URLs")]
pub(super) struct Arguments {
    /// Another portal of the target
    #[arg(long, value_name = "HOST:PORT", value_parser = portal)]
    second_portal: Option<(String, u16)>,
    /// Another logical unit of the target
    #[arg(long, value_name = "N")]
    second_lun: Option<u16>,
    /// Names of the first, second and third initiator; omitted names are derived from the first
    #[arg(long, value_name = "NAME", value_parser = initiator::normalize_name)]
    initiator: Vec<String>,
    /// The logical units hold no data worth keeping; without this, checks that write are skipped
    #[arg(long)]
    destroy_data: bool,
    /// Program for the steps that only the administrator of the array can take: PROGRAM ACTION
    /// ARGUMENT…
    #[arg(long, value_name = "PROGRAM")]
    hook: Option<PathBuf>,
}

impl Arguments {
    /// An option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        [
            (self.second_portal.is_some(), "--second-portal"),
            (self.second_lun.is_some(), "--second-lun"),
            (!self.initiator.is_empty(), "--initiator"),
            (self.destroy_data, "--destroy-data"),
            (self.hook.is_some(), "--hook"),
        ]
        .into_iter()
        .find_map(|(given, option)| given.then_some(option))
    }
}

fn portal(text: &str) -> Result<(String, u16), String> {
    let (host, port) = text.rsplit_once(':').ok_or("expected HOST:PORT")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), port.parse().map_err(|_| "the port is not a number up to 65535")?))
}

/// Checks of this kit.
pub(super) const FIND: Find<Check> = Find {
    all: kit::checks,
    named: kit::find,
    listed: |check| Listed { number: check.number, name: check.name, section: check.section, asks: check.asks },
};

/// Runs checks; `progress` takes the name of each.
pub(super) fn run(
    arguments: &super::Arguments,
    url: &Url,
    checks: &[&'static Check],
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str),
) -> Report {
    let iscsi = &arguments.iscsi;
    let options = kit::Options {
        second_portal: iscsi.second_portal.clone(),
        second_lun: iscsi.second_lun,
        initiators: iscsi.initiator.clone(),
        destroy_data: iscsi.destroy_data,
        thorough: arguments.thorough,
        hook: iscsi.hook.clone(),
        timeout: arguments.answer_timeout(),
        ..kit::Options::new(url.clone())
    };
    kit::run(&options, checks, stop, |check| progress(check.name))
}
