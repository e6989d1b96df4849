//! Configuration of this machine: built-in values, then the file, then `WINDLASS_*` variables, then
//! options.
//!
//! The file is TOML; the array never writes it. Unknown keys are refused with their line, so that a
//! misspelt key is an error and not a default. All other decisions of an administrator are stored
//! in the pool.

mod file;
mod nfs;
mod options;
mod portal_address;

pub use options::ServeOptions;

use control::{Commitment, Limits};
use file::{Audit, Background, File, History, Iscsi, Metrics, Pool, Server, Tls};
use reactor::configuration::{MAX_POOL_BYTES, MIN_MEMORY_BYTES, MIN_POOL_BYTES};
use reactor::measurements::load::MAX_THREADS;
use reactor::{AbortOfFinishedTask, NfsConfiguration, Placement, PoolBackend, ServeError};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Default size of a new pool.
const DEFAULT_POOL_BYTES: u64 = 64 << 30;
/// Default memory for caches and data in flight.
const DEFAULT_MEMORY_BYTES: u64 = 512 << 20;
/// Largest length of the history's file without a configuration.
const DEFAULT_HISTORY_BYTES: u64 = 256 << 20;
/// Least limit of the history's file: the array's own values of two years, and some of volumes.
const MIN_HISTORY_BYTES: u64 = 64 << 20;
/// Default share of background work.
const DEFAULT_BACKGROUND_SHARE_PERCENT: u8 = 20;
/// Default number of threads that serve connections. Further ones are for those who try them: they
/// have not been measured on a machine with many processors yet.
const DEFAULT_THREADS: u8 = 1;
/// Default group of the administrative socket.
const DEFAULT_SOCKET_GROUP: &str = "windlass";
/// Default port of iSCSI, RFC 7143 §14.
const ISCSI_PORT: u16 = 3260;

/// Merged configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Directory of the pool, the socket, certificate and token.
    pub state_dir: PathBuf,
    /// The administrative Unix socket.
    pub management: ManagementConfiguration,
    /// Address of REST over TLS, if it is served.
    pub http: Option<SocketAddr>,
    /// Certificate for REST.
    pub tls: TlsMode,
    /// Listen addresses of the iSCSI portals. `0.0.0.0` is every IPv4 address, `[::]` every address
    /// of both kinds.
    pub iscsi: Vec<SocketAddr>,
    /// `ADDRESS:PORT` announced to hosts; empty, or one for each portal.
    pub advertise: Vec<String>,
    /// Target port group of each portal, unless a command has set another; empty, or one for each
    /// portal.
    pub port_groups: Vec<u16>,
    /// True: hosts may change the states of target port groups (SET TARGET PORT GROUPS).
    pub explicit_asymmetric_access: bool,
    /// Answer of ABORT TASK for a task that no longer exists.
    pub abort_of_finished_task: AbortOfFinishedTask,
    /// iSNS servers to register with.
    pub isns: Vec<SocketAddr>,
    /// The NFS server.
    pub nfs: NfsConfiguration,
    /// First part of the target's name.
    pub iqn_base: String,
    /// Second part; derived from the array's id if absent.
    pub target_name: Option<String>,
    /// Address of `/metrics` without TLS and token, if it is served.
    pub metrics: Option<SocketAddr>,
    /// Configuration of the pool.
    pub pool: PoolConfiguration,
    /// Bytes of memory for caches and data in flight; each connection adds up to 512 KiB.
    pub memory_bytes: u64,
    /// Threads that serve connections: 1 to `MAX_THREADS`.
    pub threads: u8,
    /// When connections move to further threads.
    pub placement: Placement,
    /// Share of time in percent that background work uses while hosts are active.
    pub background_share_percent: u8,
    /// Log lines.
    pub log: LogConfiguration,
}

/// Configuration of the management plane on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagementConfiguration {
    /// Path of the administrative Unix socket.
    pub socket: PathBuf,
    /// Group whose members may open the socket, as operators. Without such a group, and if it is empty,
    /// only root and the owner may.
    pub socket_group: String,
    /// What becomes of changes while the audit cannot be written.
    pub audit_failure: AuditFailure,
    /// Largest length of the history's file.
    pub history_limit_bytes: u64,
}

/// What becomes of changes while the audit cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditFailure {
    /// They are refused.
    #[default]
    Refuse,
    /// They are made, and an alert says so.
    Continue,
}

/// Configuration of log lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfiguration {
    /// Filter in the syntax of `tracing`: `info`, `debug`, `info,control=debug`.
    pub filter: String,
    /// Format.
    pub format: LogFormat,
}

/// Configuration of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfiguration {
    /// Name of the pool in every interface.
    pub name: String,
    /// Required type of the path, if configured.
    pub backend: Option<PoolBackend>,
    /// File or block device.
    pub path: PathBuf,
    /// Size of a new pool.
    pub size_bytes: u64,
    /// True if the size is configured, not the built-in one.
    pub size_is_given: bool,
    /// True if a new pool is requested, even where the state directory has served one.
    pub new: bool,
    /// True if a pool is accepted where the state directory has served another one.
    pub adopt: bool,
    /// Discard long runs of freed blocks in the file system or device below.
    pub discard: bool,
    /// Thresholds and limit, unless a command has set others.
    pub limits: Limits,
}

/// Source of the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// Generated at the first start and kept in the state directory.
    SelfSigned {
        /// DNS names and addresses of the array, in addition to those that it finds itself.
        names: Vec<String>,
    },
    /// PEM files.
    Files {
        /// Certificate chain.
        certificate: PathBuf,
        /// Private key.
        key: PathBuf,
    },
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Reads and verifies the configuration, and returns the merged result as a configuration file.
pub fn check_config(options: &ServeOptions) -> Result<String, ServeError> {
    let configuration = Configuration::load(options)?;
    toml::to_string(&configuration.to_file()).map_err(|error| ServeError::Configuration(error.to_string()))
}

impl Configuration {
    /// Merges options and variables over the file over the built-in values.
    pub fn load(options: &ServeOptions) -> Result<Self, ServeError> {
        let file = match &options.config {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| ServeError::Configuration(format!("cannot read {}: {error}", path.display())))?;
                toml::from_str(&text).map_err(|error| {
                    ServeError::Configuration(format!("{}: {}", path.display(), error.to_string().trim_end()))
                })?
            }
            None => File::default(),
        };
        Self::merge(options, file)
    }

    fn merge(options: &ServeOptions, file: File) -> Result<Self, ServeError> {
        let [pool] = <[Pool; 1]>::try_from(if file.pool.is_empty() { vec![Pool::default()] } else { file.pool })
            .map_err(|pools| {
                wrong(format!("there are {} [[pool]] sections, and an array has one pool", pools.len()))
            })?;
        let server = file.server;
        let state_dir =
            options.state_dir.clone().or(server.state_dir).unwrap_or_else(|| PathBuf::from("/var/lib/windlass"));
        let name = pool.name.unwrap_or_else(|| "p0".to_owned());
        let iscsi = match (options.iscsi.is_empty(), file.iscsi.listen) {
            (false, _) => options.iscsi.clone(),
            (true, Some(listen)) => listen.into_iter().map(|address| address.0).collect(),
            (true, None) => vec![SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), ISCSI_PORT)],
        };
        let configuration = Self {
            management: ManagementConfiguration {
                socket: options
                    .socket
                    .clone()
                    .or(server.socket)
                    .unwrap_or_else(|| state_dir.join(reactor::state_files::SOCKET_NAME)),
                socket_group: server.socket_group.unwrap_or_else(|| DEFAULT_SOCKET_GROUP.to_owned()),
                audit_failure: file.audit.on_failure.unwrap_or_default(),
                history_limit_bytes: history_limit(&file.history)?,
            },
            http: options.http.or(server.listen),
            tls: tls_mode(file.tls, &options.http_name)?,
            iscsi,
            advertise: file.iscsi.advertise.unwrap_or_default(),
            port_groups: file.iscsi.port_groups.unwrap_or_default(),
            explicit_asymmetric_access: file.iscsi.explicit_asymmetric_access.unwrap_or(false),
            abort_of_finished_task: file.iscsi.abort_of_finished_task.unwrap_or_default(),
            isns: file.iscsi.isns.unwrap_or_default(),
            nfs: nfs::merge(&options.nfs, file.nfs.unwrap_or_default())?,
            iqn_base: file.iscsi.iqn_base.unwrap_or_else(|| "iqn.2026-01.org.windlass".to_owned()),
            target_name: file.iscsi.name,
            metrics: file.metrics.listen,
            pool: PoolConfiguration {
                backend: pool.backend,
                path: pool.path.unwrap_or_else(|| state_dir.join(format!("{name}.pool"))),
                size_bytes: options.pool_size.or(pool.size.map(|size| size.0)).unwrap_or(DEFAULT_POOL_BYTES),
                size_is_given: options.pool_size.is_some() || pool.size.is_some(),
                new: options.new_pool,
                adopt: options.adopt_pool,
                discard: pool.discard.unwrap_or(false),
                limits: limits(&pool.limits),
                name,
            },
            background_share_percent: file.background.share.unwrap_or(DEFAULT_BACKGROUND_SHARE_PERCENT),
            placement: options.placement,
            threads: options.threads.or(server.threads).unwrap_or(DEFAULT_THREADS),
            memory_bytes: options.memory.or(server.memory.map(|size| size.0)).unwrap_or(DEFAULT_MEMORY_BYTES),
            log: LogConfiguration {
                filter: options.log.clone().or(server.log).unwrap_or_else(|| "info".to_owned()),
                format: options.log_format.or(server.log_format).unwrap_or_default(),
            },
            state_dir,
        };
        configuration.check()?;
        Ok(configuration)
    }

    /// Verifies everything that can be verified without opening resources.
    fn check(&self) -> Result<(), ServeError> {
        self.check_listeners()?;
        self.check_iscsi()?;
        if self.memory_bytes < MIN_MEMORY_BYTES {
            let (given, least) = (api::size::format(self.memory_bytes), api::size::format(MIN_MEMORY_BYTES));
            return Err(wrong(format!("{given} of memory are too little: at least {least} are needed")));
        }
        if !(1..=MAX_THREADS).contains(&self.threads) {
            return Err(wrong(format!("{} threads: 1 to {MAX_THREADS} (--threads, [server] threads)", self.threads)));
        }
        self.check_pool()?;
        if !(1..=100).contains(&self.background_share_percent) {
            return Err(wrong("[background] share is 1 to 100 percent".to_owned()));
        }
        Ok(())
    }

    /// Verifies the addresses to listen on.
    fn check_listeners(&self) -> Result<(), ServeError> {
        if self.iscsi.is_empty() {
            return Err(wrong("[iscsi] listen is empty: an array needs a portal".to_owned()));
        }
        let listened: Vec<SocketAddr> = self
            .iscsi
            .iter()
            .chain(&self.nfs.listen)
            .copied()
            .chain(self.http)
            .chain(self.metrics)
            .filter(|address| address.port() != 0)
            .collect();
        let twice = listened
            .iter()
            .enumerate()
            .find(|(at, address)| listened.iter().skip(at + 1).any(|other| other == *address));
        if let Some((_, address)) = twice {
            return Err(wrong(format!(
                "{address} is to be listened on twice: give every listener an address of its own"
            )));
        }
        Ok(())
    }

    /// Verifies the section `[iscsi]` apart from the addresses to listen on.
    fn check_iscsi(&self) -> Result<(), ServeError> {
        if !self.advertise.is_empty() && self.advertise.len() != self.iscsi.len() {
            let (told, portals) = (self.advertise.len(), self.iscsi.len());
            return Err(wrong(format!("[iscsi] advertise has {told} addresses for {portals} portals")));
        }
        if !self.port_groups.is_empty() && self.port_groups.len() != self.iscsi.len() {
            let (told, portals) = (self.port_groups.len(), self.iscsi.len());
            return Err(wrong(format!("[iscsi] port_groups has {told} numbers for {portals} portals")));
        }
        if self.port_groups.contains(&0) {
            return Err(wrong("[iscsi] port_groups: groups are numbered from 1 to 65535".to_owned()));
        }
        if let Some(server) = self.isns.iter().find(|server| server.port() == 0 || server.ip().is_unspecified()) {
            return Err(wrong(format!("[iscsi] isns: {server} is no server's address; servers listen on port 3205")));
        }
        let suffix = self.target_name.as_deref().unwrap_or("0123456789ab");
        let target = format!("{}:{suffix}", self.iqn_base).to_ascii_lowercase();
        if let Some(reason) = control::iscsi_name_fault(&target) {
            return Err(wrong(format!("[iscsi] iqn_base and name make {target:?}, which is no target name: {reason}")));
        }
        Ok(())
    }

    /// Verifies size, name and limits of the pool.
    fn check_pool(&self) -> Result<(), ServeError> {
        if !(MIN_POOL_BYTES..=MAX_POOL_BYTES).contains(&self.pool.size_bytes) {
            let [given, least, most] = [self.pool.size_bytes, MIN_POOL_BYTES, MAX_POOL_BYTES].map(api::size::format);
            return Err(wrong(format!(
                "a pool cannot have {given}: sizes are {least} to {most} (--pool-size, [[pool]] size)"
            )));
        }
        let bad_name = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if self.pool.name.is_empty() || self.pool.name.len() > 63 || self.pool.name.contains(bad_name) {
            return Err(wrong(format!(
                "[[pool]] name {:?}: 1 to 63 letters, digits, '.', '_' and '-'",
                self.pool.name
            )));
        }
        self.pool.limits.check().map_err(|reason| wrong(format!("[pool.limits]: {reason}")))
    }

    /// Returns the configuration as a complete configuration file.
    fn to_file(&self) -> File {
        let (mode, cert, key) = match &self.tls {
            TlsMode::SelfSigned { .. } => ("self-signed", None, None),
            TlsMode::Files { certificate, key } => ("files", Some(certificate.clone()), Some(key.clone())),
        };
        let names = match &self.tls {
            TlsMode::SelfSigned { names } if !names.is_empty() => Some(names.clone()),
            TlsMode::SelfSigned { .. } | TlsMode::Files { .. } => None,
        };
        File {
            server: Server {
                listen: self.http,
                socket: Some(self.management.socket.clone()),
                socket_group: Some(self.management.socket_group.clone()),
                state_dir: Some(self.state_dir.clone()),
                memory: Some(file::Size(self.memory_bytes)),
                threads: Some(self.threads),
                log: Some(self.log.filter.clone()),
                log_format: Some(self.log.format),
            },
            tls: Tls { mode: Some(mode.to_owned()), cert, key, names },
            iscsi: Iscsi {
                listen: Some(self.iscsi.iter().copied().map(file::PortalAddress).collect()),
                advertise: Some(self.advertise.clone()),
                iqn_base: Some(self.iqn_base.clone()),
                name: self.target_name.clone(),
                port_groups: Some(self.port_groups.clone()),
                explicit_asymmetric_access: Some(self.explicit_asymmetric_access),
                abort_of_finished_task: Some(self.abort_of_finished_task),
                isns: Some(self.isns.clone()),
            },
            nfs: nfs::to_section(&self.nfs),
            metrics: Metrics { listen: self.metrics },
            audit: Audit { on_failure: Some(self.management.audit_failure) },
            history: History { limit: Some(file::Size(self.management.history_limit_bytes)) },
            background: Background { share: Some(self.background_share_percent) },
            pool: vec![Pool {
                name: Some(self.pool.name.clone()),
                backend: self.pool.backend,
                path: Some(self.pool.path.clone()),
                size: Some(file::Size(self.pool.size_bytes)),
                discard: Some(self.pool.discard),
                limits: file::Limits {
                    warn: Some(self.pool.limits.warn_percent),
                    critical: Some(self.pool.limits.critical_percent),
                    commitment: Some(match self.pool.limits.commitment {
                        Commitment::Unlimited => 0,
                        Commitment::Percent(percent) => percent,
                    }),
                },
            }],
        }
    }
}

/// Largest length of the history's file.
fn history_limit(section: &History) -> Result<u64, ServeError> {
    let limit = section.limit.map_or(DEFAULT_HISTORY_BYTES, |limit| limit.0);
    if limit < MIN_HISTORY_BYTES {
        let (given, least) = (api::size::format(limit), api::size::format(MIN_HISTORY_BYTES));
        return Err(wrong(format!("[history] limit = {given} is too small: at least {least}")));
    }
    Ok(limit)
}

/// Merges the limits section over the built-in values.
fn limits(section: &file::Limits) -> Limits {
    let built_in = Limits::default();
    Limits {
        warn_percent: section.warn.unwrap_or(built_in.warn_percent),
        critical_percent: section.critical.unwrap_or(built_in.critical_percent),
        commitment: match section.commitment {
            None => built_in.commitment,
            Some(0) => Commitment::Unlimited,
            Some(percent) => Commitment::Percent(percent),
        },
    }
}

/// Converts the TLS section; names from `--http-name` replace the file's names.
fn tls_mode(tls: Tls, names: &[String]) -> Result<TlsMode, ServeError> {
    let names = if names.is_empty() { tls.names.unwrap_or_default() } else { names.to_vec() };
    if let Some(name) = names.iter().find(|name| !crate::network::is_name(name)) {
        return Err(wrong(format!("[tls] names: {name:?} is neither a DNS name nor an IP address")));
    }
    match (tls.mode.as_deref(), tls.cert, tls.key) {
        (None | Some("self-signed"), None, None) => Ok(TlsMode::SelfSigned { names }),
        (Some("files"), Some(_), Some(_)) if !names.is_empty() => {
            let message =
                "names are for the generated certificate: [tls] names and --http-name need mode = \"self-signed\"";
            Err(wrong(message.to_owned()))
        }
        (Some("files"), Some(certificate), Some(key)) => Ok(TlsMode::Files { certificate, key }),
        (Some("files"), _, _) => Err(wrong("[tls] mode = \"files\" needs cert and key".to_owned())),
        (None | Some("self-signed"), _, _) => Err(wrong("[tls] cert and key need mode = \"files\"".to_owned())),
        (Some(mode), _, _) => Err(wrong(format!("[tls] mode = {mode:?} is neither \"self-signed\" nor \"files\""))),
    }
}

fn wrong(message: String) -> ServeError {
    ServeError::Configuration(message)
}

#[cfg(test)]
mod tests;
