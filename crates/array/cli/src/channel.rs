//! `windlass channel`: where alerts are sent.

mod settings;

use crate::alert::state;
use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::event::severity;
use crate::output::{Column, Output, Resource, Value, column, wide};
use crate::volume::Switch;
use api::{Channel, ChannelCreate, ChannelOutcome, ChannelSet, ChannelSettings, NoticeState, QuietHours, Severity};
use settings::{Changes, EmailOptions, SyslogOptions, WebhookOptions};
use std::collections::BTreeMap;

/// Verbs of `windlass channel`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List channels
    #[command(after_help = "Example:\n  windlass channel list")]
    List,
    /// Show one channel, without its secrets
    #[command(after_help = "Example:\n  windlass channel show ops")]
    Show {
        /// Name or id
        name: String,
    },
    /// Create a channel: email, webhook or syslog
    #[command(
        subcommand,
        after_help = "Examples:\n  windlass channel create webhook oncall --url https://oncall.example.org/hook --secret file:/root/key\n  windlass channel create syslog siem --host logs.example.org"
    )]
    Create(Create),
    /// Change a channel; what is not named stays
    #[command(
        after_help = "Examples:\n  windlass channel set ops --min-severity critical\n  windlass channel set ops --quiet-hours 22:00-06:00 --zone Europe/Berlin\n  windlass channel set ops --enabled off\n  windlass channel set ops --to ops@example.org,night@example.org\n  windlass channel set hook --secret file:/root/key"
    )]
    Set {
        /// Name or id
        name: String,
        /// New name
        #[arg(long, value_name = "NAME")]
        new_name: Option<String>,
        /// Alerts
        #[command(flatten)]
        rules: Box<Rules>,
        /// Peer
        #[command(flatten)]
        changes: Box<Changes>,
    },
    /// Delete channels
    #[command(after_help = "Example:\n  windlass channel delete ops")]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Send a test and show the peer's own words; exit status 1 if it failed
    #[command(after_help = "Example:\n  windlass channel test ops")]
    Test {
        /// Name or id
        name: String,
    },
}

/// Kinds of `channel create`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Create {
    /// E-mail over SMTP
    #[command(
        after_help = "Examples:\n  windlass channel create email ops --host mail.example.org --user array --password prompt --from array@example.org --to ops@example.org\n  windlass channel create email relay --host 192.0.2.25 --tls none --from array@example.org --to ops@example.org"
    )]
    Email {
        /// Name: letters, digits, '.', '_', '-' and '@'
        name: String,
        /// Peer
        #[command(flatten)]
        email: EmailOptions,
        /// Alerts
        #[command(flatten)]
        rules: Rules,
    },
    /// POST requests with a JSON body
    #[command(
        after_help = "Examples:\n  windlass channel create webhook hook --url https://alerts.example.org/hook --secret file:/root/key\n  windlass channel create webhook oncall --url https://oncall.example.org/am --body alertmanager --min-severity critical"
    )]
    Webhook {
        /// Name: letters, digits, '.', '_', '-' and '@'
        name: String,
        /// Peer
        #[command(flatten)]
        webhook: WebhookOptions,
        /// Alerts
        #[command(flatten)]
        rules: Rules,
    },
    /// Syslog messages (RFC 5424)
    #[command(
        after_help = "Examples:\n  windlass channel create syslog siem --host logs.example.org --channel-ca ca.pem\n  windlass channel create syslog local --host 127.0.0.1 --transport udp --min-severity info"
    )]
    Syslog {
        /// Name: letters, digits, '.', '_', '-' and '@'
        name: String,
        /// Peer
        #[command(flatten)]
        syslog: SyslogOptions,
        /// Alerts
        #[command(flatten)]
        rules: Rules,
    },
}

/// Lowest severity of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Least {
    /// All alerts.
    Info,
    /// Warnings and critical alerts.
    Warning,
    /// Critical alerts.
    Critical,
}

impl From<Least> for Severity {
    fn from(least: Least) -> Self {
        match least {
            Least::Info => Self::Info,
            Least::Warning => Self::Warning,
            Least::Critical => Self::Critical,
        }
    }
}

/// Alerts that a channel is told of.
#[derive(Clone, Debug, clap::Args)]
pub struct Rules {
    /// Lowest severity: info, warning, critical [default: warning]
    #[arg(long, value_name = "SEVERITY", value_enum, hide_possible_values = true)]
    min_severity: Option<Least>,
    /// Only alerts with these codes; all: any code
    #[arg(long, value_name = "CODE,…|all", value_delimiter = ',')]
    codes: Option<Vec<String>>,
    /// Hours in which only critical alerts are sent; none: no such hours
    #[arg(long, value_name = "HH:MM-HH:MM|none", value_parser = parse_quiet)]
    quiet_hours: Option<(u16, u16)>,
    /// Time zone of the quiet hours, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "quiet_hours")]
    zone: Option<String>,
    /// on: alerts are sent; off: none
    #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
    enabled: Option<Switch>,
}

impl Rules {
    fn codes(&self) -> Option<Vec<String>> {
        let all = |codes: &Vec<String>| matches!(&codes[..], [only] if only == "all");
        self.codes.clone().map(|codes| if all(&codes) { Vec::new() } else { codes })
    }

    fn quiet_hours(&self) -> Option<QuietHours> {
        let zone = self.zone.clone().unwrap_or_else(|| "UTC".to_owned());
        self.quiet_hours.map(|(from_minute, until_minute)| QuietHours { from_minute, until_minute, zone })
    }

    fn enabled(&self) -> Option<bool> {
        self.enabled.map(|enabled| enabled == Switch::On)
    }
}

/// Reads `22:00-06:00` or `none`.
fn parse_quiet(text: &str) -> Result<(u16, u16), String> {
    if text == "none" {
        return Ok((0, 0));
    }
    let (from, until) = text.split_once('-').ok_or_else(|| format!("{text:?} is not HH:MM-HH:MM"))?;
    let (from, until) = (crate::schedule::parse_minute(from)?, crate::schedule::parse_minute(until)?);
    if from == until {
        return Err("the hours have no length".to_owned());
    }
    Ok((from, until))
}

impl Resource for Channel {
    const WHEN_EMPTY: &'static str = "no channels, so alerts are not sent; create one:  windlass channel create email NAME --host HOST --from ADDRESS --to ADDRESS";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |channel| channel.name.as_str().into()),
        column("kind", |channel| settings::kind(&channel.settings).into()),
        column("peer", |channel| settings::peer(&channel.settings).into()),
        column("min-severity", |channel| severity(channel.min_severity).into()),
        column("state", |channel| condition(channel).into()),
        column("last", |channel| channel.last.as_ref().map(|last| last.detail.clone()).into()),
        wide("last-time", |channel| channel.last.as_ref().map(|last| format!("{:.0}", last.time)).into()),
        wide("codes", |channel| (!channel.codes.is_empty()).then(|| channel.codes.join(" ")).into()),
        wide("quiet", |channel| channel.quiet_hours.as_ref().map(quiet).into()),
        wide("waiting", |channel| Value::Number(channel.waiting)),
        wide("created", |channel| format!("{:.0}", channel.created).into()),
        wide("id", |channel| channel.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// Word for the state of a channel.
const fn condition(channel: &Channel) -> &'static str {
    match (channel.enabled, channel.failing) {
        (false, _) => "off",
        (true, true) => "failing",
        (true, false) => "on",
    }
}

fn quiet(hours: &QuietHours) -> String {
    let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
    format!("{}-{} {}", time(hours.from_minute), time(hours.until_minute), hours.zone)
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List => output.list(&client.list::<Channel>(CHANNELS).await?),
        Verb::Show { name } => output.show(&client.get::<Channel>(&path(name)).await?),
        Verb::Create(create) => {
            let (name, settings, rules) = match create {
                Create::Email { name, email, rules } => (name, ChannelSettings::Email(email.settings()?), rules),
                Create::Webhook { name, webhook, rules } => {
                    (name, ChannelSettings::Webhook(webhook.settings()?), rules)
                }
                Create::Syslog { name, syslog, rules } => (name, ChannelSettings::Syslog(syslog.settings()?), rules),
            };
            let create = ChannelCreate {
                name: name.clone(),
                settings,
                min_severity: rules.min_severity.map(Severity::from),
                codes: rules.codes().unwrap_or_default(),
                quiet_hours: rules.quiet_hours(),
                enabled: rules.enabled(),
            };
            let channel = client.post::<Channel>(CHANNELS, &create).await?.body;
            output.made("channel", &channel, true)?;
            output.report(&format!("send a test:  windlass channel test {name}"));
            Ok(())
        }
        Verb::Set { name, new_name, rules, changes } => {
            let settings = match changes.is_empty() {
                true => None,
                false => Some(changes.apply(client.get::<Channel>(&path(name)).await?.settings)?),
            };
            let set = ChannelSet {
                name: new_name.clone(),
                settings,
                min_severity: rules.min_severity.map(Severity::from),
                codes: rules.codes(),
                quiet_hours: rules.quiet_hours(),
                enabled: rules.enabled(),
            };
            if set == ChannelSet::default() {
                return Err(CliError::usage("nothing to change: see  windlass channel set --help".to_owned()));
            }
            output.made("channel", &client.patch::<Channel>(&path(name), &set).await?, true)
        }
        Verb::Delete { names, rehearsal: DryRun { dry_run: true } } => {
            let all = names.iter().map(|name| (name, path(name)));
            effect::deletions("delete channel", all, client, output).await
        }
        Verb::Delete { names, .. } => {
            let mut deleted = Vec::with_capacity(names.len());
            for name in names {
                output.confirm_for(&path(name), client, &format!("delete channel {name}?")).await?;
                client.delete(&path(name)).await?;
                output.report(&format!("channel {name} deleted"));
                deleted.push(name.as_str());
            }
            output.deleted(&deleted)
        }
        Verb::Test { name } => test(name, client, output).await,
    }
}

async fn test(name: &str, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let nothing = BTreeMap::<String, String>::new();
    let outcome = client.post::<ChannelOutcome>(&format!("{}/test", path(name)), &nothing).await?.body;
    if output.is_document() {
        output.document(&outcome)?;
    } else {
        let detail = Value::from(outcome.detail.as_str()).shown(false);
        output.report(&format!("test of channel {name} {}: {detail}", state(outcome.outcome)));
    }
    match outcome.outcome {
        NoticeState::Sent => Ok(()),
        _ => Err(CliError::failed(format!("the channel {name} does not work"))),
    }
}

/// Path of all channels.
const CHANNELS: &str = "/api/v1/channels";

fn path(name: &str) -> String {
    format!("{CHANNELS}/{}", segment(name))
}

#[cfg(test)]
mod tests {
    use super::parse_quiet;

    #[test]
    fn quiet_hours_are_read() {
        assert_eq!(parse_quiet("22:00-06:30"), Ok((1320, 390)));
        assert_eq!(parse_quiet("none"), Ok((0, 0)));
        for text in ["", "22:00", "22:00-", "24:00-06:00", "22-6", "06:00-06:00"] {
            assert!(parse_quiet(text).is_err(), "{text}");
        }
    }
}
