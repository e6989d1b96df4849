//! Access of hosts to shares: the part of `windlass access` whose noun is a share.

use crate::client::{Client, query, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, column, wide};
use crate::share;
use api::{Export, ExportGrant};
use hyper::Method;
use serde::de::IgnoredAny;

/// Options for the access to a share.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Options for shares")]
pub struct Options {
    /// Refuse every change
    #[arg(long)]
    read_only: bool,
    /// Users that become the anonymous user: none, root or all [default: none for --host and --group,
    /// otherwise root]
    #[arg(long, value_name = "none|root|all", value_enum, hide_possible_values = true)]
    squash: Option<Squash>,
    /// Anonymous user and group [default: 65534:65534]
    #[arg(long, value_name = "UID:GID", value_parser = share::parse_ids)]
    anon: Option<(u32, u32)>,
    /// Accept calls only from ports below 1024
    #[arg(long)]
    privileged_port: bool,
    #[command(flatten)]
    rehearsal: DryRun,
}

/// Users that become the anonymous user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Squash {
    /// No user
    None,
    /// User 0
    Root,
    /// All users
    All,
}

impl Options {
    /// True if none is given.
    pub(crate) const fn is_empty(&self) -> bool {
        let Self { read_only, squash, anon, privileged_port, rehearsal } = self;
        !*read_only && squash.is_none() && anon.is_none() && !*privileged_port && !rehearsal.dry_run
    }
}

impl Resource for Export {
    const COLUMNS: &'static [Column<Self>] = &[
        column("share", |export| export.share.as_str().into()),
        column("host", |export| export.host.as_str().into()),
        column("access", |export| access(export).into()),
        wide("anon", |export| format!("{}:{}", export.anonymous_uid, export.anonymous_gid).into()),
        wide("ports", |export| if export.privileged_port { "below 1024" } else { "all" }.into()),
        wide("created", |export| format!("{:.0}", export.created).into()),
    ];

    fn name(&self) -> String {
        format!("{}:{}", self.host, self.share)
    }
}

/// `read-write, squash root`.
pub(crate) fn access(export: &Export) -> String {
    let mode = if export.read_only { "read-only" } else { "read-write" };
    let squash = match export.squash {
        api::Squash::None => "none",
        api::Squash::Root => "root",
        api::Squash::All => "all",
    };
    format!("{mode}, squash {squash}")
}

/// True if there is a share of this name or id.
pub(crate) async fn is_share(name: &str, client: &Client) -> Result<bool, CliError> {
    const NOT_FOUND: u8 = 3;
    match client.get::<IgnoredAny>(&share::path(name)).await {
        Ok(IgnoredAny) => Ok(true),
        Err(error) if error.exit_status() == NOT_FOUND => Ok(false),
        Err(error) => Err(error),
    }
}

/// Rules that match the filter.
pub(crate) async fn list(share: Option<&str>, host: Option<&str>, client: &Client) -> Result<Vec<Export>, CliError> {
    let query = query(&[("share", share), ("host", host)]);
    client.long_list::<Export>(&format!("/api/v1/exports{query}")).await
}

/// Grants a share. `to` has its hosts.
pub(crate) async fn grant(
    share: &str,
    to: ExportGrant,
    options: &Options,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let grant = ExportGrant {
        read_only: options.read_only,
        squash: options.squash.map(|squash| match squash {
            Squash::None => api::Squash::None,
            Squash::Root => api::Squash::Root,
            Squash::All => api::Squash::All,
        }),
        anonymous_uid: options.anon.map(|(uid, _)| uid),
        anonymous_gid: options.anon.map(|(_, gid)| gid),
        privileged_port: options.privileged_port,
        ..to
    };
    let path = format!("{}/exports", share::path(share));
    if options.rehearsal.dry_run {
        let what = format!("grant share {share}");
        return effect::one(&what, (Method::POST, &path, Some(&grant)), client, output).await;
    }
    let answer = client.post::<Export>(&path, &grant).await?;
    output.made("access", &answer.body, answer.created)
}

/// Revokes the rule about hosts, or all rules. `whose` names the hosts in sentences.
pub(crate) async fn revoke(
    (share, host, whose): (&str, Option<&str>, &str),
    rehearsal: DryRun,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let rule = host.map(|host| format!("/{}", segment(host))).unwrap_or_default();
    let path = format!("{}/exports{rule}", share::path(share));
    if rehearsal.dry_run {
        let what = format!("revoke access of {whose} to share");
        return effect::deletions(&what, [(&share.to_owned(), path)], client, output).await;
    }
    if output.asks() && list(Some(share), host, client).await?.is_empty() && host.is_some() {
        let help = format!("list the grants:  windlass access list --share {share}");
        return Err(CliError::not_found(format!("there is no access of {whose} to share {share}"), &help));
    }
    output.confirm(&format!("revoke access of {whose} to share {share}?"))?;
    client.delete(&path).await?;
    output.report(&format!("access of {whose} to share {share} revoked"));
    Ok(())
}
