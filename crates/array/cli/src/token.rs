//! `windlass token`: the credentials of programs.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, column, wide};
use crate::user::{RoleName, role};
use api::{Role, Token, TokenCreate, TokenCreated, TokenScopes};
use jiff::Timestamp;
use std::time::Duration;

/// Verbs of `windlass token`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List tokens; their secrets are not kept
    #[command(after_help = "Example:\n  windlass token list")]
    List,
    /// Show one token, without its secret
    #[command(after_help = "Example:\n  windlass token show csi")]
    Show {
        /// Name or id
        name: String,
    },
    /// Create a token; its secret is shown once
    #[command(
        after_help = "Examples:\n  windlass token create csi --role operator --volumes 'csi-*'\n  windlass token create backup --role operator --network 10.0.0.0/24 --expires 365d\n  windlass token create prometheus --role viewer --metrics-only"
    )]
    Create(Create),
    /// Delete tokens: they are not accepted any more
    #[command(after_help = "Example:\n  windlass token delete csi")]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

/// Options of `token create`.
#[derive(Clone, Debug, clap::Args)]
pub struct Create {
    /// Name: letters, digits, '.', '_', '-' and '@'
    name: String,
    /// Role of the token: viewer, operator, admin
    #[arg(long, value_enum, hide_possible_values = true)]
    role: RoleName,
    /// Limit to volumes whose names match, with their snapshots and grants; * is any text
    #[arg(long, value_name = "PATTERN")]
    volumes: Option<String>,
    /// Limit to this network; may be given several times
    #[arg(long, value_name = "ADDR/BITS")]
    network: Vec<String>,
    /// Only /metrics
    #[arg(long, conflicts_with = "volumes")]
    metrics_only: bool,
    /// Lifetime, such as 12h or 90d [default: unlimited]
    #[arg(long, value_name = "TIME", value_parser = api::duration::parse)]
    expires: Option<Duration>,
}

impl Resource for Token {
    const WHEN_EMPTY: &'static str = "no tokens; create one:  windlass token create NAME --role ROLE";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |token| token.name.as_str().into()),
        column("role", |token| role(token.role).into()),
        column("scopes", |token| scopes(&token.scopes).into()),
        column("expires", |token| token.expires.map(|time| format!("{time:.0}")).into()),
        column("last-used", |token| token.last_used.map(|time| format!("{time:.0}")).into()),
        wide("from", |token| token.last_from.clone().into()),
        wide("begins-with", |token| (!token.prefix.is_empty()).then(|| token.prefix.clone()).into()),
        wide("created", |token| format!("{:.0}", token.created).into()),
        wide("created-by", |token| token.created_by.as_str().into()),
        wide("id", |token| token.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

fn scopes(scopes: &TokenScopes) -> Option<String> {
    let volumes = scopes.volumes.iter().map(|volumes| format!("volumes={volumes}"));
    let networks = scopes.networks.iter().map(|network| format!("network={network}"));
    let metrics = scopes.metrics_only.then(|| "metrics-only".to_owned());
    let all: Vec<String> = volumes.chain(networks).chain(metrics).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List => output.list(&client.list::<Token>("/api/v1/tokens").await?),
        Verb::Show { name } => output.show(&client.get::<Token>(&path(name)).await?),
        Verb::Create(create) => {
            let Create { name, role, volumes, network, metrics_only, expires } = create.clone();
            let scopes = TokenScopes { volumes, networks: network, metrics_only };
            let expires = expires.map(|time| Timestamp::now().checked_add(time)).transpose();
            let expires = expires.map_err(|_| CliError::usage("the token would end beyond the calendar".to_owned()))?;
            let create = TokenCreate { name, role: Role::from(role), scopes, expires };
            let created = client.post::<TokenCreated>("/api/v1/tokens", &create).await?.body;
            if output.is_document() {
                return output.document(&created);
            }
            output.made("token", &created.token, true)?;
            // Shown even with --quiet: it is not kept.
            output.warn(&format!("secret, shown once: {}", created.secret));
            Ok(())
        }
        Verb::Delete { names, rehearsal: DryRun { dry_run: true } } => {
            let all = names.iter().map(|name| (name, path(name)));
            effect::deletions("delete token", all, client, output).await
        }
        Verb::Delete { names, .. } => {
            for name in names {
                output.confirm_for(&path(name), client, &format!("delete token {name}?")).await?;
                client.delete(&path(name)).await?;
                output.report(&format!("token {name} deleted"));
            }
            Ok(())
        }
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/tokens/{}", segment(name))
}
