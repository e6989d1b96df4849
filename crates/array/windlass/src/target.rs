//! URL of what a command of the host kit works on: a logical unit, or a share.

use std::fmt;
use std::str::FromStr;

/// A logical unit over iSCSI, or a share, or a file in it, over NFS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `iscsi://…`
    Iscsi(initiator::url::Url),
    /// `nfs://…`
    Nfs(nfs_client::url::Url),
}

impl Target {
    /// Whether a text is the URL of a share or of a file in it.
    pub(crate) fn is_nfs(text: &str) -> bool {
        text.starts_with("nfs://")
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if Self::is_nfs(text) {
            return text.parse().map(Self::Nfs).map_err(|error: nfs_client::url::UrlError| error.to_string());
        }
        match text.parse() {
            Ok(url) => Ok(Self::Iscsi(url)),
            Err(_) if !text.starts_with("iscsi://") => Err(format!(
                "no iscsi:// or nfs:// in {:?}; expected iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN or nfs://HOST[:PORT]/SHARE",
                initiator::url::without_secrets(text)
            )),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl fmt::Display for Target {
    /// Writes the URL without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iscsi(url) => write!(f, "{url}"),
            Self::Nfs(url) => write!(f, "{url}"),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_selects_the_protocol() {
        assert!(matches!("iscsi://h/iqn.x:t/0".parse(), Ok(Target::Iscsi(_))));
        assert!(matches!("nfs://h/s".parse(), Ok(Target::Nfs(_))));
        for (wrong, words) in [
            ("nvme://h/s", "no iscsi:// or nfs://"),
            ("nfs://h", "no share in"),
            ("iscsi://h", "iscsi://"),
            ("http://user%secret@h/s", "user%…@h"),
        ] {
            let error = wrong.parse::<Target>().unwrap_err();
            assert!(error.contains(words) && !error.contains("secret"), "{error}");
        }
    }
}
