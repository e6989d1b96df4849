//! `windlass host-group`: several hosts that see the same volumes at the same logical unit numbers.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, column, wide};
use crate::selection::Selection;
use api::{Host, HostGroup, HostGroupCreate, HostGroupSet};
use hyper::Method;

/// Verbs of `windlass host-group`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List host groups
    #[command(after_help = "Example:\n  windlass host-group list")]
    List(Selection),
    /// Show one host group
    #[command(after_help = "Example:\n  windlass host-group show cluster1")]
    Show {
        /// Name or id
        name: String,
    },
    /// Create a host group; to grant it a volume:  windlass access grant VOLUME --group NAME
    #[command(
        after_help = "Examples:\n  windlass host-group create cluster1 esx01 esx02\n  windlass access grant datastore1 --group cluster1"
    )]
    Create {
        /// Name: letters, digits, '.', '_' and '-'
        name: String,
        /// Hosts, by name or id
        hosts: Vec<String>,
    },
    /// Rename a host group, add or remove hosts; takes effect at once
    #[command(
        after_help = "Examples:\n  windlass host-group set cluster1 --add esx03\n  windlass host-group set cluster1 --remove esx01,esx02"
    )]
    Set {
        /// Name or id
        name: String,
        /// New name
        #[arg(long = "name", value_name = "NEW-NAME")]
        new_name: Option<String>,
        /// Hosts to add: they see every volume of the group at the same LUN
        #[arg(long, value_name = "HOST", value_delimiter = ',')]
        add: Vec<String>,
        /// Hosts to remove: they lose the volumes of the group at once
        #[arg(long, value_name = "HOST", value_delimiter = ',')]
        remove: Vec<String>,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Delete host groups without grants; their hosts stay
    #[command(after_help = "Example:\n  windlass host-group delete cluster1")]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

impl Resource for HostGroup {
    const WHEN_EMPTY: &'static str = "no host groups; create one:  windlass host-group create NAME HOST…";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |group| group.name.as_str().into()),
        column("hosts", |group| (!group.hosts.is_empty()).then(|| group.hosts.join(" ")).into()),
        column("luns", |group| luns(group).into()),
        wide("created", |group| format!("{:.0}", group.created).into()),
        wide("id", |group| group.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// `LUN:VOLUME` of every grant.
fn luns(group: &HostGroup) -> Option<String> {
    let all: Vec<String> = group.luns.iter().map(|unit| format!("{}:{}", unit.lun, unit.volume)).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => selection.show::<HostGroup>("/api/v1/host-groups", client, output).await.map(drop),
        Verb::Show { name } => output.show(&client.get::<HostGroup>(&path(name)).await?),
        Verb::Create { name, hosts } => {
            let create = HostGroupCreate { name: name.clone(), hosts: hosts.clone() };
            let answer = client.post::<HostGroup>("/api/v1/host-groups", &create).await?;
            output.made("host group", &answer.body, answer.created)
        }
        Verb::Set { name, new_name, add, remove, rehearsal } => {
            let set = HostGroupSet { name: new_name.clone(), add: add.clone(), remove: remove.clone() };
            if set == HostGroupSet::default() {
                return Err(CliError::usage("nothing to change: give --name, --add or --remove".to_owned()));
            }
            if rehearsal.dry_run {
                let what = format!("change host group {name}");
                return effect::one(&what, (Method::PATCH, &path(name), Some(&set)), client, output).await;
            }
            if !remove.is_empty() {
                if output.asks() {
                    for host in remove {
                        client.get::<Host>(&format!("/api/v1/hosts/{}", segment(host))).await?;
                    }
                }
                let question = format!("remove {} from host group {name}?", remove.join(", "));
                output.confirm_for(&path(name), client, &question).await?;
            }
            output.made("host group", &client.patch::<HostGroup>(&path(name), &set).await?, true)
        }
        Verb::Delete { names, rehearsal: DryRun { dry_run: true } } => {
            let all = names.iter().map(|name| (name, path(name)));
            effect::deletions("delete host group", all, client, output).await
        }
        Verb::Delete { names, .. } => {
            for name in names {
                output.confirm_for(&path(name), client, &format!("delete host group {name}?")).await?;
                client.delete(&path(name)).await?;
                output.report(&format!("host group {name} deleted"));
            }
            Ok(())
        }
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/host-groups/{}", segment(name))
}
