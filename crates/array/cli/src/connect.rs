//! `windlass connect`: what an administrator of a host enters there to use a volume or share, and how far the host is.

mod watch;

use crate::client::{Client, query};
use crate::error::CliError;
use crate::output::{Format, Output};
use api::{ConnectCommand, ConnectPlan, ConnectStep};
use clap::builder::PossibleValuesParser;
use connect::System;
use std::time::Duration;
use text::terminal::{harmless, harmless_lines, word};

/// Arguments of `windlass connect`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// System of the host
    #[arg(value_parser = PossibleValuesParser::new(System::ALL.map(System::name)))]
    system: String,
    /// Host, by name or id
    host: String,
    /// Volume that the host is to use, by name or id
    #[arg(long, value_name = "VOLUME", required_unless_present = "share")]
    volume: Option<String>,
    /// Share that a Linux host is to mount, by name or id
    #[arg(long, value_name = "SHARE", conflicts_with_all = ["volume", "watch", "adapter"])]
    share: Option<String>,
    /// iSCSI adapter of an ESXi host, such as vmhba64
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Of a share: address of the array, with the port of NFS if it is not 2049 [default: the first address of its NFS
    /// server]
    #[arg(long, value_name = "ADDRESS[:PORT]", requires = "share")]
    address: Option<String>,
    /// Of a share: directory to mount it on [default: /mnt/NAME]
    #[arg(long, value_name = "DIRECTORY", requires = "share")]
    directory: Option<String>,
    /// Print the commands that undo the others
    #[arg(long, conflicts_with = "watch")]
    undo: bool,
    /// Print no commands: follow the host until it can use the volume
    #[arg(long)]
    watch: bool,
    /// With --watch: end when nothing has changed for so long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = api::duration::parse, requires = "watch")]
    patience: Duration,
}

pub(crate) async fn run(arguments: &Arguments, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    if arguments.watch {
        return watch::run(&arguments.host, arguments.volume.as_deref(), arguments.patience, client, output).await;
    }
    let parameters = query(&[
        ("system", Some(&arguments.system)),
        ("host", Some(&arguments.host)),
        ("volume", arguments.volume.as_deref()),
        ("share", arguments.share.as_deref()),
        ("adapter", arguments.adapter.as_deref()),
        ("address", arguments.address.as_deref()),
        ("directory", arguments.directory.as_deref()),
    ]);
    let plan: ConnectPlan = client.get(&format!("/api/v1/connect/plan{parameters}")).await?;
    if output.is_document() {
        return if arguments.undo { output.document(&plan.undo) } else { output.document(&plan) };
    }
    plan.warnings.iter().for_each(|warning| output.warn(&harmless(warning)));
    if !arguments.undo {
        for placeholder in &plan.placeholders {
            output.report(&format!("replace {}: {}", harmless(&placeholder.text), harmless(&placeholder.meaning)));
        }
    }
    let commands = |of: &[ConnectCommand]| of.iter().map(command).collect::<String>();
    let text = match (arguments.undo, output.format()) {
        (true, _) => commands(&plan.undo),
        (false, Format::Sh) => plan.steps.iter().map(|step| commands(&step.commands)).collect(),
        (false, _) => plan.steps.iter().map(step).collect::<Vec<_>>().join("\n"),
    };
    output.text(&text)
}

/// Step as comments and commands.
fn step(step: &ConnectStep) -> String {
    let optional = if step.optional { " (optional)" } else { "" };
    let head = format!("# {}{optional}, {}\n# {}\n", step.title, step.place, step.why);
    harmless_lines(&head) + &step.commands.iter().map(command).collect::<String>()
}

/// Command on lines of its own. The content of a file is a command that writes it.
fn command(command: &ConnectCommand) -> String {
    let text = harmless_lines(command.text.trim_end_matches('\n'));
    match &command.file {
        Some(file) => format!("cat >{} <<'END'\n{text}\nEND\n", word(&harmless(file))),
        None => text + "\n",
    }
}
