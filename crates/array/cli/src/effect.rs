//! `--dry-run`: what a change would do.

use crate::client::Client;
use crate::error::CliError;
use crate::output::{Column, Output, Resource, column};
use api::{Broken, Effect};
use hyper::Method;
use serde::Serialize;

/// Option of commands that delete, roll back, revoke or reclaim, and of those that change volumes, shares and files.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct DryRun {
    /// Say what would be freed and what would break, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Resource for Broken {
    const COLUMNS: &'static [Column<Self>] = &[
        column("kind", |broken| broken.kind.as_str().into()),
        column("name", |broken| broken.name.as_str().into()),
        column("what-happens", |broken| broken.why.as_str().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// Shows what deleting several objects would do, each alone. `paths`: their names and resources.
pub(crate) async fn deletions(
    verb: &str,
    paths: impl IntoIterator<Item = (&String, String)>,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let mut effects = Vec::new();
    for (name, path) in paths {
        let effect = client.rehearse::<()>(Method::DELETE, &path, None).await?;
        effects.push((format!("{verb} {name}"), effect));
    }
    show(effects, output)
}

/// Shows what one change would do.
pub(crate) async fn one<B: Serialize>(
    what: &str,
    (method, path, body): (Method, &str, Option<&B>),
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let effect = client.rehearse(method, path, body).await?;
    show(vec![(what.to_owned(), effect)], output)
}

/// Shows effects: as JSON, an array with one for each change. The error of the command is that of the first change
/// that would be refused.
fn show(effects: Vec<(String, Effect)>, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    if output.is_document() {
        output.document(&effects.iter().map(|(_, effect)| effect).collect::<Vec<_>>())?;
    } else {
        for (what, effect) in &effects {
            let frees = effect.frees_bytes.map(|bytes| format!("; it frees {}", output.size(bytes)));
            let possible = if effect.allowed { "possible" } else { "refused" };
            output.text(&format!("{what}: {possible}{}\n", frees.unwrap_or_default()))?;
            if !effect.breaks.is_empty() {
                output.list(&effect.breaks)?;
            }
            output.warnings(&effect.warnings);
        }
    }
    match effects.into_iter().find_map(|(_, effect)| effect.problem) {
        Some(problem) => Err(CliError::problem(problem)),
        None => Ok(()),
    }
}
