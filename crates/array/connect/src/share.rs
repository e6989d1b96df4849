//! Facts of a share and of a host that is to mount it, and what they mean to people.

use std::fmt;
use text::terminal::{is_hidden, word};

/// Facts of a share and a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareFacts {
    /// Name of the share.
    pub share: String,
    /// Path that hosts mount.
    pub path: String,
    /// True if NFSv4 serves it.
    pub v4: bool,
    /// Name of the host.
    pub host: String,
    /// Addresses of the host, each with the rule that applies to it.
    pub addresses: Vec<ShareAddress>,
    /// Directory to mount the share on.
    pub directory: Directory,
}

/// Address of a host, and the rule of a share that applies to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareAddress {
    /// Address.
    pub address: String,
    /// Rule; absent: the host may not mount the share from this address.
    pub rule: Option<ShareRule>,
}

/// Rule of a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareRule {
    /// Host or network that it is for, as its owner wrote it.
    pub host: String,
    /// True if writes are refused.
    pub read_only: bool,
    /// Users that become the anonymous user: `none`, `root` or `all`.
    pub squash: &'static str,
}

impl ShareFacts {
    /// Different rules that apply to the host, in the order of its addresses.
    fn rules(&self) -> Vec<&ShareRule> {
        let mut rules = Vec::new();
        for rule in self.addresses.iter().filter_map(|address| address.rule.as_ref()) {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules
    }

    /// True if the host may not write, from any address.
    pub(crate) fn is_read_only(&self) -> bool {
        let rules = self.rules();
        !rules.is_empty() && rules.iter().all(|rule| rule.read_only)
    }

    /// The host's access, such as ` (read-write, squash none, by the rule for NAME)`; empty without a rule.
    pub(crate) fn access(&self) -> String {
        let access = |rule: &&ShareRule| {
            let mode = if rule.read_only { "read-only" } else { "read-write" };
            format!("{mode}, squash {}, by the rule for {}", rule.squash, rule.host)
        };
        let all: Vec<String> = self.rules().iter().map(access).collect();
        if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
    }

    /// What prevents the host from mounting the share, with the command of the array that helps.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let Self { share, host, .. } = self;
        if self.addresses.is_empty() {
            return vec![format!(
                "host {host} has no address, by which the rules know it; give it one:  windlass host set {} --address ADDRESS",
                word(host)
            )];
        }
        let without_rule = self.addresses.iter().filter(|address| address.rule.is_none());
        let warning = |ShareAddress { address, .. }: &ShareAddress| {
            format!(
                "no rule of share {share} is about address {address} of host {host}, which may not mount it from there; \
                 grant it:  windlass access grant {} --host {}",
                word(share),
                word(host)
            )
        };
        without_rule.map(warning).collect()
    }
}

/// Directory of a host on which a share is mounted: absolute, and one field of fstab(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory(String);

/// Text that is no directory for a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryError(String);

impl fmt::Display for DirectoryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(
            formatter,
            "{text:?} is no directory for a mount: it begins with '/', and has no white space and no '\\'"
        )
    }
}

impl std::error::Error for DirectoryError {}

impl Directory {
    /// Parses an absolute path below the root. Errors: it is relative, or has characters that separate or end fields of
    /// fstab(5).
    pub fn parse(text: &str) -> Result<Self, DirectoryError> {
        let is_plain = |c: char| !c.is_whitespace() && !is_hidden(c) && c != '\\';
        let is_below_root = text.starts_with('/') && !text.trim_matches('/').is_empty();
        match is_below_root && text.chars().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(DirectoryError(text.to_owned())),
        }
    }

    /// Path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_one_field_of_fstab_and_no_option() {
        for taken in ["/mnt/vms", "/srv/Bücher", "/a'b", "/$(id)"] {
            assert_eq!(Directory::parse(taken).map(|directory| directory.as_str().to_owned()), Ok(taken.to_owned()));
        }
        for refused in
            ["", "/", "//", "mnt", "-t", "~/x", "/a b", "/a\tb", "/a\nb", "/a\\040b", "/a\u{202e}b", "/a\u{a0}b"]
        {
            assert!(Directory::parse(refused).is_err(), "{refused:?}");
        }
    }
}
