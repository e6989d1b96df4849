//! Objects of a document, one type for each kind. Lists whose order means nothing are sorted, so that equal settings
//! are equal documents.

use crate::Fields;
use crate::error::{Invalid, field};
use api::{
    AccessState, ChannelSettings, CopyPolicy, Keep, NfsVersion, QosBurst, QuietHours, Reserve, Role, Severity, Squash,
};
use api::{TokenScopes, When};
use ipnet::IpNet;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Kind of an object, in the order of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Settings of the pool.
    Pool,
    /// Network portal.
    Portal,
    /// Target port group.
    PortGroup,
    /// QoS policy.
    QosPolicy,
    /// Volume without its content.
    Volume,
    /// Share without its files.
    Share,
    /// Host.
    Host,
    /// Host group.
    HostGroup,
    /// Grant of a volume.
    Access,
    /// Export rule of a share.
    Export,
    /// Schedule of snapshots.
    Schedule,
    /// Channel of notification.
    Channel,
    /// User.
    User,
    /// Token.
    Token,
}

impl Kind {
    /// All kinds, in the order of a document.
    pub const ALL: [Self; 14] = [
        Self::Pool,
        Self::Portal,
        Self::PortGroup,
        Self::QosPolicy,
        Self::Volume,
        Self::Share,
        Self::Host,
        Self::HostGroup,
        Self::Access,
        Self::Export,
        Self::Schedule,
        Self::Channel,
        Self::User,
        Self::Token,
    ];

    /// Word of the kind: its key in a document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Portal => "portal",
            Self::PortGroup => "port_group",
            Self::QosPolicy => "qos_policy",
            Self::Volume => "volume",
            Self::Share => "share",
            Self::Host => "host",
            Self::HostGroup => "host_group",
            Self::Access => "access",
            Self::Export => "export",
            Self::Schedule => "schedule",
            Self::Channel => "channel",
            Self::User => "user",
            Self::Token => "token",
        }
    }

    /// Sentence about the kind, for the reader of a document.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Pool => "Settings of the pool. Percentages of its size; without commitment_limit_percent, no limit.",
            Self::Portal => "Network portals, by the address they listen on (windlass.toml has the addresses).",
            Self::PortGroup => "Target port groups and their access states.",
            Self::QosPolicy => "QoS policies: limits that volumes and hosts have by qos_policy.",
            Self::Volume => "Volumes, without their content.",
            Self::Share => "Shares, without their files.",
            Self::Host => "Hosts, without their CHAP secrets. A new host may have secret and mutual_secret in chap.",
            Self::HostGroup => "Host groups.",
            Self::Access => "Grants of volumes: to a host, to group:NAME, or to any.",
            Self::Export => "Export rules of shares: to a host, to group:NAME, to a network, or to any.",
            Self::Schedule => "Schedules of snapshots. Minutes count from midnight, days of the week from Monday, 1.",
            Self::Channel => "Channels of notification, without their secrets.",
            Self::User => "Users, without their passwords. A new user may have a password.",
            Self::Token => "Tokens, without their secrets.",
        }
    }

    /// True if every array has these objects: they are neither added nor removed.
    pub const fn is_fixed(self) -> bool {
        matches!(self, Self::Pool | Self::Portal | Self::PortGroup)
    }

    /// True if the case of names does not count: `Ana` and `ana` are one user.
    pub(crate) const fn ignores_case(self) -> bool {
        matches!(self, Self::Channel | Self::User | Self::Token)
    }

    /// True if removing an object removes content.
    pub const fn has_content(self) -> bool {
        matches!(self, Self::Volume | Self::Share)
    }
}

/// An object of a document.
pub(crate) trait Entry: Serialize + DeserializeOwned {
    /// Its kind.
    const KIND: Kind;
    /// Name that distinguishes it from the others of its kind.
    fn name(&self) -> String;
    /// Sorts and normalizes the entry; returns its secrets, which the entry no longer has.
    fn settle(&mut self) -> Result<Fields, Invalid> {
        Ok(Fields::new())
    }
}

/// Settings of the pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Percentage in use at which the pool warns.
    pub warn_percent: u8,
    /// Percentage in use at which the pool is critical.
    pub critical_percent: u8,
    /// Limit of the sizes of all volumes together, in percent of the pool's size; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment_limit_percent: Option<u32>,
    /// Seconds for which the trash keeps what is deleted.
    pub trash_seconds: u32,
    /// Seconds for which nobody deletes for good what goes to the trash; absent: it has no lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash_lock_seconds: Option<u32>,
    /// 99th percentile of reads and writes of hosts in microseconds, above which for five minutes there is an alert;
    /// absent: no alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_alert_us: Option<u32>,
}

/// Network portal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Portal {
    /// Address that it listens on.
    pub listen: String,
    /// Target port group.
    pub group: u16,
    /// Address to which logins are redirected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// True if initiators may keep that address.
    #[serde(default)]
    pub redirect_permanently: bool,
}

/// Target port group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortGroup {
    /// Its number.
    pub id: u16,
    /// Access state.
    pub state: AccessState,
    /// Preferred by the array.
    pub preferred: bool,
}

/// QoS policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QosPolicy {
    /// Name.
    pub name: String,
    /// Operations per second; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Bytes per second; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// Share beside others.
    pub weight: u32,
    /// Its volumes share one allowance.
    #[serde(default)]
    pub shared: bool,
    /// Operations per second of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_burst: Option<QosBurst>,
    /// Bytes per second of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_burst: Option<QosBurst>,
}

/// Volume without its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Name.
    pub name: String,
    /// Size.
    pub size_bytes: u64,
    /// Thick or thin.
    pub reserve: Reserve,
    /// Percentage of a thick volume that is reserved for overwrites of shared blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite_reserve_percent: Option<u8>,
    /// Blocks of zeros take no space.
    pub zero_detection: bool,
    /// Writes are durable only after a flush.
    pub write_cache: bool,
    /// Percentage of its size whose mapping raises a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<u8>,
    /// Percentage of its size whose mapping raises a critical event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_percent: Option<u8>,
    /// QoS policy, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_policy: Option<String>,
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Share without its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Name.
    pub name: String,
    /// Protocols that serve it.
    pub protocols: Vec<NfsVersion>,
    /// Whether copies share blocks.
    pub copy: CopyPolicy,
    /// Most bytes that its files may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_bytes: Option<u64>,
    /// Owner of the root directory at its creation.
    pub owner_uid: u32,
    /// Group of the root directory at its creation.
    pub owner_gid: u32,
    /// Permission bits of the root directory at its creation, four octal digits.
    pub mode: String,
}

/// CHAP names of a host, and, in documents that are read, its secrets.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chap {
    /// Name that the host presents.
    pub user: String,
    /// Its secret; never in an export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Name that the array presents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutual_user: Option<String>,
    /// Its secret; never in an export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutual_secret: Option<String>,
}

/// Host.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Name.
    pub name: String,
    /// Names of its initiators.
    #[serde(default)]
    pub iqns: Vec<String>,
    /// Addresses from which it uses shares.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// QoS policy, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_policy: Option<String>,
    /// CHAP, if it has to authenticate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chap: Option<Chap>,
}

/// Host group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostGroup {
    /// Name.
    pub name: String,
    /// Names of its hosts.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// Grant of a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Name of the volume.
    pub volume: String,
    /// Name of a host, `group:NAME`, or `any`.
    pub host: String,
    /// Logical unit number.
    pub lun: u16,
}

/// Export rule of a share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// Name of the share.
    pub share: String,
    /// Name of a host, `group:NAME`, a network, or `any`.
    pub host: String,
    /// Reading alone.
    pub read_only: bool,
    /// Whose identity is replaced by the anonymous one.
    pub squash: Squash,
    /// Anonymous user.
    pub anonymous_uid: u32,
    /// Anonymous group.
    pub anonymous_gid: u32,
    /// Only from ports below 1024.
    pub privileged_port: bool,
}

/// Schedule of snapshots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Name.
    pub name: String,
    /// Zone of its times.
    pub zone: String,
    /// Names of volumes and shares.
    #[serde(default)]
    pub volumes: Vec<String>,
    /// Snapshots that are kept whatever their age.
    pub keep_last: u16,
    /// Seconds for which each snapshot is locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_seconds: Option<u32>,
    /// No run is due.
    #[serde(default)]
    pub paused: bool,
    /// Times of its runs.
    pub when: When,
    /// Snapshots that are kept.
    #[serde(default)]
    pub keep: Keep,
    /// Label of volumes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub label: BTreeMap<String, String>,
}

/// Channel of notification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Name.
    pub name: String,
    /// Alerts are sent.
    pub enabled: bool,
    /// Least severity of what is sent.
    pub min_severity: Severity,
    /// Codes of alerts that are sent; none: all.
    #[serde(default)]
    pub codes: Vec<String>,
    /// Time of the day in which only critical alerts are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    /// Kind of the channel, and its settings.
    pub settings: ChannelSettings,
}

/// User.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Name.
    pub name: String,
    /// What the user may do.
    pub role: Role,
    /// May not sign in.
    #[serde(default)]
    pub locked: bool,
    /// Password of a new user; never in an export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// Token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Name.
    pub name: String,
    /// What it permits.
    pub role: Role,
    /// End of its validity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// What it is limited to.
    #[serde(default)]
    pub scopes: TokenScopes,
}

fn sorted<T: Ord>(list: &mut Vec<T>) {
    let set: BTreeSet<T> = std::mem::take(list).into_iter().collect();
    *list = set.into_iter().collect();
}

fn secrets<const N: usize>(found: [(&str, Option<String>); N]) -> Fields {
    let given = found.into_iter().filter_map(|(name, secret)| Some((name.to_owned(), Value::String(secret?))));
    given.collect()
}

/// Secret of a channel, and whether the channel has one: yes or no if the document states it, an empty one included;
/// otherwise what `has` says, and, if that says nothing, what the array has.
fn taken(name: &str, secret: &mut Option<String>, has: &mut Option<bool>) -> Fields {
    let given = secret.take();
    *has = given.as_ref().map(|given| !given.is_empty()).or(*has);
    secrets([(name, given.filter(|given| !given.is_empty()))])
}

/// The only text of a network, as the array writes it.
fn network(text: &str) -> Result<String, String> {
    let network: IpNet =
        text.parse().map_err(|_| format!("{text:?} is no network, such as 10.0.0.0/24 or fd00::/64"))?;
    if network.addr().to_canonical() != network.addr() {
        return Err("IPv4 networks are given as such, not inside IPv6".to_owned());
    }
    Ok(network.to_string())
}

/// A rule of a share is for a whole network.
fn without_host_bits(text: &str) -> Result<(), String> {
    let network: IpNet = text.parse().map_err(|_| format!("{text:?} is no network"))?;
    match network.trunc() {
        whole if whole == network => Ok(()),
        whole => Err(format!("bits behind the prefix are set: the network of this address is {whole}")),
    }
}

impl Entry for Pool {
    const KIND: Kind = Kind::Pool;
    fn name(&self) -> String {
        String::new()
    }
}

impl Entry for Portal {
    const KIND: Kind = Kind::Portal;
    fn name(&self) -> String {
        self.listen.clone()
    }
}

impl Entry for PortGroup {
    const KIND: Kind = Kind::PortGroup;
    fn name(&self) -> String {
        self.id.to_string()
    }
}

impl Entry for QosPolicy {
    const KIND: Kind = Kind::QosPolicy;
    fn name(&self) -> String {
        self.name.clone()
    }
}

impl Entry for Volume {
    const KIND: Kind = Kind::Volume;
    fn name(&self) -> String {
        self.name.clone()
    }
}

impl Entry for Share {
    const KIND: Kind = Kind::Share;
    fn name(&self) -> String {
        self.name.clone()
    }
    fn settle(&mut self) -> Result<Fields, Invalid> {
        self.protocols.sort_unstable_by_key(|version| matches!(version, NfsVersion::V4));
        self.protocols.dedup();
        self.mode = format!("{:0>4}", self.mode);
        Ok(Fields::new())
    }
}

impl Entry for Host {
    const KIND: Kind = Kind::Host;
    fn name(&self) -> String {
        self.name.clone()
    }
    fn settle(&mut self) -> Result<Fields, Invalid> {
        self.iqns.iter_mut().for_each(|iqn| iqn.make_ascii_lowercase());
        sorted(&mut self.iqns);
        sorted(&mut self.addresses);
        let Some(chap) = &mut self.chap else { return Ok(Fields::new()) };
        Ok(secrets([("secret", chap.secret.take()), ("mutual_secret", chap.mutual_secret.take())]))
    }
}

impl Entry for HostGroup {
    const KIND: Kind = Kind::HostGroup;
    fn name(&self) -> String {
        self.name.clone()
    }
    fn settle(&mut self) -> Result<Fields, Invalid> {
        sorted(&mut self.hosts);
        Ok(Fields::new())
    }
}

impl Entry for Access {
    const KIND: Kind = Kind::Access;
    fn name(&self) -> String {
        format!("{} {}", self.volume, self.host)
    }
}

impl Entry for Export {
    const KIND: Kind = Kind::Export;
    fn name(&self) -> String {
        format!("{} {}", self.share, self.host)
    }
    fn settle(&mut self) -> Result<Fields, Invalid> {
        if self.host.contains('/') {
            let text = network(&self.host).and_then(|text| without_host_bits(&text).map(|()| text));
            self.host = text.map_err(|reason| Invalid::new(field(Self::KIND.name(), &self.name(), "host"), reason))?;
        }
        Ok(Fields::new())
    }
}

impl Entry for Schedule {
    const KIND: Kind = Kind::Schedule;
    fn name(&self) -> String {
        self.name.clone()
    }
    fn settle(&mut self) -> Result<Fields, Invalid> {
        sorted(&mut self.volumes);
        Ok(Fields::new())
    }
}

impl Entry for Channel {
    const KIND: Kind = Kind::Channel;
    fn name(&self) -> String {
        self.name.clone()
    }
    fn settle(&mut self) -> Result<Fields, Invalid> {
        sorted(&mut self.codes);
        Ok(match &mut self.settings {
            ChannelSettings::Email(of) => taken("password", &mut of.password, &mut of.has_password),
            ChannelSettings::Webhook(of) => taken("secret", &mut of.secret, &mut of.has_secret),
            ChannelSettings::Syslog(_) => Fields::new(),
        })
    }
}

impl Entry for User {
    const KIND: Kind = Kind::User;
    fn name(&self) -> String {
        self.name.clone()
    }
    fn settle(&mut self) -> Result<Fields, Invalid> {
        Ok(secrets([("password", self.password.take())]))
    }
}

impl Entry for Token {
    const KIND: Kind = Kind::Token;
    fn name(&self) -> String {
        self.name.clone()
    }
    fn settle(&mut self) -> Result<Fields, Invalid> {
        for text in &mut self.scopes.networks {
            let only = network(text);
            *text =
                only.map_err(|reason| Invalid::new(field(Kind::Token.name(), &self.name, "scopes.networks"), reason))?;
        }
        sorted(&mut self.scopes.networks);
        Ok(Fields::new())
    }
}
