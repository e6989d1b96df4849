//! A token: the credential of a program.

use crate::digest::{Digest, hexadecimal};
use crate::error::IdentityError;
use crate::glob::Glob;
use crate::role::Role;
use ipnet::IpNet;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use uuid::Uuid;

/// Beginning of every token, so that searches find a leaked one.
const TOKEN_PREFIX: &str = "windlass_";
/// Largest number of networks of a token.
const MAX_NETWORKS: usize = 32;
/// Characters of a token that are shown in lists.
const SHOWN: usize = TOKEN_PREFIX.len() + 6;

/// What a token is limited to, in addition to its role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scopes {
    /// Volumes by name, and their snapshots and grants; absent: everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Glob>,
    /// Networks from which it is accepted; empty: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<IpNet>,
    /// Only the metrics.
    #[serde(default)]
    pub metrics_only: bool,
}

impl Scopes {
    /// Checks that the scopes make sense together.
    pub fn check(&self) -> Result<(), IdentityError> {
        if self.metrics_only && self.volumes.is_some() {
            return Err(IdentityError::InvalidScope("metrics_only and volumes exclude each other"));
        }
        if self.networks.len() > MAX_NETWORKS {
            return Err(IdentityError::InvalidScope("a token has at most 32 networks"));
        }
        Ok(())
    }

    /// True if a request from the address may use the token. `None` is the administrative socket.
    pub fn allow_from(&self, from: Option<IpAddr>) -> bool {
        let canonical = from.map(|from| from.to_canonical());
        self.networks.is_empty()
            || canonical.is_none_or(|from| self.networks.iter().any(|network| network.contains(&from)))
    }
}

/// Token, as stored. The secret itself is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Identity.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// SHA-256 of the secret.
    pub digest: Digest,
    /// First characters of the secret; empty if they are not known.
    pub prefix: String,
    /// What it may do.
    pub role: Role,
    /// What it is limited to.
    pub scopes: Scopes,
    /// Name of the creator.
    pub created_by: String,
    /// Time of creation.
    pub created: Timestamp,
    /// Time from which it is not accepted; absent: never.
    pub expires: Option<Timestamp>,
    /// Time of the last use, to the minute.
    pub last_used: Option<Timestamp>,
    /// Address of the last use.
    pub last_from: Option<IpAddr>,
}

impl Token {
    /// True until it expires.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// Text of a token with these random bits.
pub fn token_text(random: &[u8; 32]) -> String {
    format!("{TOKEN_PREFIX}{}", hexadecimal(random))
}

/// Part of a token's text that lists show.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_limit_the_address() {
        let networks = ["10.0.0.0/8", "fd00::/64"].iter().filter_map(|text| text.parse().ok()).collect();
        let scopes = Scopes { networks, ..Scopes::default() };
        let from = |text: &str| scopes.allow_from(text.parse().ok());
        assert!(from("10.1.2.3") && from("::ffff:10.1.2.3") && from("fd00::1") && scopes.allow_from(None));
        assert!(!from("11.0.0.1") && !from("fd00:1::1"));
        assert!(Scopes::default().allow_from("192.0.2.1".parse().ok()));
    }

    #[test]
    fn scopes_that_exclude_each_other_are_refused() {
        let volumes = Glob::new("csi-*");
        assert!(Scopes { volumes, metrics_only: true, ..Scopes::default() }.check().is_err());
        let networks = vec!["10.0.0.0/8".parse().unwrap_or_default(); 33];
        assert!(Scopes { networks, ..Scopes::default() }.check().is_err());
    }

    #[test]
    fn the_text_of_a_token_is_found_by_searches() {
        let text = token_text(&[0xab; 32]);
        assert!(text.starts_with("windlass_abab") && text.len() == TOKEN_PREFIX.len() + 64);
        assert_eq!(shown(&text), "windlass_ababab");
    }
}
