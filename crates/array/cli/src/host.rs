//! `windlass host`: machines, their initiator names, addresses and authentication.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, Value, column, minor, wide};
use crate::secret::SecretSource;
use crate::selection::Selection;
use api::{ChapSet, Host, HostCreate, HostSet, HostWarning, MutualChapSet, PrimitiveStatus};
use std::net::IpAddr;
use text::terminal::harmless;

/// Verbs of `windlass host`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List hosts
    #[command(after_help = "Examples:\n  windlass host list\n  windlass host list --filter has=no-session")]
    List(Selection),
    /// Show one host
    #[command(after_help = "Example:\n  windlass host show esx01")]
    Show {
        /// Name or id
        name: String,
    },
    /// Create a host
    #[command(
        after_help = "Examples:\n  windlass host create esx01 --iqn iqn.1998-01.com.vmware:esx01\n  windlass host create esx02 --iqn iqn.1998-01.com.vmware:esx02 --chap-user esx02\n  windlass host create web1 --iqn iqn.1993-08.org.debian:01:abc --chap-user web1 --chap-secret file:/root/chap\n  windlass host create pve1 --address 10.0.0.11"
    )]
    Create {
        /// Name: letters, digits, '.', '_' and '-'
        name: String,
        /// Initiator name; may be given several times
        #[arg(long, value_name = "IQN", required_unless_present = "address")]
        iqn: Vec<String>,
        /// IP address from which the host uses shares; may be given several times
        #[arg(long, value_name = "ADDRESS")]
        address: Vec<IpAddr>,
        #[command(flatten)]
        chap: Chap,
    },
    /// Rename a host, change its initiator names, its addresses or its CHAP credentials
    #[command(
        after_help = "Examples:\n  windlass host set esx01 --iqn iqn.1998-01.com.vmware:esx01-new\n  windlass host set esx01 --chap-user esx01 --chap-secret prompt\n  windlass host set esx01 --no-chap\n  windlass host set pve1 --address 10.0.0.11 --address fd00::11"
    )]
    Set {
        /// Name or id
        name: String,
        /// New name
        #[arg(long = "name", value_name = "NEW-NAME")]
        new_name: Option<String>,
        /// Initiator name; replaces all present ones, and may be given several times
        #[arg(long, value_name = "IQN")]
        iqn: Vec<String>,
        /// IP address; replaces all present ones, and may be given several times
        #[arg(long, value_name = "ADDRESS", conflicts_with = "no_address")]
        address: Vec<IpAddr>,
        /// Remove all IP addresses
        #[arg(long)]
        no_address: bool,
        #[command(flatten)]
        chap: Chap,
        /// Stop requiring CHAP
        #[arg(long, conflicts_with = "chap_user")]
        no_chap: bool,
    },
    /// Delete hosts that have neither access nor sessions
    #[command(after_help = "Example:\n  windlass host delete esx01")]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

/// CHAP credentials. A SOURCE is `generate`, `prompt`, `-` (standard input), `file:PATH` or `env:NAME`.
#[derive(Clone, Debug, clap::Args)]
pub struct Chap {
    /// Require CHAP with this user name
    #[arg(long, value_name = "USER")]
    chap_user: Option<String>,
    /// Source of the CHAP secret: generate (shown once), prompt, - (standard input), file:PATH,
    /// env:NAME [default: the present secret; generate if there is none]
    #[arg(long, value_name = "SOURCE", requires = "chap_user")]
    chap_secret: Option<SecretSource>,
    /// The array also authenticates to the host, with this user name
    #[arg(long, value_name = "USER", requires = "chap_user")]
    mutual_chap_user: Option<String>,
    /// Source of the secret of the array [default: as for --chap-secret]
    #[arg(long, value_name = "SOURCE", requires = "mutual_chap_user")]
    mutual_chap_secret: Option<SecretSource>,
}

impl Chap {
    /// Reads the secrets and returns the credentials; `None` without a user name.
    fn read(&self) -> Result<Option<ChapSet>, CliError> {
        let Some(user) = self.chap_user.clone() else { return Ok(None) };
        let (secret, generate) = read(self.chap_secret.as_ref(), "CHAP secret")?;
        let mutual = match self.mutual_chap_user.clone() {
            Some(user) => {
                let (secret, generate) = read(self.mutual_chap_secret.as_ref(), "CHAP secret of the array")?;
                Some(MutualChapSet { user, secret, generate })
            }
            None => None,
        };
        Ok(Some(ChapSet { user, secret, generate, mutual }))
    }
}

/// Secret from its source, and whether the array has to generate one. Neither without a source.
fn read(source: Option<&SecretSource>, what: &str) -> Result<(Option<String>, bool), CliError> {
    let Some(source) = source else { return Ok((None, false)) };
    let secret = source.read(what)?;
    let generate = secret.is_none();
    Ok((secret, generate))
}

impl Resource for Host {
    const WHEN_EMPTY: &'static str = "no hosts yet; make one:  windlass host create NAME --iqn IQN";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |host| host.name.as_str().into()),
        minor("iqns", |host| (!host.iqns.is_empty()).then(|| host.iqns.join(" ")).into()),
        column("chap", |host| chap(host).into()),
        column("sessions", |host| Value::Number(host.sessions)),
        column("luns", |host| luns(host).into()),
        column("warnings", |host| warnings(host).into()),
        wide("policy", |host| host.qos_policy.clone().into()),
        wide("limits", |host| crate::qos::limits(host.qos_policy.as_deref(), host.qos_held.as_ref()).into()),
        wide("addresses", |host| addresses(host).into()),
        wide("works", |host| primitives(host, PrimitiveStatus::Supported).into()),
        wide("refused", |host| primitives(host, PrimitiveStatus::NotSupported).into()),
        wide("created", |host| format!("{:.0}", host.created).into()),
        wide("id", |host| host.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// `USER` or `USER, mutual USER`.
fn chap(host: &Host) -> Option<String> {
    let chap = host.chap.as_ref()?;
    Some(match &chap.mutual_user {
        Some(mutual) => format!("{}, mutual {mutual}", chap.user),
        None => chap.user.clone(),
    })
}

/// All addresses.
fn addresses(host: &Host) -> Option<String> {
    let all: Vec<String> = host.addresses.iter().map(ToString::to_string).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Names of the primitives with this status, and why the last command was refused.
fn primitives(host: &Host, status: PrimitiveStatus) -> Option<String> {
    let of = host.primitives.iter().filter(|row| row.status == status);
    let all: Vec<String> = of
        .map(|row| match (&row.last_refusal, status) {
            (Some(refusal), PrimitiveStatus::NotSupported) => format!("{} ({})", row.name, refusal.reason_code),
            _ => row.name.clone(),
        })
        .collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Codes of all warnings.
fn warnings(host: &Host) -> Option<String> {
    let all: Vec<&str> = host.warnings.iter().map(|warning| warning.code.as_str()).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Shows a host, and what is doubtful about it with what helps.
fn show(host: &Host, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    output.show(host)?;
    if !matches!(output.format(), Format::Table | Format::Wide) {
        return Ok(());
    }
    let line = |warning: &HostWarning| format!("{}: {}\n", harmless(&warning.code), harmless(&warning.text));
    let lines: String = host.warnings.iter().map(line).collect();
    if lines.is_empty() { Ok(()) } else { output.text(&format!("\n{lines}")) }
}

/// `LUN:VOLUME` of every grant.
fn luns(host: &Host) -> Option<String> {
    let all: Vec<String> = host.luns.iter().map(|unit| format!("{}:{}", unit.lun, unit.volume)).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => selection.show::<Host>("/api/v1/hosts", client, output).await.map(drop),
        Verb::Show { name } => show(&client.get::<Host>(&path(name)).await?, output),
        Verb::Create { name, iqn, address, chap } => {
            let (iqns, addresses) = (iqn.clone(), address.clone());
            let create = HostCreate { name: name.clone(), iqns, addresses, chap: chap.read()? };
            let answer = client.post::<Host>("/api/v1/hosts", &create).await?;
            output.made("host", &answer.body, answer.created)?;
            show_secrets(&answer.body, output);
            Ok(())
        }
        Verb::Set { name, new_name, iqn, address, no_address, chap, no_chap } => {
            let set = HostSet {
                name: new_name.clone(),
                iqns: (!iqn.is_empty()).then(|| iqn.clone()),
                addresses: (!address.is_empty() || *no_address).then(|| address.clone()),
                chap: chap.read()?,
                remove_chap: *no_chap,
                qos_policy: None,
            };
            if set == HostSet::default() {
                let message =
                    "nothing to change: give --name, --iqn, --address, --no-address, --chap-user or --no-chap";
                return Err(CliError::usage(message.to_owned()));
            }
            let host = client.patch::<Host>(&path(name), &set).await?;
            output.made("host", &host, true)?;
            show_secrets(&host, output);
            let new = host.generated.as_ref().is_some_and(|generated| generated.chap_secret.is_some());
            if set.chap.as_ref().is_some_and(|chap| chap.secret.is_none()) && !new {
                output.report("the present CHAP secret stays");
            }
            Ok(())
        }
        Verb::Delete { names, rehearsal: DryRun { dry_run: true } } => {
            let all = names.iter().map(|name| (name, path(name)));
            effect::deletions("delete host", all, client, output).await
        }
        Verb::Delete { names, .. } => {
            for name in names {
                output.confirm_for(&path(name), client, &format!("delete host {name}?")).await?;
                client.delete(&path(name)).await?;
                output.report(&format!("host {name} deleted"));
            }
            Ok(())
        }
    }
}

/// Shows secrets that the array generated; JSON output already has them.
fn show_secrets(host: &Host, output: &mut Output<'_, '_>) {
    let Some(generated) = host.generated.as_ref().filter(|_| !output.is_document()) else { return };
    let mut text = "generated for this host; not shown again:".to_owned();
    for (what, secret) in
        [("CHAP secret", &generated.chap_secret), ("CHAP secret of the array", &generated.mutual_chap_secret)]
    {
        if let Some(secret) = secret {
            text += &format!("\n  {what}: {secret}");
        }
    }
    output.warn(&text);
}

fn path(name: &str) -> String {
    format!("/api/v1/hosts/{}", segment(name))
}
