//! Address of an NFS server, and the options with which a host mounts a share.

use crate::quote::posix;
use std::fmt;

/// Port of NFS, which clients take by themselves.
pub const NFS_PORT: &str = "2049";

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
pub enum ServerError {
    /// The name or address has characters that no name and no address has.
    Host {
        /// Text as it was given.
        address: String,
    },
    /// The port is no number of 16 bits.
    Port {
        /// Text as it was given.
        address: String,
        /// Its port.
        port: String,
    },
}

impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { address } => write!(formatter, "{address:?} is no name and no address of a server"),
            Self::Port { address, port } => write!(formatter, "{port:?} in {address:?} is no port"),
        }
    }
}

impl std::error::Error for ServerError {}

impl Server {
    /// Parses `ADDRESS` or `ADDRESS:PORT`. Errors: the port is no number of 16 bits; the rest could be no word of
    /// fstab(5), or an option.
    pub fn parse(address: &str) -> Result<Self, ServerError> {
        let (host, port) = match address.rsplit_once(':') {
            // An IPv6 address without port has colons, too; with a port it stands in brackets.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse::<u16>() {
                Ok(_) => (host.to_owned(), port),
                Err(_) => return Err(ServerError::Port { address: address.to_owned(), port: port.to_owned() }),
            },
            Some(_) if !address.ends_with(']') => (format!("[{address}]"), NFS_PORT),
            _ => (address.to_owned(), NFS_PORT),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%' | '[' | ']');
        if host.is_empty() || host.starts_with('-') || !host.chars().all(is_plain) {
            return Err(ServerError::Host { address: address.to_owned() });
        }
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
        // Neither a field of fstab nor an option of mount(8) can come of an address.
        for refused in ["", ":2049", "a b", "a\tb", "a\n", "-oexec", "-o:2049", "a'b", "a\\040b", "a#", "a/b"] {
            assert!(Server::parse(refused).is_err(), "{refused:?}");
        }
    }
}
