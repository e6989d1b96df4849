//! `windlass qos`: limits of volumes and hosts.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use crate::selection::Selection;
use crate::volume::Switch;
use api::{QosBurst, QosDetached, QosHeld, QosMembers, QosPolicy, QosPolicyCreate, QosPolicySet};
use std::time::Duration;

/// Limit or burst that is none.
const OFF: &str = "off";

/// Verbs of `windlass qos`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List QoS policies
    #[command(after_help = "Example:\n  windlass qos list")]
    List(Selection),
    /// Show one QoS policy
    #[command(after_help = "Example:\n  windlass qos show bronze")]
    Show {
        /// Name or id
        name: String,
    },
    /// Create a QoS policy; to use it:  windlass qos attach NAME --volume VOLUME
    #[command(
        after_help = "Examples:\n  windlass qos create bronze --iops 2000 --bandwidth 100MiB --burst 10000@30s\n  windlass qos create test --bandwidth 50MiB --shared\n  windlass qos create gold --weight 300\n\nA command counts as one operation for each 16 KiB. Offloaded work, such as a clone, counts as what the array does for it."
    )]
    Create {
        /// Name: letters, digits, '.', '_' and '-'
        name: String,
        /// Limits
        #[command(flatten)]
        limits: Limits,
        /// Its volumes share one allowance, instead of each having its own
        #[arg(long)]
        shared: bool,
    },
    /// Change a QoS policy; what is not named stays. It holds at once
    #[command(
        after_help = "Examples:\n  windlass qos set bronze --iops 4000\n  windlass qos set bronze --iops off\n  windlass qos set bronze --burst off --weight 50"
    )]
    Set {
        /// Name or id
        name: String,
        /// New name
        #[arg(long = "name", value_name = "NEW-NAME")]
        new_name: Option<String>,
        /// Limits
        #[command(flatten)]
        limits: Limits,
        /// on: its volumes share one allowance; off: each has its own
        #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
        shared: Option<Switch>,
    },
    /// Delete QoS policies that no volume and no host has
    #[command(after_help = "Examples:\n  windlass qos delete bronze\n  windlass qos delete bronze --force")]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        /// Take them from their volumes and hosts, which have no limits then
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Give a QoS policy to volumes and hosts, in place of the ones that they have
    #[command(
        after_help = "Examples:\n  windlass qos attach bronze --volume vm-17,vm-18\n  windlass qos attach bronze --host esx01\n\nA volume and a host have at most one policy. Where those of both concern a command, each has to let it pass."
    )]
    Attach {
        /// Name or id of the policy
        name: String,
        /// Volumes and hosts
        #[command(flatten)]
        members: Members,
    },
    /// Take their QoS policies from volumes and hosts
    #[command(after_help = "Example:\n  windlass qos detach --volume vm-17 --host esx01")]
    Detach {
        /// Volumes and hosts
        #[command(flatten)]
        members: Members,
    },
}

/// Limits of a policy.
#[derive(Clone, Debug, clap::Args)]
pub struct Limits {
    /// Operations per second, at least 100; off: no limit
    #[arg(long, value_name = "N|off", value_parser = parse_iops)]
    iops: Option<u64>,
    /// Bytes per second, such as 100MiB, at least 1MiB; off: no limit
    #[arg(long, value_name = "SIZE|off", value_parser = parse_bandwidth)]
    bandwidth: Option<u64>,
    /// Operations per second for a time, such as 10000@30s, saved up while less is used; off: none
    #[arg(long, value_name = "N@TIME|off", value_parser = parse_burst)]
    burst: Option<QosBurst>,
    /// Bytes per second for a time, such as 500MiB@30s; off: none
    #[arg(long, value_name = "SIZE@TIME|off", value_parser = parse_burst_bandwidth)]
    burst_bandwidth: Option<QosBurst>,
    /// Share beside others where there is less than all want, 10 to 1000; 100 is usual
    #[arg(long, value_name = "N")]
    weight: Option<u32>,
}

/// Volumes and hosts.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub struct Members {
    /// Volumes, by name or id
    #[arg(long, value_name = "VOLUME,…", value_delimiter = ',')]
    volume: Vec<String>,
    /// Hosts, by name or id
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    host: Vec<String>,
}

impl Members {
    fn wanted(&self) -> QosMembers {
        QosMembers { volumes: self.volume.clone(), hosts: self.host.clone() }
    }
}

impl Resource for QosPolicy {
    const WHEN_EMPTY: &'static str =
        "no QoS policies; create one:  windlass qos create NAME --iops IOPS --bandwidth SIZE";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |policy| policy.name.as_str().into()),
        column("iops", |policy| {
            policy.iops.map(|iops| limit(iops.to_string(), policy.iops_burst, |burst| burst.to_string())).into()
        }),
        column("bandwidth", |policy| {
            policy.bytes_per_second.map(|bytes| limit(rate(bytes), policy.bytes_burst, rate)).into()
        }),
        column("weight", |policy| Value::Number(policy.weight.into())),
        column("shared", |policy| if policy.shared { "yes" } else { "no" }.into()),
        column("volumes", |policy| (!policy.volumes.is_empty()).then(|| policy.volumes.join(" ")).into()),
        column("hosts", |policy| (!policy.hosts.is_empty()).then(|| policy.hosts.join(" ")).into()),
        column("held-back", |policy| held_back(&policy.held).into()),
        wide("operations", |policy| Value::Number(policy.held.operations)),
        wide("bytes", |policy| Value::Bytes(policy.held.bytes)),
        wide("offload", |policy| Value::Number(policy.held.offload_operations)),
        wide("created", |policy| format!("{:.0}", policy.created).into()),
        wide("id", |policy| policy.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// `2000, 10000 for 30s`.
fn limit(lasting: String, burst: Option<QosBurst>, shown: impl Fn(u64) -> String) -> String {
    match burst {
        None => lasting,
        Some(QosBurst { per_second, seconds }) => {
            format!("{lasting}, {} for {}", shown(per_second), api::duration::exact_seconds(seconds))
        }
    }
}

fn rate(bytes: u64) -> String {
    format!("{}/s", api::size::format(bytes))
}

/// `12 commands for 3.4s, 2 wait`; absent if none had to wait.
fn held_back(held: &QosHeld) -> Option<String> {
    if held.delayed_commands == 0 && held.waiting_commands == 0 {
        return None;
    }
    let time = text::duration::measured(Duration::from_micros(held.delay_us));
    let waiting = match held.waiting_commands {
        0 => String::new(),
        waiting => format!(", {waiting} wait"),
    };
    Some(format!("{} commands for {time}{waiting}", held.delayed_commands))
}

/// `bronze`, and what it has held back of a volume or host.
pub(crate) fn limits(policy: Option<&str>, held: Option<&QosHeld>) -> Option<String> {
    let held = held.and_then(held_back).map(|held| format!(", held back {held}")).unwrap_or_default();
    policy.map(|policy| format!("policy {policy}{held}"))
}

fn parse_iops(text: &str) -> Result<u64, String> {
    match text {
        OFF => Ok(0),
        _ => text.parse().map_err(|_| format!("{text:?} is not a number, or off")),
    }
}

fn parse_bandwidth(text: &str) -> Result<u64, String> {
    match text {
        OFF => Ok(0),
        _ => api::size::parse(text.trim_end_matches("/s")).map_err(|error| error.to_string()),
    }
}

/// Reads `AMOUNT@TIME`, or `off`.
fn parse_burst_of(text: &str, amount: impl Fn(&str) -> Result<u64, String>) -> Result<QosBurst, String> {
    if text == OFF {
        return Ok(QosBurst { per_second: 0, seconds: 0 });
    }
    let (per_second, time) = text.split_once('@').ok_or_else(|| format!("{text:?} has no time, such as @30s"))?;
    let seconds = u32::try_from(api::duration::parse(time)?.as_secs()).map_err(|_| format!("{time:?} is too long"))?;
    Ok(QosBurst { per_second: amount(per_second)?, seconds })
}

fn parse_burst(text: &str) -> Result<QosBurst, String> {
    parse_burst_of(text, parse_iops)
}

fn parse_burst_bandwidth(text: &str) -> Result<QosBurst, String> {
    parse_burst_of(text, parse_bandwidth)
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => selection.show::<QosPolicy>("/api/v1/qos-policies", client, output).await.map(drop),
        Verb::Show { name } => output.show(&client.get::<QosPolicy>(&path(name)).await?),
        Verb::Create { name, limits, shared } => {
            let create = QosPolicyCreate {
                name: name.clone(),
                iops: limits.iops.filter(|iops| *iops > 0),
                iops_burst: limits.burst.filter(|burst| burst.per_second > 0),
                bytes_per_second: limits.bandwidth.filter(|bytes| *bytes > 0),
                bytes_burst: limits.burst_bandwidth.filter(|burst| burst.per_second > 0),
                weight: limits.weight,
                shared: *shared,
            };
            let answer = client.post::<QosPolicy>("/api/v1/qos-policies", &create).await?;
            output.made("QoS policy", &answer.body, answer.created)
        }
        Verb::Set { name, new_name, limits, shared } => {
            let set = QosPolicySet {
                name: new_name.clone(),
                iops: limits.iops,
                iops_burst: limits.burst,
                bytes_per_second: limits.bandwidth,
                bytes_burst: limits.burst_bandwidth,
                weight: limits.weight,
                shared: shared.map(|switch| switch == Switch::On),
            };
            if set == QosPolicySet::default() {
                return Err(CliError::usage(
                    "nothing to change: give a limit, --weight, --shared or --name".to_owned(),
                ));
            }
            output.made("QoS policy", &client.patch::<QosPolicy>(&path(name), &set).await?, true)
        }
        Verb::Delete { names, force, rehearsal: DryRun { dry_run: true } } => {
            let all = names.iter().map(|name| (name, deletion(name, *force)));
            effect::deletions("delete QoS policy", all, client, output).await
        }
        Verb::Delete { names, force, .. } => {
            let mut deleted = Vec::with_capacity(names.len());
            for name in names {
                output.confirm_for(&path(name), client, &format!("delete QoS policy {name}?")).await?;
                client.delete(&deletion(name, *force)).await?;
                output.report(&format!("QoS policy {name} deleted"));
                deleted.push(name.as_str());
            }
            output.deleted(&deleted)
        }
        Verb::Attach { name, members } => {
            let path = format!("{}/attach", path(name));
            let policy = client.post::<QosPolicy>(&path, &members.wanted()).await?.body;
            output.made("QoS policy", &policy, true)
        }
        Verb::Detach { members } => {
            let path = "/api/v1/qos-policies/detach";
            let QosDetached { volumes, hosts } = client.post::<QosDetached>(path, &members.wanted()).await?.body;
            let plural = |count| if count == 1 { "" } else { "s" };
            let (of_volumes, of_hosts) = (plural(volumes), plural(hosts));
            output.report(&format!("QoS policies taken from {volumes} volume{of_volumes} and {hosts} host{of_hosts}"));
            Ok(())
        }
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/qos-policies/{}", segment(name))
}

fn deletion(name: &str, force: bool) -> String {
    let force = if force { "?force=true" } else { "" };
    format!("{}{force}", path(name))
}

#[cfg(test)]
mod tests {
    use super::{held_back, limits, parse_bandwidth, parse_burst, parse_burst_bandwidth, parse_iops};
    use api::{QosBurst, QosHeld};

    #[test]
    fn limits_and_bursts_are_read() {
        assert_eq!((parse_iops("2000"), parse_iops("off")), (Ok(2000), Ok(0)));
        assert_eq!((parse_bandwidth("100MiB"), parse_bandwidth("1GiB/s")), (Ok(100 << 20), Ok(1 << 30)));
        assert_eq!(parse_burst("10000@30s"), Ok(QosBurst { per_second: 10_000, seconds: 30 }));
        assert_eq!(parse_burst_bandwidth("1GiB@2m"), Ok(QosBurst { per_second: 1 << 30, seconds: 120 }));
        assert_eq!(parse_burst("off"), Ok(QosBurst { per_second: 0, seconds: 0 }));
        for text in ["", "10000", "10000@", "@30s", "x@30s", "1@1000000000h"] {
            assert!(parse_burst(text).is_err(), "{text}");
        }
        assert!(parse_iops("-1").is_err() && parse_bandwidth("fast").is_err());
    }

    #[test]
    fn what_was_held_back_is_said() {
        let held = QosHeld { delayed_commands: 12, delay_us: 3_400_000, waiting_commands: 2, ..QosHeld::default() };
        let said = limits(Some("bronze"), Some(&held)).unwrap_or_default();
        assert!(said.starts_with("policy bronze, held back 12 commands for 3.4") && said.ends_with("2 wait"), "{said}");
        assert_eq!(limits(Some("bronze"), Some(&QosHeld::default())).as_deref(), Some("policy bronze"));
        assert_eq!((limits(None, None), held_back(&QosHeld::default())), (None, None));
    }
}
