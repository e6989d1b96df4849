//! Address of an NFS server, and the options with which a host mounts a share.

use crate::quote::posix;
use std::fmt;

/// Port of NFS, which clients take by themselves.
pub const NFS_PORT: &str = "2049";

/// Facts of a share and a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareFacts {
    /// Name of the share.
    pub share: String,
    /// Path that hosts mount.
    pub path: String,
    /// True if NFSv4 serves it.
    pub v4: bool,
    /// Name of the host.
    pub host: String,
    /// The host's access, for people; empty if it has none.
    pub access: String,
    /// True if the host may not write.
    pub read_only: bool,
    /// Directory to mount the share on.
    pub directory: String,
    /// What prevents the host from using the share.
    pub warnings: Vec<String>,
}

/// Address of an NFS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Name or address; an IPv6 address in brackets.
    host: String,
    /// Port.
    port: String,
}

/// Text that is no address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    address: String,
    port: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} in {:?} is no port", self.port, self.address)
    }
}

impl std::error::Error for ServerError {}

impl Server {
    /// Parses `ADDRESS` or `ADDRESS:PORT`. Errors: the port is no number of 16 bits.
    pub fn parse(address: &str) -> Result<Self, ServerError> {
        let (host, port) = match address.rsplit_once(':') {
            // An IPv6 address without port has colons, too; with a port it stands in brackets.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse::<u16>() {
                Ok(_) => (host.to_owned(), port),
                Err(_) => return Err(ServerError { address: address.to_owned(), port: port.to_owned() }),
            },
            Some(_) if !address.ends_with(']') => (format!("[{address}]"), NFS_PORT),
            _ => (address.to_owned(), NFS_PORT),
        };
        Ok(Self { host, port: port.to_owned() })
    }

    /// Source that a host mounts: address and path.
    pub fn source(&self, path: &str) -> String {
        format!("{}:{path}", self.host)
    }

    /// Options of mount(8). `v4`: NFSv4 serves the share.
    pub fn options(&self, v4: bool, read_only: bool) -> String {
        let mut options = match v4 {
            true => vec!["vers=4.2".to_owned(), "hard".to_owned()],
            // There is no lock manager of NFSv3, and MOUNT has the port of NFS.
            false => {
                let mount_port = format!("mountport={}", self.port);
                vec!["vers=3".into(), "hard".into(), "proto=tcp".into(), "nolock".into(), mount_port]
            }
        };
        options.extend((self.port != NFS_PORT).then(|| format!("port={}", self.port)));
        options.extend(read_only.then(|| "ro".to_owned()));
        options.join(",")
    }

    /// Command that mounts a share.
    pub fn mount(&self, path: &str, v4: bool, read_only: bool, directory: &str) -> String {
        let (options, source) = (self.options(v4, read_only), posix(&self.source(path)));
        format!("mount -t nfs -o {options} {source} {}", posix(directory))
    }
}

#[cfg(test)]
mod tests {
    use super::Server;

    #[test]
    fn an_address_may_have_a_port() {
        for (given, host, port) in [
            ("192.0.2.7", "192.0.2.7", "2049"),
            ("192.0.2.7:12049", "192.0.2.7", "12049"),
            ("array", "array", "2049"),
            ("fd00::7", "[fd00::7]", "2049"),
            ("[fd00::7]", "[fd00::7]", "2049"),
            ("[fd00::7]:12049", "[fd00::7]", "12049"),
        ] {
            let server = Server { host: host.to_owned(), port: port.to_owned() };
            assert_eq!(Server::parse(given).ok(), Some(server), "{given}");
        }
        assert!(Server::parse("array:nfs").is_err());
    }
}
