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
    /// Print the commands that undo the others for this volume or share alone
    #[arg(long, conflicts_with = "watch")]
    undo: bool,
    /// Print the commands that take the host off the array, with all its volumes
    #[arg(long, conflicts_with_all = ["watch", "undo", "share"])]
    undo_host: bool,
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
        return match arguments.part() {
            Part::Steps => output.document(&plan),
            Part::Undo => output.document(&plan.undo),
            Part::UndoHost => output.document(&plan.undo_host),
        };
    }
    let text = written(arguments.part(), &plan, output.format() == Format::Sh);
    plan.warnings.iter().for_each(|warning| output.warn(&harmless(warning)));
    for placeholder in plan.placeholders.iter().filter(|placeholder| text.contains(&placeholder.text)) {
        output.report(&format!("replace {}: {}", harmless(&placeholder.text), harmless(&placeholder.meaning)));
    }
    match arguments.part() {
        Part::Steps if output.format() == Format::Sh => {
            let optional = plan.steps.iter().filter(|step| step.optional).map(|step| harmless(&step.title));
            let optional: Vec<String> = optional.collect();
            if !optional.is_empty() {
                output.report(&format!("optional steps are left out: {}", optional.join(", ")));
            }
        }
        Part::Steps => {}
        Part::Undo => plan.undo_note.iter().for_each(|note| output.report(&harmless(note))),
        Part::UndoHost => plan.undo_host_warning.iter().for_each(|warning| output.warn(&harmless(warning))),
    }
    output.text(&text)
}

/// Part of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// What connects the host.
    Steps,
    /// What undoes it for the volume or share alone.
    Undo,
    /// What takes the host off the array.
    UndoHost,
}

impl Arguments {
    const fn part(&self) -> Part {
        match (self.undo, self.undo_host) {
            (true, _) => Part::Undo,
            (_, true) => Part::UndoHost,
            (false, false) => Part::Steps,
        }
    }
}

/// Commands of a part. `is_script`: without comments, and without the steps that can be left out.
fn written(part: Part, plan: &ConnectPlan, is_script: bool) -> String {
    let steps: Vec<String> = match part {
        Part::Steps => {
            let wanted = plan.steps.iter().filter(|step| !(is_script && step.optional));
            wanted.map(|of| step(of, &of.title, &of.commands, is_script)).collect()
        }
        Part::Undo | Part::UndoHost => {
            let wanted = plan.steps.iter().rev().filter(|step| step.once_per_host == (part == Part::UndoHost));
            let wanted = wanted.filter(|step| !step.undo.is_empty());
            wanted.map(|of| step(of, &format!("Undo: {}", of.title), &of.undo, is_script)).collect()
        }
    };
    steps.join(if is_script { "" } else { "\n" })
}

/// Step as comments and commands.
fn step(step: &ConnectStep, title: &str, commands: &[ConnectCommand], is_script: bool) -> String {
    let commands = commands.iter().map(command).collect::<String>();
    if is_script {
        return commands;
    }
    let marks = [(step.optional, "optional"), (step.once_per_host, "once for each host")];
    let marks: String = marks.iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| format!(", {mark}")).collect();
    let why = if title == step.title { format!("# {}\n", step.why) } else { String::new() };
    harmless_lines(&format!("# {title}, {}{marks}\n{why}", step.place)) + &commands
}

/// Command on lines of its own. The content of a file is a command that writes it.
fn command(command: &ConnectCommand) -> String {
    let text = harmless_lines(command.text.trim_end_matches('\n'));
    match &command.file {
        Some(file) => format!("cat >{} <<'END'\n{text}\nEND\n", word(&harmless(file))),
        None => text + "\n",
    }
}
