//! `windlass config`: the configuration of the array as a document.

use crate::client::{Client, encoded};
use crate::error::CliError;
use crate::job;
use crate::output::{Column, Output, Resource, Value, column, wide};
use crate::private_file;
use api::{
    ConfigurationApply, ConfigurationDay, ConfigurationOp, ConfigurationPlan, ConfigurationStep, GeneratedSecret, Job,
    List, MAX_DOCUMENT_BYTES,
};
use jiff::civil::Date;
use std::io::Read;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// Verbs of `windlass config`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// Export the configuration, without secrets and content
    #[command(
        after_help = "Examples:\n  windlass config export --file array.toml\n  windlass config export --format json"
    )]
    Export {
        /// File to write [default: standard output]
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Form of the document
        #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Form::Toml)]
        format: Form,
    },
    /// Show what applying a document would do; changes nothing
    #[command(
        after_help = "Examples:\n  windlass config plan array.toml\n  windlass config plan - < array.json\n\nExit status: 9 when a step cannot be taken"
    )]
    Plan {
        /// Document, TOML or JSON (FILE.json); - reads standard input
        file: PathBuf,
    },
    /// Make the array what a document says
    #[command(
        after_help = "Examples:\n  windlass config apply array.toml\n  windlass config apply array.toml --allow-delete --yes\n  windlass config apply 0d9b6a1c-6a0e-4a59-9f1e-0f2a6f2b8c11\n\nVolumes and shares are deleted with --allow-delete alone, and go to the trash."
    )]
    Apply {
        /// Document, or the id of a plan
        what: String,
        /// Permit steps that delete volumes or shares
        #[arg(long)]
        allow_delete: bool,
    },
    /// List the days whose configuration is kept, or show that of a day
    #[command(
        after_help = "Examples:\n  windlass config history\n  windlass config history 2026-11-01 > then.toml\n  windlass config plan then.toml"
    )]
    History {
        /// Day, UTC
        day: Option<Date>,
    },
}

/// Form of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// TOML, with comments
    Toml,
    /// JSON
    Json,
}

impl Resource for ConfigurationStep {
    const WHEN_EMPTY: &'static str = "nothing to do: the array is as the document says";
    const COLUMNS: &'static [Column<Self>] = &[
        column("op", |step| sign(step.op).into()),
        column("kind", |step| step.kind.as_str().into()),
        column("name", |step| Some(step.name.as_str()).filter(|name| !name.is_empty()).into()),
        column("change", |step| change(step).into()),
        column("problem", |step| step.problem.clone().into()),
        wide("note", |step| step.note.clone().into()),
    ];

    fn name(&self) -> String {
        format!("{} {} {}", sign(self.op), self.kind, self.name)
    }
}

impl Resource for ConfigurationDay {
    const WHEN_EMPTY: &'static str = "no exports yet: one is kept each day";
    const COLUMNS: &'static [Column<Self>] =
        &[column("day", |of| of.day.to_string().into()), column("size", |of| Value::Bytes(of.size_bytes))];

    fn name(&self) -> String {
        self.day.to_string()
    }
}

const fn sign(op: ConfigurationOp) -> &'static str {
    match op {
        ConfigurationOp::Add => "+",
        ConfigurationOp::Change => "~",
        ConfigurationOp::Remove => "-",
    }
}

/// Fields that change, in a line. Only their names are of interest if the object is new or goes.
fn change(step: &ConfigurationStep) -> Option<String> {
    if step.op != ConfigurationOp::Change {
        return None;
    }
    let fields = step.change.iter().map(|(name, change)| format!("{name}={}→{}", change.before, change.after));
    Some(fields.collect::<Vec<String>>().join(" "))
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::Export { file, format } => {
            let form = if *format == Form::Toml { "toml" } else { "json" };
            let text = client.text(&format!("/api/v1/config/export?format={form}")).await?;
            match file {
                Some(path) => {
                    private_file::write(path, text.as_bytes())?;
                    output.report(&format!("configuration written to {}", path.display()));
                    Ok(())
                }
                None => output.text(&text),
            }
        }
        Verb::Plan { file } => {
            let plan = plan(file, client).await?;
            show(&plan, output)
        }
        Verb::Apply { what, allow_delete } => {
            let plan = match Uuid::try_parse(what) {
                Ok(id) => {
                    output.confirm(&format!("apply plan {id}?"))?;
                    id
                }
                Err(_) => {
                    let plan = plan(Path::new(what), client).await?;
                    if plan.steps.is_empty() {
                        output.report(ConfigurationStep::WHEN_EMPTY);
                        return Ok(());
                    }
                    if output.asks() {
                        show(&plan, output)?;
                    }
                    output.confirm(&format!("apply these {} steps?", plan.steps.len()))?;
                    plan.id
                }
            };
            apply(ConfigurationApply { plan, allow_delete: *allow_delete }, client, output).await
        }
        Verb::History { day: None } => output.list(&client.list::<ConfigurationDay>("/api/v1/config/history").await?),
        Verb::History { day: Some(day) } => {
            let text = client.text(&format!("/api/v1/config/history/{}", encoded(&day.to_string()))).await?;
            output.text(&text)
        }
    }
}

/// Applies a plan, and shows the generated secrets, also after a failure: the array forgets them.
async fn apply(apply: ConfigurationApply, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let started = client.post::<Job>("/api/v1/config/apply", &apply).await?.body;
    let ended = job::wait(started, None, client, output).await;
    if ended.is_err() {
        output.warn("what was done is in GET /api/v1/config/applied; plan the document again to see what is left");
    }
    loop {
        // An answer that is lost on the way can be had again.
        let secrets = client.post_once::<List<GeneratedSecret>>("/api/v1/config/applied/secrets", &()).await?.items;
        if secrets.is_empty() {
            return ended;
        }
        // Shown even with --quiet: they are not kept.
        for GeneratedSecret { kind, name, field, secret } in secrets {
            output.warn(&format!("{field} of {kind} {name}, shown once: {secret}"));
        }
    }
}

fn show(plan: &ConfigurationPlan, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    if output.is_document() {
        output.document(plan)?;
    } else {
        output.list(&plan.steps)?;
        output.report(&format!("plan {}", plan.id));
    }
    match plan.problems {
        0 => Ok(()),
        problems => {
            let message = format!("steps that cannot be taken: {problems}");
            Err(CliError::findings(message, "correct the document, and plan it again"))
        }
    }
}

async fn plan(path: &Path, client: &Client) -> Result<ConfigurationPlan, CliError> {
    let text = read(path)?;
    let is_json =
        path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) || text.trim_start().starts_with('{');
    let kind = if is_json { "application/json" } else { "application/toml" };
    client.post_text("/api/v1/config/plan", kind, text).await
}

/// Reads a document from a file or from standard input, up to what the array takes.
fn read(path: &Path) -> Result<String, CliError> {
    let failed = |error: std::io::Error| CliError::failed(format!("cannot read {}: {error}", path.display()));
    let mut text = String::new();
    let most = u64::try_from(MAX_DOCUMENT_BYTES + 1).unwrap_or(u64::MAX);
    if path == Path::new("-") {
        std::io::stdin().take(most).read_to_string(&mut text).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(most).read_to_string(&mut text).map_err(failed)?;
    }
    if u64::try_from(text.len()).unwrap_or(u64::MAX) >= most {
        return Err(CliError::failed(format!("{} is larger than 8 MiB", path.display())));
    }
    Ok(text)
}
