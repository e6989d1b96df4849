//! The kit for NFSv4.1 and NFSv4.2, with its options.

use super::{Find, Listed};
use ::conformance::kit::Report;
use clap::Args;
use nfs_conformance::{Check, Options, Url};
use std::sync::atomic::AtomicBool;

#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Options for nfs:// URLs")]
pub(super) struct Arguments {
    /// Another share of the server
    #[arg(long, value_name = "SHARE")]
    second_share: Option<String>,
    /// Minor version of NFSv4 [default: 2]
    #[arg(long, value_name = "1|2", value_parser = clap::value_parser!(u32).range(1..=2))]
    minor: Option<u32>,
    /// Require what Windlass does where the standard leaves a choice; a server that names itself
    /// Windlass is always judged so
    #[arg(long)]
    strict: bool,
}

impl Arguments {
    /// An option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        [(self.second_share.is_some(), "--second-share"), (self.minor.is_some(), "--minor"), (self.strict, "--strict")]
            .into_iter()
            .find_map(|(given, option)| given.then_some(option))
    }
}

/// Checks of this kit.
pub(super) const FIND: Find<Check> = Find {
    all: nfs_conformance::checks,
    named: nfs_conformance::find,
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
    let mut options = Options::new(url.clone());
    options.second_share = arguments.nfs.second_share.clone();
    options.minor = arguments.nfs.minor.unwrap_or(options.minor);
    options.thorough = arguments.thorough;
    // Otherwise, what the server says about itself decides.
    options.strict = arguments.nfs.strict.then_some(true);
    options.timeout = arguments.answer_timeout();
    nfs_conformance::run(&options, checks, stop, |check| progress(check.name))
}
