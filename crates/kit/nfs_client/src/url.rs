//! URLs of shares and files: `nfs://HOST[:PORT]/SHARE[/PATH]` (RFC 2224 in form; the path begins at the
//! server's root).

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Location of a share, or of a file in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Host name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Name of the share.
    pub share: String,
    /// Names from the root of the share to the file; none for the share itself.
    pub path: Vec<String>,
}

impl Url {
    /// Host and port, an IPv6 address in brackets.
    pub fn server(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Whether both URLs are in one share of one server.
    pub fn same_share(&self, other: &Self) -> bool {
        (&self.host, self.port, &self.share) == (&other.host, other.port, &other.share)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nfs://{}/{}", self.server(), self.share)?;
        self.path.iter().try_for_each(|name| write!(f, "/{name}"))
    }
}

/// Reason why a text is not a URL.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{reason} in {url:?}; expected nfs://HOST[:PORT]/SHARE[/PATH]")]
pub struct UrlError {
    reason: &'static str,
    url: String,
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let wrong = |reason| UrlError { reason, url: text.to_owned() };
        let rest = text.strip_prefix("nfs://").ok_or_else(|| wrong("no nfs://"))?;
        let (server, path) = rest.split_once('/').ok_or_else(|| wrong("no share"))?;
        let (host, port) = match server.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(|| wrong("no ] after the address"))?;
                let port = match port.strip_prefix(':') {
                    None if port.is_empty() => None,
                    None => return Err(wrong("something other than a port after the address")),
                    port => port,
                };
                (host, port)
            }
            None => match server.split_once(':') {
                Some((_, port)) if port.contains(':') => return Err(wrong("an IPv6 address without brackets")),
                Some((host, port)) => (host, Some(port)),
                None => (server, None),
            },
        };
        if host.is_empty() {
            return Err(wrong("no host"));
        }
        let port = port.map_or(Ok(nfs::PORT), |port| port.parse().map_err(|_| wrong("a port that is no number")))?;
        // A slash at the end names a directory, as it does in a shell.
        let mut names = path.strip_suffix('/').unwrap_or(path).split('/').map(str::to_owned);
        let share = names.next().filter(|share| !share.is_empty()).ok_or_else(|| wrong("no share"))?;
        let path: Vec<_> = names.collect();
        if path.iter().any(String::is_empty) {
            return Err(wrong("an empty name"));
        }
        if [".", ".."].iter().any(|dots| share == *dots || path.iter().any(|name| name == dots)) {
            return Err(wrong("a name of dots"));
        }
        Ok(Self { host: host.into(), port, share, path })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_written() {
        for (text, server, share, path) in [
            ("nfs://h/vms", "h:2049", "vms", &[][..]),
            ("nfs://h:12049/vms/", "h:12049", "vms", &[]),
            ("nfs://h/vms/a/b.img", "h:2049", "vms", &["a", "b.img"]),
            ("nfs://[::1]/vms", "[::1]:2049", "vms", &[]),
            ("nfs://[::1]:1/vms/x y", "[::1]:1", "vms", &["x y"]),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!((url.server().as_str(), url.share.as_str()), (server, share), "{text}");
            assert_eq!(url.path, path, "{text}");
            assert_eq!(url.to_string().parse::<Url>().unwrap(), url, "{text}");
        }
    }

    #[test]
    fn each_mistake_has_its_reason() {
        for (text, reason) in [
            ("iscsi://h/vms", "no nfs://"),
            ("nfs://h", "no share"),
            ("nfs://h/", "no share"),
            ("nfs:///vms", "no host"),
            ("nfs://:1/vms", "no host"),
            ("nfs://h:x/vms", "a port that is no number"),
            ("nfs://h:70000/vms", "a port that is no number"),
            ("nfs://::1/vms", "an IPv6 address without brackets"),
            ("nfs://[::1/vms", "no ] after the address"),
            ("nfs://[::1]x/vms", "something other than a port after the address"),
            ("nfs://h/vms//a", "an empty name"),
            ("nfs://h/vms/../a", "a name of dots"),
        ] {
            let error = text.parse::<Url>().unwrap_err();
            assert_eq!(error.reason, reason, "{text}");
        }
    }
}
