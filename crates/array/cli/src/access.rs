//! `windlass access`: the volumes that each host sees.

use crate::client::{Client, query, segment};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use api::{ANY_HOST, Access, AccessGrant};

/// Verbs of `windlass access`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List the grants: which host sees which volume
    #[command(after_help = "Examples:\n  windlass access list\n  windlass access list --host esx01")]
    List {
        /// Only this volume
        #[arg(long)]
        volume: Option<String>,
        /// Only this host
        #[arg(long, conflicts_with_all = ["any", "group"])]
        host: Option<String>,
        /// Only this host group
        #[arg(long, conflicts_with = "any")]
        group: Option<String>,
        /// Only the grant to every initiator
        #[arg(long)]
        any: bool,
    },
    /// Grant a host access to a volume
    #[command(
        after_help = "Examples:\n  windlass access grant win-dc1 --host esx01\n  windlass access grant datastore1 --group cluster1\n  windlass access grant scratch --any --lun 5"
    )]
    Grant {
        /// Volume, by name or id
        volume: String,
        #[command(flatten)]
        grantee: Grantee,
        /// Logical unit number, 0 to 16383 (above 255 the host must support flat space addressing);
        /// default: the lowest free number
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=16_383))]
        lun: Option<u16>,
    },
    /// Revoke access; hosts lose the volume at once
    #[command(
        after_help = "Examples:\n  windlass access revoke win-dc1 --host esx01\n  windlass access revoke win-dc1 --all"
    )]
    Revoke {
        /// Volume, by name or id
        volume: String,
        #[command(flatten)]
        from: From,
    },
}

/// Grantee of the access.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Grantee {
    /// This host
    #[arg(long)]
    host: Option<String>,
    /// This host group: every member sees the volume at the same LUN
    #[arg(long)]
    group: Option<String>,
    /// Every initiator that reaches a portal, without authentication
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
    /// The grant to every initiator
    #[arg(long)]
    any: bool,
    /// All grants of the volume
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

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List { volume, host, group, any } => {
            let any = any.then(|| ANY_HOST.to_owned());
            let grantee = host.clone().or(group.as_deref().map(of_group)).or(any);
            let query = query(&[("volume", volume.as_deref()), ("host", grantee.as_deref())]);
            output.list(&client.long_list::<Access>(&format!("/api/v1/access{query}")).await?)
        }
        Verb::Grant { volume, grantee, lun } => {
            let Grantee { host, group, any } = grantee.clone();
            let grant = AccessGrant { volume: volume.clone(), host, group, any, lun: *lun };
            let answer = client.post::<Access>("/api/v1/access", &grant).await?;
            output.made("access", &answer.body, answer.created)
        }
        Verb::Revoke { volume, from } => {
            let (whose, grantee) = match (&from.host, &from.group, from.any) {
                (Some(host), _, _) => (format!("host {host}"), Some(host.clone())),
                (None, Some(group), _) => (format!("host group {group}"), Some(of_group(group))),
                (None, None, true) => ("any host".to_owned(), Some(ANY_HOST.to_owned())),
                (None, None, false) => ("everybody".to_owned(), None),
            };
            if output.asks() {
                check_granted(volume, grantee.as_deref(), &whose, client).await?;
            }
            let path = grantee.map(|grantee| format!("/{}", segment(&grantee))).unwrap_or_default();
            output.confirm(&format!("revoke access of {whose} to volume {volume}?"))?;
            client.delete(&format!("/api/v1/access/{}{path}", segment(volume))).await?;
            output.report(&format!("access of {whose} to volume {volume} revoked"));
            Ok(())
        }
    }
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
