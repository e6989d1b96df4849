//! Options of `serve`, and their environment variables.

use super::Placement;
use crate::LogFormat;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Options of `windlass serve`. Precedence: option, variable, file, built-in value.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServeOptions {
    /// Directory of the pool, the administrative socket, certificate and token [default: /var/lib/windlass]
    #[arg(long, value_name = "DIR", env = "WINDLASS_STATE_DIR", hide_env_values = true)]
    pub state_dir: Option<PathBuf>,
    /// iSCSI portals.
    #[arg(help = "iSCSI portal; may be given several times [default: 0.0.0.0:3260; [::]:3260 is IPv4 and IPv6]")]
    #[arg(long, value_name = "ADDR:PORT", env = "WINDLASS_ISCSI", hide_env_values = true, value_delimiter = ',', value_parser = super::portal_address::parse)]
    pub iscsi: Vec<SocketAddr>,
    /// Serve NFS at this address; may be given several times
    #[arg(long, value_name = "ADDR:PORT", env = "WINDLASS_NFS", hide_env_values = true, value_delimiter = ',', value_parser = super::portal_address::parse)]
    pub nfs: Vec<SocketAddr>,
    /// Also serve REST over TLS at this address; creates DIR/admin.token at the first use
    #[arg(long, value_name = "ADDR:PORT", env = "WINDLASS_HTTP", hide_env_values = true)]
    pub http: Option<SocketAddr>,
    /// Additional name or address for the generated certificate; may be given several times
    #[arg(long, value_name = "NAME", env = "WINDLASS_HTTP_NAME", hide_env_values = true, value_delimiter = ',')]
    pub http_name: Vec<String>,
    /// Path of the administrative Unix socket [default: DIR/windlass.sock]
    #[arg(long, value_name = "PATH", env = "WINDLASS_SOCKET", hide_env_values = true)]
    pub socket: Option<PathBuf>,
    /// Size of a new pool [default: 64G, a sparse file]
    #[arg(long, value_name = "SIZE", env = "WINDLASS_POOL_SIZE", hide_env_values = true, value_parser = parse_size)]
    pub pool_size: Option<u64>,
    /// Create a new, empty pool where the state directory has served one that is missing now
    #[arg(long)]
    pub new_pool: bool,
    /// Serve the pool that is there now, where the state directory has served another one
    #[arg(long, conflicts_with = "new_pool")]
    pub adopt_pool: bool,
    /// Memory for caches and data in flight; each connection adds up to 512 KiB while its window is full, and the
    /// program itself 24 MiB [default: 512M]
    #[arg(long, value_name = "SIZE", env = "WINDLASS_MEMORY", hide_env_values = true, value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Threads that serve connections, 1 to 8 [default: 1]
    #[arg(long, value_name = "N", env = "WINDLASS_THREADS", hide_env_values = true)]
    pub threads: Option<u8>,
    /// When connections move to further threads; for tests
    #[arg(long, hide = true, value_enum, default_value_t)]
    pub placement: Placement,
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE", env = "WINDLASS_CONFIG", hide_env_values = true)]
    pub config: Option<PathBuf>,
    /// Log filter: error, warn, info, debug, trace, or a filter such as info,iscsi=debug [default:
    /// info]
    #[arg(long, value_name = "FILTER", env = "WINDLASS_LOG", hide_env_values = true)]
    pub log: Option<String>,
    /// Format of log lines on standard error: text or json [default: text]
    #[arg(
        long,
        value_name = "FORMAT",
        env = "WINDLASS_LOG_FORMAT",
        hide_env_values = true,
        value_enum,
        hide_possible_values = true
    )]
    pub log_format: Option<LogFormat>,
}

fn parse_size(text: &str) -> Result<u64, api::size::SizeError> {
    api::size::parse(text)
}
