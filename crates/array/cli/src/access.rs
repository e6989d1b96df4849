//! `windlass access`: the volumes that each host sees, and the shares that it may use. A name is that
//! of a volume or of a share, never of both.

use crate::client::{Client, query, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::export;
use crate::output::{Column, Output, Resource, Value, column, wide};
use api::{ANY_HOST, Access, AccessGrant, Export, ExportGrant};
use serde::Serialize;

/// Verbs of `windlass access`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List the grants: which host sees which volume, and may use which share
    #[command(after_help = "Examples:\n  windlass access list\n  windlass access list --host esx01")]
    List {
        /// Only this volume
        #[arg(long)]
        volume: Option<String>,
        /// Only this share
        #[arg(long, conflicts_with = "volume")]
        share: Option<String>,
        /// Only this host
        #[arg(long, conflicts_with_all = ["any", "group", "network"])]
        host: Option<String>,
        /// Only this host group
        #[arg(long, conflicts_with_all = ["any", "network"])]
        group: Option<String>,
        /// Only this network
        #[arg(long, value_name = "ADDRESS/PREFIX", conflicts_with_all = ["any", "volume"])]
        network: Option<String>,
        /// Only the grants to every host
        #[arg(long)]
        any: bool,
    },
    /// Grant a host access to a volume or share
    #[command(
        after_help = "Examples:\n  windlass access grant win-dc1 --host esx01\n  windlass access grant datastore1 --group cluster1\n  windlass access grant scratch --any --lun 5\n  windlass access grant vms --host pve1\n  windlass access grant vms --network 10.0.0.0/24 --read-only\n\nThe most exact rule about a host decides on its access to a share: one that names it, then one of a group, then the network with the longest prefix, then --any. Granting again replaces the rule."
    )]
    Grant {
        /// Volume or share, by name or id
        name: String,
        #[command(flatten)]
        grantee: Grantee,
        /// Logical unit number, 0 to 16383 (above 255 the host must support flat space addressing);
        /// default: the lowest free number
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=16_383))]
        lun: Option<u16>,
        #[command(flatten)]
        options: export::Options,
    },
    /// Revoke access; hosts lose the volume or share at once
    #[command(
        after_help = "Examples:\n  windlass access revoke win-dc1 --host esx01\n  windlass access revoke win-dc1 --all\n  windlass access revoke vms --network 10.0.0.0/24"
    )]
    Revoke {
        /// Volume or share, by name or id
        name: String,
        #[command(flatten)]
        from: From,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

/// Grantee of the access.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Grantee {
    /// This host
    #[arg(long)]
    host: Option<String>,
    /// This host group: every member sees a volume at the same LUN
    #[arg(long)]
    group: Option<String>,
    /// All hosts of this network; for shares
    #[arg(long, value_name = "ADDRESS/PREFIX")]
    network: Option<String>,
    /// Every host, known or not, without authentication
    #[arg(long)]
    any: bool,
}

/// Grantee whose access is revoked.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct From {
    /// This host
    #[arg(long)]
    host: Option<String>,
    /// This host group
    #[arg(long)]
    group: Option<String>,
    /// This network
    #[arg(long, value_name = "ADDRESS/PREFIX")]
    network: Option<String>,
    /// The grant to every host
    #[arg(long)]
    any: bool,
    /// All grants of the volume or share
    #[arg(long)]
    all: bool,
}

impl Resource for Access {
    const WHEN_EMPTY: &'static str =
        "nothing is granted yet; let a host see a volume:  windlass access grant VOLUME --host NAME";
    const COLUMNS: &'static [Column<Self>] = &[
        column("volume", |access| access.volume.as_str().into()),
        column("host", |access| access.host.as_str().into()),
        column("lun", |access| Value::Number(u64::from(access.lun))),
        column("url", |access| access.iscsi_url.as_str().into()),
        wide("created", |access| format!("{:.0}", access.created).into()),
    ];

    fn name(&self) -> String {
        format!("{}:{}", self.host, self.lun)
    }
}

/// Grant of a volume or of a share.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Grant {
    Volume(Access),
    Share(Export),
}

impl Grant {
    const fn volume(&self) -> Option<&Access> {
        match self {
            Self::Volume(access) => Some(access),
            Self::Share(_) => None,
        }
    }

    const fn share(&self) -> Option<&Export> {
        match self {
            Self::Volume(_) => None,
            Self::Share(export) => Some(export),
        }
    }

    fn host(&self) -> &str {
        match self {
            Self::Volume(access) => &access.host,
            Self::Share(export) => &export.host,
        }
    }
}

impl Resource for Grant {
    const WHEN_EMPTY: &'static str = Access::WHEN_EMPTY;
    const COLUMNS: &'static [Column<Self>] = &[
        column("volume", |grant| grant.volume().map(|access| access.volume.as_str()).into()),
        column("share", |grant| grant.share().map(|export| export.share.as_str()).into()),
        column("host", |grant| grant.host().into()),
        column("lun", |grant| grant.volume().map(|access| Value::Number(access.lun.into())).into()),
        column("access", |grant| grant.share().map(export::access).into()),
        column("url", |grant| grant.volume().map(|access| access.iscsi_url.as_str()).into()),
    ];

    fn name(&self) -> String {
        match self {
            Self::Volume(access) => access.name(),
            Self::Share(export) => export.name(),
        }
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List { volume, share, host, group, network, any } => {
            let any = any.then(|| ANY_HOST.to_owned());
            let hosts = host.clone().or(group.as_deref().map(of_group)).or(network.clone()).or(any);
            let mut grants = Vec::new();
            if share.is_none() && network.is_none() {
                let query = query(&[("volume", volume.as_deref()), ("host", hosts.as_deref())]);
                let volumes = client.long_list::<Access>(&format!("/api/v1/access{query}")).await?;
                grants.extend(volumes.into_iter().map(Grant::Volume));
            }
            if volume.is_none() {
                let shares = export::list(share.as_deref(), hosts.as_deref(), client).await?;
                grants.extend(shares.into_iter().map(Grant::Share));
            }
            output.list(&grants)
        }
        Verb::Grant { name, grantee, lun, options } => grant(name, grantee, *lun, options, client, output).await,
        Verb::Revoke { name, from, rehearsal } => {
            let (whose, grantee) = match (&from.host, &from.group, &from.network, from.any) {
                (Some(host), ..) => (format!("host {host}"), Some(host.clone())),
                (None, Some(group), ..) => (format!("host group {group}"), Some(of_group(group))),
                (None, None, Some(network), _) => (format!("network {network}"), Some(network.clone())),
                (None, None, None, true) => ("any host".to_owned(), Some(ANY_HOST.to_owned())),
                (None, None, None, false) => ("everybody".to_owned(), None),
            };
            if from.network.is_some() || export::is_share(name, client).await? {
                return export::revoke((name, grantee.as_deref(), &whose), *rehearsal, client, output).await;
            }
            let host = grantee.as_deref().map(|grantee| format!("/{}", segment(grantee))).unwrap_or_default();
            let path = format!("/api/v1/access/{}{host}", segment(name));
            if rehearsal.dry_run {
                let what = format!("revoke access of {whose} to volume");
                return effect::deletions(&what, [(name, path)], client, output).await;
            }
            if output.asks() {
                check_granted(name, grantee.as_deref(), &whose, client).await?;
            }
            output.confirm(&format!("revoke access of {whose} to volume {name}?"))?;
            client.delete(&path).await?;
            output.report(&format!("access of {whose} to volume {name} revoked"));
            Ok(())
        }
    }
}

/// Grants a volume or a share, whichever has the name. What only one of them has decides alone.
async fn grant(
    name: &str,
    grantee: &Grantee,
    lun: Option<u16>,
    options: &export::Options,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let Grantee { host, group, network, any } = grantee.clone();
    let only_share = network.is_some() || !options.is_empty();
    if only_share && lun.is_some() {
        return Err(CliError::usage("--lun is for volumes, and the other options are for shares".to_owned()));
    }
    if only_share || (lun.is_none() && export::is_share(name, client).await?) {
        let to = ExportGrant { host, group, network, any, ..ExportGrant::default() };
        return export::grant(name, to, options, client, output).await;
    }
    let grant = AccessGrant { volume: name.to_owned(), host, group, any, lun };
    let answer = client.post::<Access>("/api/v1/access", &grant).await?;
    output.made("access", &answer.body, answer.created)
}

/// Fails unless the volume is granted to the grantee; without one, if there is no such volume.
async fn check_granted(volume: &str, grantee: Option<&str>, whose: &str, client: &Client) -> Result<(), CliError> {
    let query = query(&[("volume", Some(volume)), ("host", grantee)]);
    let granted = client.long_list::<Access>(&format!("/api/v1/access{query}")).await?;
    if grantee.is_some() && granted.is_empty() {
        let help = format!("list the grants:  windlass access list --volume {volume}");
        return Err(CliError::not_found(format!("there is no access of {whose} to volume {volume}"), &help));
    }
    Ok(())
}

/// Returns the notation of a host group in the place of a host's name.
fn of_group(group: &str) -> String {
    format!("group:{group}")
}
